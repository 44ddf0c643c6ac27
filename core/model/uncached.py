"""The model as one pass over whole texts: no cache, no rows kept, nothing shared with the engine.

It is what a decoder without a cache computes, in any number type, and it can be differentiated.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from core.model.config import ModelConfig
from core.model.weights import LayerWeights, Weights


@dataclass(frozen=True, slots=True, eq=False)
class LayerValues:
    """What one layer made of the texts.

    Attributes:
        keys: [B, Hkv, T, D] as a cache would hold them: rotated and narrowed where they are, not
            rotated where each query gives a key another position id.
        values: [B, Hkv, T, D] likewise.
        scores: [B, Hq, T, T] scaled, with bias, not masked.
        weights: [B, Hq, T, T].
        output: [B, T, d_model] what attention adds.
        residual: [B, T, d_model] after the MLP.
    """

    keys: Tensor
    values: Tensor
    scores: Tensor
    weights: Tensor
    output: Tensor
    residual: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class LooseKeys:
    """Rows that hold no token: every query from `first_reader` on reads them as they are.

    Attributes:
        keys: [L, Hkv, n, D].
        values: [L, Hkv, n, D].
        first_reader: the first row of the text whose query does.
    """

    keys: Tensor
    values: Tensor
    first_reader: int


@dataclass(frozen=True, slots=True, eq=False)
class _Attended:
    """Of one layer; see `LayerValues`."""

    keys: Tensor
    values: Tensor
    scores: Tensor
    weights: Tensor
    output: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class _Sight:
    """Which key each query sees, and where: see `uncached_logits`."""

    query_ids: Tensor
    key_ids: Tensor
    allowed: Tensor
    loose: tuple[LooseKeys, ...]
    is_narrowed: bool


def uncached_logits(
    weights: Weights,
    token_ids: Tensor,
    position_ids: Tensor | NDArray[np.int64] | Sequence[int] | None = None,
    key_position_ids: Tensor | NDArray[np.int64] | None = None,
    readable: Tensor | NDArray[np.bool_] | None = None,
    *,
    is_narrowed: bool = False,
    loose: Sequence[LooseKeys] = (),
    see: Callable[[int, LayerValues], None] | None = None,
    shake: Callable[[int, Tensor], Tensor] | None = None,
) -> Tensor:
    """Logits [B, T, V] of the texts `token_ids` [B, T], every token computed from scratch.

    Args:
        weights: the model; its number type and device are used throughout.
        token_ids: integers on the device of the weights.
        position_ids: [T], those of every text; 0 ... T - 1 where absent.
        key_position_ids: [T, T], the position id of key j as query i sees it, where a key has no
            single one; has no meaning under learned positions, which are added before layer 0.
        readable: [T, T], whether query i may see key j; j <= i where absent. A query that may see
            nothing gets zeros from attention.
        is_narrowed: whether keys and values are rounded to 8 bits, as a cache of them would be.
        loose: rows that hold no token, which queries read too.
        see: is given the number of each layer, and what it made.
        shake: given the number of each layer and what goes into it [B, T, d_model], gives what is
            used instead.
    """
    config, device, n_tokens = weights.config, weights.device, token_ids.shape[-1]
    query_ids = torch.arange(n_tokens, device=device)
    if position_ids is not None:
        query_ids = _on_device(position_ids, device)
    key_ids = query_ids if key_position_ids is None else _on_device(key_position_ids, device)
    allowed = query_ids.new_ones(n_tokens, n_tokens, dtype=torch.bool).tril()
    if readable is not None:
        allowed = _on_device(readable, device)

    x = F.embedding(token_ids, weights.embedding)
    if weights.position_embedding is not None:
        x = x + F.embedding(query_ids, weights.position_embedding)
    sight = _Sight(query_ids, key_ids, allowed, tuple(loose), is_narrowed)
    for number, layer in enumerate(weights.layers):
        x = x if shake is None else shake(number, x)
        normed = _norm(config, x, layer.attn_norm_weight, layer.attn_norm_bias)
        made = _attention(config, layer, number, normed, sight)
        x = x + made.output
        normed = _norm(config, x, layer.mlp_norm_weight, layer.mlp_norm_bias)
        x = x + _mlp(config, layer, normed)
        if see is not None:
            see(
                number,
                LayerValues(made.keys, made.values, made.scores, made.weights, made.output, x),
            )
    return _norm(config, x, weights.final_norm_weight, weights.final_norm_bias) @ weights.head


def _on_device(
    values: Tensor | NDArray[np.int64] | NDArray[np.bool_] | Sequence[int], device: torch.device
) -> Tensor:
    """A copy of what is no tensor: torch warns of arrays that are read-only."""
    return (values if isinstance(values, Tensor) else torch.as_tensor(np.array(values))).to(device)


def _norm(config: ModelConfig, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if config.norm == "layer":
        return F.layer_norm(x, (config.d_model,), weight, bias, config.norm_eps)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + config.norm_eps)
    return weight * (wide * scale).to(x.dtype)


def _attention(
    config: ModelConfig, layer: LayerWeights, number: int, normed: Tensor, sight: _Sight
) -> _Attended:
    """Every query over every key it may see."""
    n_q, n_kv, d_head = config.n_heads, config.n_kv_heads, config.d_head
    query_ids, key_ids = sight.query_ids, sight.key_ids
    packed = _linear(normed, layer.qkv_weight, layer.qkv_bias)
    packed = packed.reshape(*packed.shape[:-1], n_q + 2 * n_kv, d_head).transpose(1, 2)
    q, k, v = packed[:, :n_q], packed[:, n_q : n_q + n_kv], packed[:, n_q + n_kv :]
    stored = _turned(config, k, key_ids) if config.scheme == "rope" and key_ids.ndim == 1 else k
    if sight.is_narrowed:
        stored, v = _narrowed(stored), _narrowed(v)
    scores = _scores(config, q, stored.repeat_interleave(config.n_rep, 1), query_ids, key_ids)
    told = scores
    mixed_over = v.repeat_interleave(config.n_rep, 1)
    allowed = sight.allowed
    for rows in sight.loose:
        keys, values = (
            part[number].to(v).repeat_interleave(config.n_rep, 0).expand(len(q), -1, -1, -1)
            for part in (rows.keys, rows.values)
        )
        scores = torch.cat((scores, _products(config, q, keys, query_ids)), -1)
        mixed_over = torch.cat((mixed_over, values), -2)
        reads = torch.arange(len(allowed), device=allowed.device) >= rows.first_reader
        allowed = torch.cat((allowed, reads[:, None].expand(-1, keys.shape[-2])), -1)
    scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    mixed = weights.to(v.dtype) @ mixed_over
    mixed = mixed * allowed.any(-1)[:, None]
    output = _linear(mixed.transpose(1, 2).flatten(-2), layer.out_weight, layer.out_bias)
    return _Attended(stored, v, told, weights[..., : told.shape[-1]], output)


def _scores(
    config: ModelConfig, q: Tensor, stored: Tensor, query_ids: Tensor, key_ids: Tensor
) -> Tensor:
    """Scores [B, Hq, T, T] in at least float32, before any mask; keys as a cache has them."""
    if config.scheme == "rope" and key_ids.ndim == 2:
        wide = torch.promote_types(q.dtype, torch.float32)
        turned = _turned(config, q, query_ids)
        k_per_query = _turned(config, stored[:, :, None], key_ids)
        products = torch.einsum("bhqd,bhqkd->bhqk", turned, k_per_query)
        return (products * (1.0 / math.sqrt(config.d_head))).to(wide)
    return _biased(config, _products(config, q, stored, query_ids), query_ids, key_ids)


def _products(config: ModelConfig, q: Tensor, stored: Tensor, query_ids: Tensor) -> Tensor:
    """Scores without bias, of keys that are rotated where they are to be."""
    if config.scheme == "rope":
        q = _turned(config, q, query_ids)
    wide = torch.promote_types(q.dtype, torch.float32)
    return ((q @ stored.mT) * (1.0 / math.sqrt(config.d_head))).to(wide)


def _narrowed(rows: Tensor) -> Tensor:
    """[..., D] each row rounded to whole steps of a 127th of its largest absolute value."""
    step = rows.abs().max(-1, keepdim=True).values / 127.0
    return torch.where(step > 0, torch.round(rows / step) * step, rows)


def _biased(config: ModelConfig, scores: Tensor, query_ids: Tensor, key_ids: Tensor) -> Tensor:
    """Scores with ALiBi's penalty, where the scheme has it."""
    if config.scheme == "alibi":
        distance = query_ids[:, None] - key_ids
        penalty = _slopes(config.n_heads).to(scores)[:, None, None] * distance.to(scores)
        scores = scores - penalty
    return scores


def _slopes(n_heads: int) -> Tensor:
    """ALiBi's slope of each head [Hq], in float64."""
    n_powers = 2 ** math.ceil(math.log2(n_heads))
    slopes = torch.pow(2.0, -torch.arange(1, n_powers + 1, dtype=torch.float64) * 8.0 / n_powers)
    if n_powers > n_heads:
        slopes = torch.cat((slopes[1::2], slopes[0::2]))
    return slopes[:n_heads]


def _turned(config: ModelConfig, x: Tensor, position_ids: Tensor) -> Tensor:
    """Turns x [..., D] by `position_ids`, whose axes are the last ones of x before D."""
    wide = torch.promote_types(x.dtype, torch.float32)
    exponents = torch.arange(0, config.d_head, 2, dtype=wide, device=x.device) / config.d_head
    angles = position_ids.to(wide)[..., None] * (1.0 / config.rope_theta**exponents)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def _mlp(config: ModelConfig, layer: LayerWeights, normed: Tensor) -> Tensor:
    inner = _linear(normed, layer.up_weight, layer.up_bias)
    if layer.gate_weight is not None:
        inner = F.silu(normed @ layer.gate_weight) * inner
    else:
        inner = F.gelu(inner, approximate="tanh" if config.activation == "gelu_tanh" else "none")
    return _linear(inner, layer.down_weight, layer.down_bias)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return x @ weight if bias is None else x @ weight + bias
