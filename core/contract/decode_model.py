"""A small model that decodes with rows which somebody else keeps; NumPy float64."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.arrays import BoolArray, IntArray
from core.model.config import ModelConfig
from core.reference import Reference
from core.reference_math import ACTIVATIONS, NORMS, Float64Array, alibi_slopes, rotated, turn

Keep = Callable[[int, Float64Array, Float64Array], tuple[Float64Array, Float64Array]]
"""Layer, new keys and values [Hkv, n, D] -> the keys and values [Hkv, m, D] to be read."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a token sees: the tokens up to it, or `window` of them, the first `sinks` among these.

    Attributes:
        window: None: all.
        sinks: below the window.
    """

    window: int | None
    sinks: int

    def readable(self, queries: IntArray, tokens: IntArray) -> BoolArray:
        """[queries, tokens] whether one may see the other; both are token indices."""
        distance = queries[:, None] - tokens
        if self.window is None:
            return distance >= 0
        is_sink = (tokens >= 0) & (tokens < self.sinks)
        return (distance >= 0) & (is_sink | (distance < self.window - self.sinks))

    def tokens_of(self, n_rows: int, n_seen: int) -> IntArray:
        """Token index of each row that comes back: sinks, then the newest; negative: too many."""
        tokens = np.arange(n_seen - n_rows, n_seen)
        if n_rows < n_seen:
            n_sinks = min(self.sinks, n_rows)
            tokens[:n_sinks] = np.arange(n_sinks)
        return tokens


@dataclass(frozen=True, slots=True)
class SmallModel:
    """One of the models that are built in.

    Attributes:
        config: its shape.
        arrays: its weights by name.
        reference: the same model as a pass without a cache.
    """

    config: ModelConfig
    arrays: dict[str, Float64Array]
    reference: Reference

    @classmethod
    def load(cls, name: str) -> "SmallModel":
        """The model of this name."""
        from core.model.loading import load_model  # imports torch

        loaded = load_model(name)
        arrays = loaded.weights.arrays()
        return cls(loaded.config, arrays, Reference(loaded.config, arrays))

    def step(self, token_ids: IntArray, start: int, keep: Keep, sight: Sight) -> Float64Array:
        """Logits [n, V] of new tokens, the first of them at position `start`."""
        with np.errstate(all="ignore"):  # what comes back may be anything
            return self._step(token_ids, start, keep, sight)

    def _step(self, token_ids: IntArray, start: int, keep: Keep, sight: Sight) -> Float64Array:
        positions = np.arange(start, start + len(token_ids))
        x = self.arrays["embedding"][token_ids]
        if "position_embedding" in self.arrays:
            x = x + self.arrays["position_embedding"][positions]
        for layer in range(self.config.n_layers):
            x = x + self._attention(layer, x, positions, keep, sight)
            x = x + self._mlp(layer, x)
        return self._norm("final_norm", x) @ self.arrays["head"]

    def _norm(self, name: str, x: Float64Array) -> Float64Array:
        weight, bias = self.arrays[f"{name}_weight"], self.arrays.get(f"{name}_bias")
        return NORMS[self.config.norm](x, weight, bias, self.config.norm_eps)

    def _linear(self, name: str, x: Float64Array) -> Float64Array:
        product = x @ self.arrays[f"{name}_weight"]
        bias = self.arrays.get(f"{name}_bias")
        return product if bias is None else product + bias

    def _attention(
        self, layer: int, x: Float64Array, positions: IntArray, keep: Keep, sight: Sight
    ) -> Float64Array:
        config = self.config
        n, n_q, n_kv, size = len(x), config.n_heads, config.n_kv_heads, config.d_head
        packed = self._linear(f"layers.{layer}.qkv", self._norm(f"layers.{layer}.attn_norm", x))
        heads = packed.reshape(n, n_q + 2 * n_kv, size).swapaxes(0, 1)
        q, k, v = heads[:n_q], heads[n_q : n_q + n_kv], heads[n_q + n_kv :]
        if config.scheme == "rope":
            turned = turn(positions, config.rope_theta, size)
            q, k = rotated(q, *turned), rotated(k, *turned)
        keys, values = (np.repeat(rows, n_q // n_kv, axis=0) for rows in keep(layer, k, v))
        tokens = sight.tokens_of(keys.shape[1], int(positions[-1]) + 1)
        scores = q @ keys.swapaxes(1, 2) / np.sqrt(size)
        if config.scheme == "alibi":
            scores = scores - alibi_slopes(n_q)[:, None, None] * (positions[:, None] - tokens)
        scores = np.where(sight.readable(positions, tokens), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = weights / weights.sum(-1, keepdims=True) @ values
        return self._linear(f"layers.{layer}.out", mixed.swapaxes(0, 1).reshape(n, n_q * size))

    def _mlp(self, layer: int, x: Float64Array) -> Float64Array:
        name = f"layers.{layer}"
        normed = self._norm(f"{name}.mlp_norm", x)
        inner, act = self._linear(f"{name}.up", normed), ACTIVATIONS[self.config.activation]
        gate = self.arrays.get(f"{name}.gate_weight")
        return self._linear(
            f"{name}.down", act(inner) if gate is None else inner * act(normed @ gate)
        )
