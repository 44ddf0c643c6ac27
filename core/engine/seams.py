"""The rules of a KV cache, each one small function that owns one decision.

The engine asks a frozen `Seams` table whose defaults are these functions; a fault is a table
with exactly one of them replaced. A token index, a slot, a row and a position id are four
different things. torch is imported for types only: this module loads before torch does. More than
300 lines, because the rules are read together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, BoolArray, IntArray
from core.engine.types import Append, Ledger, lowest_free
from core.outcome import OK, Outcome, Refused

if TYPE_CHECKING:
    from torch import Tensor

    from core.engine.rows import LayerRows
    from core.model.positions import Positions

Buffers = tuple["Tensor", ...]
"""One a layer: [R, 2, Hkv, D]."""


def reset(ledger: Ledger) -> Ledger:
    """A new prompt starts from an empty ledger.

    Invariant: nothing of the old text is left but the capacity.
    """
    return Ledger(ledger.capacity)


def reusable(n_common: int, n_prompt: int) -> int:
    """Rows of the common beginning of two texts are kept, but the last token is always run.

    Invariant: less than the prompt; without a token that is run there are no logits.
    """
    return min(n_common, n_prompt - 1)


def overflow(ledger: Ledger, n_new: int) -> int:
    """An append is short of as many rows as held + new exceeds the capacity.

    Invariant: 0 whenever held + new ≤ capacity; the last slot can be used.
    """
    return max(0, ledger.length + n_new - ledger.capacity)


def admit(ledger: Ledger, append: Append) -> tuple[Ledger, Outcome]:
    """Check first, then count; a refused append changes nothing.

    Keys and values come in equal numbers, and there is room for all of them or for none.

    Returns:
        The ledger that is committed whatever the outcome, and the outcome.
    """
    if append.n_lacking > 0 or append.n_keys != append.n_values:
        needed = max(append.n_keys, append.n_values)
        return ledger, Refused(needed, max(0, ledger.capacity - ledger.length))
    return ledger.count(append.n_keys, append.n_tokens), OK


def past_len(ledger: Ledger, held: tuple[int, int, int]) -> int:
    """What was read before: the tokens seen since position 0, evicted ones included.

    Invariant: it counts from the ledger's origin, which only a re-prefill moves; however few rows
    are held, it does not go down with them. Slots are handed out from here on too: what counts as
    read takes room.

    Args:
        ledger: what the cache is said to hold.
        held: the shape of the keys held: heads, rows, size of a head.
    """
    return ledger.seen - ledger.origin


def position_ids(past_len: int, n_new: int, ledger: Ledger) -> IntArray:
    """[T] new tokens count on from where the text stands.

    Invariant: the numbers are those of one call with all tokens, in however many calls they come.
    """
    return np.arange(past_len, past_len + n_new)


def layer_position_ids(position_ids: IntArray, layer: int) -> tuple[IntArray, IntArray]:
    """A query and the key of the same token are rotated at the token's one number, in every layer.

    Invariant: the distance of a token to itself is 0, and that of two tokens is the same in all
    layers.

    Returns:
        [T] where queries are rotated, and [T] where new keys are.
    """
    return position_ids, position_ids


def add_positions(scheme: Positions, x: Tensor, position_ids: IntArray) -> Tensor:
    """[T, d_model] every token gets the row of the position table that its number names.

    One token at a time or many: none goes without. A scheme without a table adds nothing.
    """
    return scheme.embed(x, position_ids)


def next_slots(ledger: Ledger, n_new: int) -> IntArray:
    """[T] new rows go to free slots, lowest first.

    Invariant: a slot that counts as held is never written again.
    """
    return lowest_free(ledger.counted_slots, n_new)


def slot_mapping(slots: IntArray) -> IntArray:
    """[S] physical row of each slot: in one contiguous buffer, the slot itself.

    Invariant: different slots have different rows.
    """
    return slots


def allocate(n_layers: int, shape: tuple[int, int, int, int], like: Tensor) -> Buffers:
    """Every layer has a buffer of its own, with room for all rows, zero until written.

    Invariant: no two layers share a byte.

    Args:
        n_layers: how many.
        shape: of each: rows, 2 (keys and values), heads, size of a head.
        like: a tensor of the number type and in the place wanted.
    """
    return tuple(like.new_zeros(shape) for _ in range(n_layers))


def grow(kv: Tensor, n_rows: int) -> Tensor:
    """[2, Hkv, R', D] a larger buffer holds every row at the place where it was.

    Allocate, then copy row by row: the rows of one head do not lie where those of the next do.

    Args:
        kv: [2, Hkv, R, D] the buffer that is full.
        n_rows: R', rows wanted.
    """
    grown = kv.new_zeros(*kv.shape[:2], n_rows, kv.shape[3])
    grown[:, :, : kv.shape[2]] = kv
    return grown


def quantise(rows: Tensor) -> Tensor:
    """[2, Hkv, T, D] each row is kept in 255 steps of its largest value over 127.

    A row of zeros has no scale and stays as it is: only an exact 0 is replaced.
    """
    scale = rows.abs().amax(-1, keepdim=True) / 127
    scale = scale.masked_fill(scale == 0, 1.0)
    return (rows / scale).round() * scale


def store(rows: LayerRows, write_rows: IntArray, keys: Tensor, values: Tensor) -> None:
    """New rows are copied in, keys and values together, each to its own row.

    Args:
        rows: the layer's buffer.
        write_rows: [T] physical rows.
        keys: [Hkv, T, D] the caller may use this memory again for the next token.
        values: [Hkv, T, D] likewise.
    """
    rows.write(write_rows, keys, values)


def kv_view(ledger: Ledger) -> IntArray:
    """[S] attention reads exactly the live slots, in token order.

    Invariant: as many rows are read as are counted; a slot never written is not among them.
    """
    return ledger.counted_slots


def rotate(scheme: Positions, heads: Tensor, position_ids: IntArray) -> Tensor:
    """[H, T, D] queries and keys are rotated once, each at its own position.

    Invariant: the score of a query and a key depends on the distance of their positions only.
    """
    return scheme.rotate(heads, position_ids)


def read_keys(scheme: Positions, keys: Tensor, position_ids: IntArray, new_keys: Tensor) -> Tensor:
    """[Hkv, S, D] keys are used as they come back: rotated once, when they were written.

    Args:
        scheme: the model's position scheme.
        keys: [Hkv, S, D] as read, old ones first.
        position_ids: [S] position ids that the ledger claims for them.
        new_keys: [Hkv, T, D] those of this call, before they were rotated.
    """
    return keys


def in_window(query: IntArray, key: IntArray, recent: int, sinks: int) -> BoolArray:
    """A query reads the `recent` newest tokens, itself counted, and the first `sinks` of the text.

    Token i reads j ≤ i with j > i − recent or j < sinks. The two arguments broadcast.
    """
    is_recent = key > query - recent
    if sinks == 0:
        return (key <= query) & is_recent
    return (key <= query) & (is_recent | (key < sinks))


def causal_mask(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    """[T, S] a query sees the rows of the readable tokens that are not later than itself.

    Token indices are compared, never columns: row i of a chunk after `past` tokens sees
    past + i + 1 of them.

                 key 0 1 2 3 4 5
        query 4:     ■ ■ ■ ■ ■ □
        query 5:     ■ ■ ■ ■ ■ ■

    A row that holds no token is let through: keeping it out is the view's part.

    Args:
        query: [T] token index of each query.
        key: [S] token index of each row read; ABSENT: none.
        readable: [T, S] what the policy lets each query read.
    """
    return (readable & (key <= query[:, None])) | (key == ABSENT)


def repeat_kv(heads: Tensor, n_rep: int) -> Tensor:
    """[Hkv · n_rep, S, D] query head h reads key-value head h div n_rep.

    Each key-value head stands n_rep times in a row: 0 0 1 1, not 0 1 0 1.
    """
    return heads if n_rep == 1 else heads.repeat_interleave(n_rep, dim=-3)


def join(before: Ledger, after: Ledger) -> Ledger:
    """After a step the cache holds what it held before and the new rows, each once.

    Args:
        before: what was held when the step began.
        after: the same with the new rows, which is what attention read.
    """
    return after


def evict(ledger: Ledger, n_short: int, sinks: int) -> Ledger:
    """The oldest rows leave, as many as there are too many; the first `sinks` tokens stay.

    Rows leave after the step: the first tokens of a chunk still read what the last ones may not.
    """
    if n_short == 0:
        return ledger
    may_leave = np.flatnonzero(ledger.token_index >= sinks)
    keep = np.ones(len(ledger.token_index), dtype=bool)
    keep[may_leave[:n_short]] = False
    return ledger.only(keep)


def crop(ledger: Ledger, n: int) -> Ledger:
    """A rollback drops the rows of the newest n tokens and counts back.

    Invariant: the next token gets the token index of the first dropped one, and no row of a
    dropped token counts as held.
    """
    target = ledger.seen - n
    is_dropped = np.maximum.accumulate(ledger.token_index >= target)
    kept = ledger.only(~is_dropped).count(0, -n)
    return replace(kept, origin=min(kept.origin, target))


def reorder(rows: Sequence[Tensor], parents: Sequence[int]) -> None:
    """Every beam gets a copy of its parent's rows, keys and values, in every layer.

    Args:
        rows: [2, Hkv, R, D] the buffer of each beam, in one layer.
        parents: for each beam, whose rows it goes on with.
    """
    copies = [rows[parent].clone() for parent in parents]
    for mine, copy in zip(rows, copies, strict=True):
        mine.copy_(copy)


def reported_length(ledger: Ledger) -> int:
    """The length that the cache tells the outside is the number of rows held.

    Invariant: never above the capacity, and not the number of tokens seen.
    """
    return ledger.length


@dataclass(frozen=True, slots=True)
class Seams:
    """One function for each decision. The defaults are the correct ones."""

    reset: Callable[[Ledger], Ledger] = reset
    reusable: Callable[[int, int], int] = reusable
    overflow: Callable[[Ledger, int], int] = overflow
    admit: Callable[[Ledger, Append], tuple[Ledger, Outcome]] = admit
    past_len: Callable[[Ledger, tuple[int, int, int]], int] = past_len
    position_ids: Callable[[int, int, Ledger], IntArray] = position_ids
    layer_position_ids: Callable[[IntArray, int], tuple[IntArray, IntArray]] = layer_position_ids
    add_positions: Callable[[Positions, Tensor, IntArray], Tensor] = add_positions
    next_slots: Callable[[Ledger, int], IntArray] = next_slots
    slot_mapping: Callable[[IntArray], IntArray] = slot_mapping
    allocate: Callable[[int, tuple[int, int, int, int], Tensor], Buffers] = allocate
    grow: Callable[[Tensor, int], Tensor] = grow
    quantise: Callable[[Tensor], Tensor] = quantise
    store: Callable[[LayerRows, IntArray, Tensor, Tensor], None] = store
    kv_view: Callable[[Ledger], IntArray] = kv_view
    rotate: Callable[[Positions, Tensor, IntArray], Tensor] = rotate
    read_keys: Callable[[Positions, Tensor, IntArray, Tensor], Tensor] = read_keys
    in_window: Callable[[IntArray, IntArray, int, int], BoolArray] = in_window
    causal_mask: Callable[[IntArray, IntArray, BoolArray], BoolArray] = causal_mask
    repeat_kv: Callable[[Tensor, int], Tensor] = repeat_kv
    join: Callable[[Ledger, Ledger], Ledger] = join
    evict: Callable[[Ledger, int, int], Ledger] = evict
    crop: Callable[[Ledger, int], Ledger] = crop
    reorder: Callable[[Sequence[Tensor], Sequence[int]], None] = reorder
    reported_length: Callable[[Ledger], int] = reported_length


CORRECT = Seams()
PER_LAYER = (
    "layer_position_ids",
    "slot_mapping",
    "grow",
    "quantise",
    "store",
    "kv_view",
    "rotate",
    "read_keys",
    "causal_mask",
    "repeat_kv",
    "reorder",
)
"""Decisions that are taken once per layer, and so can be wrong in some layers only."""
