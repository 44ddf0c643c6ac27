"""The independent computation: one forward pass without a cache, in NumPy float64.

It keeps no keys or values between calls and shares no function with the engine: attention, RoPE,
ALiBi, head repetition, masks, norms and activations are its own. One pass over a text judges
every step of a run that read it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from core.errors import ModelError
from core.model.config import ModelConfig
from core.reference_attention import AttentionDetail, Heads, attend, attend_in_detail
from core.reference_blocks import key_rows_turned_at, plan_blocks, whole_block
from core.reference_math import ACTIVATIONS, NORMS, Float64Array, narrowed, rotated, turn
from core.reference_passage import LooseRows, Passage

__all__ = ["LayerDetail", "LooseRows", "Passage", "Reference", "ReferenceRun"]


@dataclass(frozen=True, slots=True)
class LayerDetail:
    """What one layer did with the T rows that were asked for. N tokens of the passage are keys.

    Attributes:
        queries: [Hq, T, D] as used, rotated where the scheme is RoPE.
        used_keys: [Hkv, N, D] as used; [Hkv, T, N, D] where each query rotates them differently.
        scores: [Hq, T, N] scaled, with bias, not masked.
        weights: [Hq, T, N] 0 where not readable. What is missing to 1 lies on rows that hold no
            token.
        output: [T, d_model] of attention, after its projection.
        residual: [T, d_model] after the MLP.
    """

    queries: Float64Array
    used_keys: Float64Array
    scores: Float64Array
    weights: Float64Array
    output: Float64Array
    residual: Float64Array


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """One forward pass over a passage of N tokens. T = N - first_row.

    Attributes:
        first_row: the row that the first of the logits belongs to.
        logits: [T, V] of the rows from `first_row` on.
        stored_keys: one per layer, [Hkv, N, D], as a cache would hold them: rotated at the
            tokens' position ids, or not at all where positions are re-assigned.
        values: one per layer, [Hkv, N, D].
        layers: one per layer; empty if no detail was asked for.
        residuals: one per layer, [n, d_model] after the MLP, of the last n rows: from the row
            asked for on, in the last layer not before `first_row`. Empty if not asked for.
    """

    first_row: int
    logits: Float64Array
    stored_keys: tuple[Float64Array, ...]
    values: tuple[Float64Array, ...]
    layers: tuple[LayerDetail, ...]
    residuals: tuple[Float64Array, ...] = ()


@dataclass(frozen=True, slots=True)
class _Layer:
    """Weights of a layer, [in, out]; None: the model has none."""

    attn_norm_weight: Float64Array
    attn_norm_bias: Float64Array | None
    qkv_weight: Float64Array
    qkv_bias: Float64Array | None
    out_weight: Float64Array
    out_bias: Float64Array | None
    mlp_norm_weight: Float64Array
    mlp_norm_bias: Float64Array | None
    gate_weight: Float64Array | None
    up_weight: Float64Array
    up_bias: Float64Array | None
    down_weight: Float64Array
    down_bias: Float64Array | None


class Reference:
    """A model that is run from scratch each time.

    Args:
        config: the model's shape.
        arrays: its weights by name ("embedding", "layers.0.qkv_weight", ...), as float64, rounded
            before to the number type that the engine uses. An array the model has not is left out.
        is_narrowed: whether keys and values are narrowed to 8 bits as they would be stored. Only
            where keys have one position of their own.
    """

    def __init__(
        self, config: ModelConfig, arrays: Mapping[str, np.ndarray], *, is_narrowed: bool = False
    ) -> None:
        self._config = config
        self.is_narrowed = is_narrowed
        self._embedding = _needed(arrays, "embedding")
        self._position_embedding = _optional(arrays, "position_embedding")
        self._final_norm_weight = _needed(arrays, "final_norm_weight")
        self._final_norm_bias = _optional(arrays, "final_norm_bias")
        self._head = _needed(arrays, "head")
        self._layers = tuple(_layer(arrays, f"layers.{i}.") for i in range(config.n_layers))
        self._norm = NORMS[config.norm]
        self._activation: Callable[[Float64Array], Float64Array] = ACTIVATIONS[config.activation]

    def forward(
        self,
        passage: Passage,
        *,
        first_row: int = 0,
        detail: bool = False,
        residuals_from: int | None = None,
    ) -> ReferenceRun:
        """Read the passage.

        Args:
            passage: N tokens, with their positions and what each may read.
            first_row: the first row whose logits (and detail) are wanted.
            detail: whether to keep what each layer did with those rows.
            residuals_from: the first row whose residuals are kept; None: keep none.

        Raises:
            ModelError: the model has a table of positions and a position id is not in it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._forward(passage, first_row, residuals_from, keeps_detail=detail)

    def _forward(
        self, passage: Passage, first_row: int, residuals_from: int | None, *, keeps_detail: bool
    ) -> ReferenceRun:
        config, n_tokens = self._config, len(passage.token_ids)
        x = self._embedded(passage)
        key_turn = self._key_turn(passage)
        blocks = plan_blocks(config, passage, 0, first_row)
        detail_block = whole_block(config, passage, first_row) if keeps_detail else None
        if detail_block is None:
            blocks += plan_blocks(config, passage, first_row, n_tokens)
        stored_keys: list[Float64Array] = []
        values: list[Float64Array] = []
        details: list[LayerDetail] = []
        residuals: list[Float64Array] = []
        for number, layer in enumerate(self._layers):
            heads, stored = self._heads(layer, passage, number, x, key_turn)
            stored_keys.append(stored)
            values.append(heads.values)
            # Above the last layer's keys and values, the rows before the first one asked for
            # have no effect any more.
            start = first_row if number + 1 == len(self._layers) else 0
            contexts = [attend(config, b, heads) for b in blocks if b.rows.start >= start]
            seen: AttentionDetail | None = None
            if detail_block is not None:
                seen = attend_in_detail(config, passage, detail_block, heads, stored)
                contexts.append(seen.context)
            output = _linear(np.concatenate(contexts), layer.out_weight, layer.out_bias)
            x = x[start:] + output
            x += self._mlp(layer, x)
            if seen is not None:
                details.append(_detail(seen, output[first_row - start :], x[first_row - start :]))
            if residuals_from is not None:
                residuals.append(x[max(0, residuals_from - start) :].copy())
        x = self._norm(x, self._final_norm_weight, self._final_norm_bias, config.norm_eps)
        return ReferenceRun(
            first_row,
            x @ self._head,
            tuple(stored_keys),
            tuple(values),
            tuple(details),
            tuple(residuals),
        )

    def _embedded(self, passage: Passage) -> Float64Array:
        """[N, d_model] what the first layer is given."""
        x = self._embedding[passage.token_ids]
        table = self._position_embedding
        if table is None:
            return x
        position_ids = passage.position_ids
        is_outside = (position_ids < 0) | (position_ids >= len(table))
        if is_outside.any():
            raise ModelError(
                f"position id {position_ids[is_outside][0]} is not in {self._config.name}'s table "
                f"of {len(table)} positions; it must be 0 to {len(table) - 1}"
            )
        return x + table[position_ids]

    def _key_turn(self, passage: Passage) -> tuple[Float64Array, Float64Array] | None:
        """Cosine and sine, each [N, D / 2], by which keys are rotated once; None: they are not."""
        if self._config.scheme != "rope":
            return None
        return turn(key_rows_turned_at(passage), self._config.rope_theta, self._config.d_head)

    def _heads(
        self,
        layer: _Layer,
        passage: Passage,
        number: int,
        x: Float64Array,
        key_turn: tuple[Float64Array, Float64Array] | None,
    ) -> tuple[Heads, Float64Array]:
        """Queries, keys and values of all rows, and the keys as a cache would store them."""
        config, n_tokens = self._config, len(x)
        n_kv_heads, n_rep, size = config.n_kv_heads, config.n_rep, config.d_head
        normed = self._norm(x, layer.attn_norm_weight, layer.attn_norm_bias, config.norm_eps)
        qkv = _linear(normed, layer.qkv_weight, layer.qkv_bias)
        ends = np.cumsum([config.n_heads * size, n_kv_heads * size])
        q, k, v = np.split(qkv, ends, axis=1)
        queries = q.reshape(n_tokens, n_kv_heads, n_rep, size).transpose(1, 2, 0, 3)
        keys = np.ascontiguousarray(k.reshape(n_tokens, n_kv_heads, size).swapaxes(0, 1))
        values = np.ascontiguousarray(v.reshape(n_tokens, n_kv_heads, size).swapaxes(0, 1))
        turned = keys if key_turn is None else rotated(keys, *key_turn)
        if self.is_narrowed:
            turned, values = narrowed(turned), narrowed(values)
        none = np.empty((n_kv_heads, 0, size))
        loose_keys = np.concatenate([none, *(rows.keys[number] for rows in passage.loose)], axis=1)
        loose_values = np.concatenate(
            [none, *(rows.values[number] for rows in passage.loose)], axis=1
        )
        stored = turned if passage.key_position_ids is None else keys
        return Heads(queries, turned, values, loose_keys, loose_values), stored

    def _mlp(self, layer: _Layer, x: Float64Array) -> Float64Array:
        config = self._config
        normed = self._norm(x, layer.mlp_norm_weight, layer.mlp_norm_bias, config.norm_eps)
        inner = _linear(normed, layer.up_weight, layer.up_bias)
        if layer.gate_weight is None:
            inner = self._activation(inner)
        else:
            inner *= self._activation(normed @ layer.gate_weight)
        return _linear(inner, layer.down_weight, layer.down_bias)


def _linear(x: Float64Array, weight: Float64Array, bias: Float64Array | None) -> Float64Array:
    product = x @ weight
    if bias is not None:
        product += bias
    return product


def _detail(seen: AttentionDetail, output: Float64Array, residual: Float64Array) -> LayerDetail:
    return LayerDetail(seen.queries, seen.used_keys, seen.scores, seen.weights, output, residual)


def _needed(arrays: Mapping[str, np.ndarray], name: str) -> Float64Array:
    return np.ascontiguousarray(arrays[name], dtype=np.float64)


def _optional(arrays: Mapping[str, np.ndarray], name: str) -> Float64Array | None:
    return _needed(arrays, name) if name in arrays else None


def _layer(arrays: Mapping[str, np.ndarray], prefix: str) -> _Layer:
    return _Layer(
        attn_norm_weight=_needed(arrays, prefix + "attn_norm_weight"),
        attn_norm_bias=_optional(arrays, prefix + "attn_norm_bias"),
        qkv_weight=_needed(arrays, prefix + "qkv_weight"),
        qkv_bias=_optional(arrays, prefix + "qkv_bias"),
        out_weight=_needed(arrays, prefix + "out_weight"),
        out_bias=_optional(arrays, prefix + "out_bias"),
        mlp_norm_weight=_needed(arrays, prefix + "mlp_norm_weight"),
        mlp_norm_bias=_optional(arrays, prefix + "mlp_norm_bias"),
        gate_weight=_optional(arrays, prefix + "gate_weight"),
        up_weight=_needed(arrays, prefix + "up_weight"),
        up_bias=_optional(arrays, prefix + "up_bias"),
        down_weight=_needed(arrays, prefix + "down_weight"),
        down_bias=_optional(arrays, prefix + "down_bias"),
    )
