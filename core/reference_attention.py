"""Attention of the reference: over the blocks of `reference_blocks`, or in detail.

Shapes: N tokens, T query rows of a block, C columns, Hq query heads, Hkv key-value heads,
R = Hq / Hkv, D head size.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.model.config import ModelConfig
from core.reference_blocks import MASKED, Block, Turn
from core.reference_math import Float64Array, alibi_slopes, rotated, turn
from core.reference_passage import Passage


@dataclass(frozen=True, slots=True)
class Heads:
    """What a layer's attention works on.

    Attributes:
        queries: [Hkv, R, N, D] not rotated.
        keys: [Hkv, N, D] rotated where the scheme is RoPE: to their position ids, or to their
            rows where positions are re-assigned.
        values: [Hkv, N, D].
        loose_keys: [Hkv, n, D] of rows that hold no token.
        loose_values: [Hkv, n, D] likewise.
    """

    queries: Float64Array
    keys: Float64Array
    values: Float64Array
    loose_keys: Float64Array
    loose_values: Float64Array


def attend(config: ModelConfig, block: Block, heads: Heads) -> Float64Array:
    """[T, Hq · D] what the block's queries take from the values; 0 where nothing is readable."""
    keys, values = heads.keys[:, block.columns], heads.values[:, block.columns]
    if block.reads_loose:
        keys = np.concatenate([keys, heads.loose_keys], axis=1)
        values = np.concatenate([values, heads.loose_values], axis=1)
    queries = heads.queries[:, :, block.rows] * config.d_head**-0.5
    scores = _scores(queries, keys, block.turns)
    if block.distance is not None:
        scores -= _by_kv_head(config, alibi_slopes(config.n_heads)) * block.distance
    scores += block.mask
    total = exponentials(scores)
    context = _per_kv_head(scores, values)
    context /= total
    return merged(context)


def _scores(queries: Float64Array, keys: Float64Array, turns: tuple[Turn, ...]) -> Float64Array:
    """[Hkv, R, T, C] products of queries and keys, each pair by the turn that serves it."""
    transposed = keys.swapaxes(-1, -2)
    if not turns:
        return _per_kv_head(queries, transposed)
    if turns[0].member is None:
        return _per_kv_head(rotated(queries, turns[0].cosine, turns[0].sine), transposed)
    scores = np.zeros((*queries.shape[:-1], keys.shape[1]))
    for one in turns:
        if one.member is None:
            continue
        used = np.flatnonzero(one.member.any(axis=0))
        hull = slice(int(used[0]), int(used[-1]) + 1)
        products = _per_kv_head(rotated(queries, one.cosine, one.sine), transposed[..., hull])
        np.copyto(scores[..., hull], products, where=one.member[:, hull])
    return scores


def _per_kv_head(per_query: Float64Array, per_kv_head: Float64Array) -> Float64Array:
    """[Hkv, R, T, B] product of [Hkv, R, T, A] and [Hkv, A, B]: R query heads share a KV head."""
    n_kv_heads, n_rep, n_rows, size = per_query.shape
    flat = per_query.reshape(n_kv_heads, n_rep * n_rows, size) @ per_kv_head
    return flat.reshape(n_kv_heads, n_rep, n_rows, per_kv_head.shape[-1])


def _by_kv_head(config: ModelConfig, per_head: Float64Array) -> Float64Array:
    return per_head.reshape(config.n_kv_heads, config.n_rep, 1, 1)


def exponentials(scores: Float64Array) -> Float64Array:
    """[.., 1] the sums by which to divide to have a softmax; `scores` become its numerators.

    A row in which everything is masked becomes zeros, with 1 as its sum.
    """
    top = scores.max(axis=-1, keepdims=True, initial=MASKED)
    top[top == MASKED] = 0.0
    scores -= top
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    total[total == 0.0] = 1.0
    return total


def merged(context: Float64Array) -> Float64Array:
    """[T, Hq · D] of [Hkv, R, T, D]."""
    n_kv_heads, n_rep, n_rows, size = context.shape
    return context.transpose(2, 0, 1, 3).reshape(n_rows, n_kv_heads * n_rep * size)


@dataclass(frozen=True, slots=True)
class AttentionDetail:
    """What attention of some rows looked like. T rows, all N tokens as keys.

    Attributes:
        queries: [Hq, T, D] as used, rotated where the scheme is RoPE.
        used_keys: [Hkv, N, D] as used; [Hkv, T, N, D] where each query rotates them differently.
        scores: [Hq, T, N] scaled, with bias, not masked.
        weights: [Hq, T, N] 0 where not readable. What is missing to 1 lies on rows that hold no
            token.
        context: [T, Hq · D] before the projection.
    """

    queries: Float64Array
    used_keys: Float64Array
    scores: Float64Array
    weights: Float64Array
    context: Float64Array


def attend_in_detail(
    config: ModelConfig, passage: Passage, block: Block, heads: Heads, stored_keys: Float64Array
) -> AttentionDetail:
    """Attention by the definition: each query turned to its position, each key to where it is.

    Args:
        config: of the model.
        passage: the text.
        block: from `whole_block`.
        heads: of this layer.
        stored_keys: [Hkv, N, D] as a cache holds them.
    """
    queries = heads.queries[:, :, block.rows]
    used_keys = heads.keys if passage.key_position_ids is None else stored_keys
    if config.scheme == "rope":
        queries = rotated(
            queries, *turn(passage.position_ids[block.rows], config.rope_theta, config.d_head)
        )
        if passage.key_position_ids is not None:
            used_keys = _turned_per_query(config, passage.key_position_ids[block.rows], stored_keys)
    scores = _detailed_scores(queries, used_keys, heads.loose_keys) * config.d_head**-0.5
    if block.distance is not None:
        scores -= _by_kv_head(config, alibi_slopes(config.n_heads)) * block.distance
    weights = scores + block.mask
    weights /= exponentials(weights)
    context = _per_kv_head(weights, np.concatenate([heads.values, heads.loose_values], axis=1))
    n_tokens = heads.keys.shape[1]
    return AttentionDetail(
        _by_head(queries),
        used_keys,
        _by_head(scores[..., :n_tokens]),
        _by_head(weights[..., :n_tokens]),
        merged(context),
    )


def _turned_per_query(
    config: ModelConfig, key_position_ids: NDArray[np.int64], stored_keys: Float64Array
) -> Float64Array:
    cosine, sine = turn(key_position_ids, config.rope_theta, config.d_head)
    return rotated(stored_keys[:, None], cosine, sine)


def _detailed_scores(
    queries: Float64Array, used_keys: Float64Array, loose_keys: Float64Array
) -> Float64Array:
    """[Hkv, R, T, N + n] products with the tokens' keys, then with those of no token."""
    if used_keys.ndim == 3:
        products = _per_kv_head(queries, used_keys.swapaxes(-1, -2))
    else:
        products = np.einsum("grtd,gtnd->grtn", queries, used_keys)
    return np.concatenate([products, _per_kv_head(queries, loose_keys.swapaxes(-1, -2))], axis=-1)


def _by_head(grouped: Float64Array) -> Float64Array:
    """[Hq, T, ..] of [Hkv, R, T, ..]."""
    return grouped.reshape(-1, *grouped.shape[2:])
