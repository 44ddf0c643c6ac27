"""A small model that decodes with rows which somebody else keeps; NumPy float64."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import BoolArray, IntArray
from core.model.config import ModelConfig
from core.reference import Reference
from core.reference_math import ACTIVATIONS, NORMS, Float64Array, alibi_slopes, rotated, turn

Rows = tuple[Float64Array, Float64Array]
"""Keys and values of a layer, [Hkv, n, D]."""

Keep = Callable[[int, Float64Array, Float64Array], Rows]
"""Layer, new keys and values [B, Hkv, n, D] -> the keys and values [B, Hkv, m, D] to be read."""

Pass = Generator[Rows, Rows, Float64Array]
"""Gives the new rows of one layer after the other, and is sent those to be read; then logits."""


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


@dataclass(frozen=True, slots=True, eq=False)
class LayerNumbers:
    """What a layer computed. T new tokens, m rows read, Hq query heads of size D.

    Attributes:
        queries: [Hq, T, D] as used in the scores.
        tokens: [m] token index that each row is taken for; below 0: no token.
        mask: [T, m] whether a query sees a row.
        scores: [Hq, T, m] scaled and biased, before the mask.
        weights: [Hq, T, m] softmax of the scores that are seen.
        output: [T, d_model] of attention.
        residual: [T, d_model] after the layer.
    """

    queries: Float64Array
    tokens: IntArray
    mask: BoolArray
    scores: Float64Array
    weights: Float64Array
    output: Float64Array
    residual: Float64Array


_SEED = 3
Told = Callable[[LayerNumbers], None]
"""Is told what a layer computed, once it is over."""

Attention = Generator[Rows, Rows, LayerNumbers]


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
        return cls.of(loaded.config, loaded.weights.arrays())

    @classmethod
    def random(cls, config: ModelConfig) -> "SmallModel":
        """A model of this shape."""
        from core.model.weights import random_weights  # imports torch

        return cls.of(config, random_weights(config, _SEED).arrays())

    @classmethod
    def of(cls, config: ModelConfig, arrays: dict[str, Float64Array]) -> "SmallModel":
        """A model of these weights."""
        return cls(config, arrays, Reference(config, arrays))

    def step(
        self,
        token_ids: IntArray,
        columns: IntArray,
        n_pads: int,
        sight: Sight,
        told: Told | None = None,
    ) -> Pass:
        """One call over new tokens, in steps of a layer; logits [n, V].

        Args:
            token_ids: [n] the new tokens.
            columns: [n] their places in the padded text.
            n_pads: places before the text that hold no token: each sees itself alone, and no token
                sees it.
            sight: what a token sees.
            told: is told of every layer.
        """
        places = columns - n_pads
        positions = np.maximum(places, 0)
        x = self.arrays["embedding"][token_ids]
        if "position_embedding" in self.arrays:
            x = x + self.arrays["position_embedding"][positions]
        for layer in range(self.config.n_layers):
            numbers = yield from self._attention(layer, x, places, n_pads, sight)
            x = x + numbers.output
            x = x + self._mlp(layer, x)
            if told is not None:
                told(replace(numbers, residual=x))
        return self._norm("final_norm", x) @ self.arrays["head"]

    def _norm(self, name: str, x: Float64Array) -> Float64Array:
        weight, bias = self.arrays[f"{name}_weight"], self.arrays.get(f"{name}_bias")
        return NORMS[self.config.norm](x, weight, bias, self.config.norm_eps)

    def _linear(self, name: str, x: Float64Array) -> Float64Array:
        product = x @ self.arrays[f"{name}_weight"]
        bias = self.arrays.get(f"{name}_bias")
        return product if bias is None else product + bias

    def _attention(
        self, layer: int, x: Float64Array, places: IntArray, n_pads: int, sight: Sight
    ) -> Attention:
        config = self.config
        n, n_q, n_kv, size = len(x), config.n_heads, config.n_kv_heads, config.d_head
        packed = self._linear(f"layers.{layer}.qkv", self._norm(f"layers.{layer}.attn_norm", x))
        heads = packed.reshape(n, n_q + 2 * n_kv, size).swapaxes(0, 1)
        q, k, v = heads[:n_q], heads[n_q : n_q + n_kv], heads[n_q + n_kv :]
        if config.scheme == "rope":
            turned = turn(np.maximum(places, 0), config.rope_theta, size)
            q, k = rotated(q, *turned), rotated(k, *turned)
        kept = yield k, v
        keys, values = (np.repeat(rows, n_q // n_kv, axis=0) for rows in kept)
        tokens = sight.tokens_of(keys.shape[1], int(places[-1]) + n_pads + 1) - n_pads
        scores = q @ keys.swapaxes(1, 2) / np.sqrt(size)
        if config.scheme == "alibi":
            scores = scores - alibi_slopes(n_q)[:, None, None] * (places[:, None] - tokens)
        mask = _shown(places, tokens, n_pads, sight)
        seen = np.where(mask, scores, -np.inf)
        weights = np.exp(seen - seen.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        mixed = (weights @ values).swapaxes(0, 1).reshape(n, n_q * size)
        output = self._linear(f"layers.{layer}.out", mixed)
        return LayerNumbers(q, tokens, mask, scores, weights, output, x)

    def _mlp(self, layer: int, x: Float64Array) -> Float64Array:
        name = f"layers.{layer}"
        normed = self._norm(f"{name}.mlp_norm", x)
        inner, act = self._linear(f"{name}.up", normed), ACTIVATIONS[self.config.activation]
        gate = self.arrays.get(f"{name}.gate_weight")
        return self._linear(
            f"{name}.down", act(inner) if gate is None else inner * act(normed @ gate)
        )


def _shown(places: IntArray, tokens: IntArray, n_pads: int, sight: Sight) -> BoolArray:
    """[queries, rows] whether one may see the other; places before 0 are padding."""
    is_pad = (tokens < 0) & (tokens >= -n_pads)
    itself = places[:, None] == tokens
    return (sight.readable(places, tokens) & ~is_pad) | (itself & is_pad)


def in_step(passes: Sequence[Pass], keep: Keep) -> list[Float64Array]:
    """Logits of passes that go through the layers side by side, in one batch.

    `keep` is told the layer, and keys and values [B, Hkv, n, D]; it gives those to be read.
    """
    layer, told = 0, [next(one) for one in passes]
    done: list[Float64Array] = []
    while not done:
        keys, values = keep(layer, *(np.stack(rows) for rows in zip(*told, strict=True)))
        layer, told = layer + 1, list[Rows]()
        for one, pair in zip(passes, zip(keys, values, strict=True), strict=True):
            try:
                with np.errstate(all="ignore"):  # what comes back may be anything
                    told.append(one.send(pair))
            except StopIteration as end:
                done.append(end.value)
    return done
