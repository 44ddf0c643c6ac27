"""The rules of a KV cache, each one small function that owns one decision.

The engine asks a frozen `Seams` table whose defaults are these functions; a fault is a table
with exactly one of them replaced. A token index, a slot, a row and a position id are four
different things. torch is imported for types only: this module loads before torch does.
"""

from __future__ import annotations

from collections.abc import Callable
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


def reset(ledger: Ledger) -> Ledger:
    """A new prompt starts from an empty ledger.

    Invariant: nothing of the old text is left but the capacity.
    """
    return Ledger(ledger.capacity)


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
        return ledger, Refused(needed, ledger.capacity - ledger.length)
    return ledger.count(append.n_keys, append.n_tokens), OK


def past_len(ledger: Ledger) -> int:
    """What was read before: the tokens seen since position 0, evicted ones included.

    Invariant: it counts from the ledger's origin, which only a re-prefill moves; however few rows
    are held, it does not go down with them.
    """
    return ledger.seen - ledger.origin


def position_ids(past_len: int, n_new: int) -> IntArray:
    """[T] new tokens count on from where the text stands.

    Invariant: the numbers are those of one call with all tokens, in however many calls they come.
    """
    return np.arange(past_len, past_len + n_new)


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


def crop(ledger: Ledger, n: int) -> Ledger:
    """A rollback drops the rows of the newest n tokens and counts back.

    Invariant: the next token gets the token index of the first dropped one, and no row of a
    dropped token counts as held.
    """
    target = ledger.seen - n
    is_dropped = np.maximum.accumulate(ledger.token_index >= target)
    kept = ledger.only(~is_dropped).count(0, -n)
    return replace(kept, origin=min(kept.origin, target))


def reported_length(ledger: Ledger) -> int:
    """The length that the cache tells the outside is the number of rows held.

    Invariant: never above the capacity, and not the number of tokens seen.
    """
    return ledger.length


@dataclass(frozen=True, slots=True)
class Seams:
    """One function for each decision. The defaults are the correct ones."""

    reset: Callable[[Ledger], Ledger] = reset
    overflow: Callable[[Ledger, int], int] = overflow
    admit: Callable[[Ledger, Append], tuple[Ledger, Outcome]] = admit
    past_len: Callable[[Ledger], int] = past_len
    position_ids: Callable[[int, int], IntArray] = position_ids
    next_slots: Callable[[Ledger, int], IntArray] = next_slots
    slot_mapping: Callable[[IntArray], IntArray] = slot_mapping
    store: Callable[[LayerRows, IntArray, Tensor, Tensor], None] = store
    kv_view: Callable[[Ledger], IntArray] = kv_view
    rotate: Callable[[Positions, Tensor, IntArray], Tensor] = rotate
    causal_mask: Callable[[IntArray, IntArray, BoolArray], BoolArray] = causal_mask
    repeat_kv: Callable[[Tensor, int], Tensor] = repeat_kv
    crop: Callable[[Ledger, int], Ledger] = crop
    reported_length: Callable[[Ledger], int] = reported_length


CORRECT = Seams()
PER_LAYER = ("slot_mapping", "store", "kv_view", "rotate", "causal_mask", "repeat_kv")
"""Decisions that are taken once per layer, and so can be wrong in some layers only."""
