"""How the reference's attention is cut up: blocks of query rows, and the columns each may read.

A column is a key: first the tokens of the passage, then the rows that hold no token. Shapes: N
tokens, T query rows of a block, C columns, D head size.

Where positions are re-assigned, each query would turn each key to its own place. RoPE knows only
distances, so the same score comes from keys turned once, to their row, and a query moved by as
much as the keys are off. Keys that are equally far off share a `Turn`; under sinks and window
there are two. A detailed run turns each key for each query, as it is defined.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.arrays import BoolArray, IntArray
from core.model.config import ModelConfig
from core.reference_math import Float64Array, turn
from core.reference_passage import Passage

ROWS_PER_BLOCK = 64
MASKED = -np.inf


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
        [group.first_reader for group in passage.loose for _ in range(group.keys.shape[2])],
        dtype=np.int64,
    )
    queries: IntArray = np.arange(rows.start, rows.stop, dtype=np.int64)
    return queries[:, None] >= first_reader


def _mask(is_readable: BoolArray) -> Float64Array:
    return np.where(is_readable, 0.0, MASKED)


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
