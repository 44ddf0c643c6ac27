"""Attention of the reference, in blocks of query rows, over the columns that a block may read.

A column is a key: first the tokens of the passage, then the rows that hold no token. Shapes: N
tokens, T query rows of a block, C columns, Hq query heads, Hkv key-value heads, R = Hq / Hkv.

Where positions are re-assigned, each query would turn each key to its own place. RoPE knows only
distances, so the same score comes from keys turned once, to their row, and a query moved by as
much as the keys are off. Keys that are equally far off share a `Turn`; under sinks and window
there are two. A detailed run turns each key for each query, as it is defined.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import BoolArray, IntArray
from core.model.config import ModelConfig
from core.reference_math import Float64Array, alibi_slopes, rotated, turn
from core.reference_passage import Passage

ROWS_PER_BLOCK = 64
_MASKED = -np.inf


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


@dataclass(frozen=True, slots=True)
class Turn:
    """How the queries of a block are rotated for some of the keys.

    Attributes:
        cosine: [T, D / 2] of the angles.
        sine: [T, D / 2] likewise.
        member: [T, C] the query-key pairs it is for; None: all.
    """

    cosine: Float64Array
    sine: Float64Array
    member: BoolArray | None


@dataclass(frozen=True, slots=True)
class Block:
    """Query rows that are computed together.

    Attributes:
        rows: their range in the passage.
        columns: the tokens that at least one of them reads.
        reads_loose: whether at least one of them reads rows without a token (then all of those
            are columns, after the tokens).
        mask: [T, C] added to the scores: 0 where readable, else minus infinity.
        distance: [T, C] position of the query minus that of the key, 0 for rows without a token;
            None: the scheme has no bias.
        turns: rotations of the queries; empty: the scheme has none.
    """

    rows: slice
    columns: slice | IntArray
    reads_loose: bool
    mask: Float64Array
    distance: Float64Array | None
    turns: tuple[Turn, ...]


def key_rows_turned_at(passage: Passage) -> IntArray:
    """[N] where keys are rotated to, once for all queries."""
    if passage.key_position_ids is None:
        return passage.position_ids
    return np.arange(len(passage.token_ids))


def plan_blocks(
    config: ModelConfig, passage: Passage, first_row: int, stop_row: int
) -> tuple[Block, ...]:
    """Blocks of at most ROWS_PER_BLOCK rows that cover first_row ≤ row < stop_row."""
    starts = range(first_row, stop_row, ROWS_PER_BLOCK)
    return tuple(
        _plan_block(config, passage, slice(start, min(start + ROWS_PER_BLOCK, stop_row)))
        for start in starts
    )


def whole_block(config: ModelConfig, passage: Passage, first_row: int) -> Block:
    """One block of all rows from `first_row` on, with all tokens as columns and no turns."""
    rows = slice(first_row, len(passage.token_ids))
    columns = slice(0, len(passage.token_ids))
    is_readable = np.concatenate([passage.readable[rows], _loose_readable(passage, rows)], axis=1)
    distance = _distance(config, passage, rows, columns, is_readable.shape[1])
    return Block(rows, columns, bool(passage.loose), _mask(is_readable), distance, ())


def _plan_block(config: ModelConfig, passage: Passage, rows: slice) -> Block:
    columns = _read_columns(passage.readable[rows])
    is_readable = passage.readable[rows, columns]
    loose = _loose_readable(passage, rows)
    reads_loose = bool(loose.any())
    if reads_loose:
        is_readable = np.concatenate([is_readable, loose], axis=1)
    distance = _distance(config, passage, rows, columns, is_readable.shape[1])
    turns = tuple(_turns(config, passage, rows, columns, is_readable))
    return Block(rows, columns, reads_loose, _mask(is_readable), distance, turns)


def _read_columns(readable: BoolArray) -> slice | IntArray:
    """Columns in which any row is true: as a range where they are one, else one by one."""
    columns = np.flatnonzero(readable.any(axis=0))
    if len(columns) == 0:
        return slice(0, 0)
    start, stop = int(columns[0]), int(columns[-1]) + 1
    return slice(start, stop) if stop - start == len(columns) else columns


def _loose_readable(passage: Passage, rows: slice) -> BoolArray:
    """[T, n] whether the query comes after the row without a token."""
    first_reader = np.array(
        [rows_.first_reader for rows_ in passage.loose for _ in range(rows_.keys.shape[2])],
        dtype=np.int64,
    )
    return np.arange(rows.start, rows.stop)[:, None] >= first_reader


def _mask(is_readable: BoolArray) -> Float64Array:
    return np.where(is_readable, 0.0, _MASKED)


def _key_positions(passage: Passage, rows: slice, columns: slice | IntArray) -> IntArray:
    """[T or 1, C] position that each query gives each token."""
    if passage.key_position_ids is None:
        return passage.position_ids[columns][None]
    return passage.key_position_ids[rows, columns]


def _distance(
    config: ModelConfig,
    passage: Passage,
    rows: slice,
    columns: slice | IntArray,
    n_columns: int,
) -> Float64Array | None:
    if config.scheme != "alibi":
        return None
    n_rows = rows.stop - rows.start
    distance = np.zeros((n_rows, n_columns))
    key_positions = _key_positions(passage, rows, columns)
    n_tokens = key_positions.shape[1]
    distance[:, :n_tokens] = passage.position_ids[rows][:, None] - key_positions
    return distance


def _turns(
    config: ModelConfig,
    passage: Passage,
    rows: slice,
    columns: slice | IntArray,
    is_readable: BoolArray,
) -> Iterator[Turn]:
    """The rotations that a block's queries need, each with the pairs that it serves."""
    if config.scheme != "rope":
        return
    positions = passage.position_ids[rows]
    if passage.key_position_ids is None:
        yield Turn(*turn(positions, config.rope_theta, config.d_head), None)
        return
    off_by = np.zeros(is_readable.shape, dtype=np.int64)
    key_positions = _key_positions(passage, rows, columns)
    off_by[:, : key_positions.shape[1]] = key_positions - key_rows_turned_at(passage)[columns]
    remaining = is_readable.copy()
    every_row = np.arange(len(positions))
    while remaining.any():
        shift = off_by[every_row, remaining.argmax(axis=1)]
        member = remaining & (off_by == shift[:, None])
        remaining &= ~member
        yield Turn(*turn(positions - shift, config.rope_theta, config.d_head), member)


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
    top = scores.max(axis=-1, keepdims=True, initial=_MASKED)
    top[top == _MASKED] = 0.0
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
