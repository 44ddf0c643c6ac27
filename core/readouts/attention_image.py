"""From recorded weights to 8-bit images: which rows, what they read, which codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, FloatArray, IntArray
from core.engine.types import LayerPlan
from core.record import StepRecord

_VALUE_STEPS = 251

Codes = NDArray[np.uint8]


class Code(IntEnum):
    """What a cell of the image means; the order survives a maximum over neighbours."""

    MASKED = 0
    """Not let through by the mask, or not among the rows read."""
    NEVER_WRITTEN = 1
    """Not read, and nothing was ever written there by then."""
    ZERO = 2
    """A weight of exactly 0."""
    LOWEST = 3
    """Weights above 0 from here to HIGHEST, on a square-root scale from 0 to 1."""
    HIGHEST = 254
    NAN = 255


HIDDEN = -1.0
"""Stands among weights for one that the mask did not let through; its code is MASKED."""


def weight_codes(weights: FloatArray) -> Codes:
    """Codes of weights, any shape; of those below zero, MASKED."""
    is_nan = np.isnan(weights)
    clipped = np.clip(weights, 0.0, 1.0)
    if is_nan.any():
        clipped[is_nan] = 0.0
    codes = (np.sqrt(clipped) * _VALUE_STEPS + (Code.LOWEST + 0.5)).astype(np.uint8)
    codes[clipped == 0.0] = Code.ZERO
    codes[weights < 0.0] = Code.MASKED
    codes[is_nan] = Code.NAN
    return codes


def folded(weights: FloatArray, places: IntArray) -> tuple[FloatArray, IntArray]:
    """Weights of rows that belong to one place, added: nothing of what a query gave is lost.

    Args:
        weights: [..., S], HIDDEN where the mask did not let a row through.
        places: [S] of each row.

    Returns:
        [..., n] the weights of each place, ascending, HIDDEN where none of its rows was let
        through; and [n] the first row of each.
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    weights = weights[..., order]
    is_seen = ~(weights < 0.0)  # also what is no number
    total = np.add.reduceat(np.where(is_seen, weights, 0.0), starts, axis=-1)
    total[~np.logical_or.reduceat(is_seen, starts, axis=-1)] = HIDDEN
    return total, order[starts]


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """Queries `first` to `stop` - 1 of the T that a step computed."""

    record: StepRecord
    first: int
    stop: int

    @property
    def n_rows(self) -> int:
        """How many queries."""
        return self.stop - self.first


def last_rows(takes: Sequence[Take], n: int) -> tuple[Take, ...]:
    """The last `n` rows of the takes."""
    found: list[Take] = []
    for take in reversed(takes):
        if n <= 0:
            break
        n_rows = take.stop - take.first
        found.append(take if n_rows <= n else Take(take.record, take.stop - n, take.stop))
        n -= n_rows
    return tuple(reversed(found))


@dataclass(frozen=True, slots=True, eq=False)
class ReadSpan:
    """Which tokens a plan reads, so that most questions need no look at each of them.

    Attributes:
        plan: the plan.
        first: the lowest token index claimed.
        stop: one above the highest.
        is_run: whether the rows are those of the tokens from `first` to `stop` - 1, in order.
        loose: [n] slots of the rows for which no token is claimed.
        slots: the slots read; a slice where that can be said.
        has_repeats: whether two of the rows are of one slot, or stand for one token.
    """

    plan: LayerPlan
    first: int
    stop: int
    is_run: bool
    loose: IntArray
    slots: slice | IntArray
    has_repeats: bool

    @classmethod
    def of(cls, plan: LayerPlan) -> "ReadSpan":
        """Looks at each row of a plan."""
        claimed, slots = plan.view_token_index, _as_slice(plan.view_slots)
        is_token = claimed != ABSENT
        tokens = claimed if is_token.all() else claimed[is_token]
        is_twice = not isinstance(slots, slice) and _repeats(slots)
        if not len(tokens):
            loose = plan.view_slots
            return cls(plan, 0, 0, is_run=False, loose=loose, slots=slots, has_repeats=is_twice)
        first, stop = int(tokens.min()), int(tokens.max()) + 1
        is_run = len(tokens) == len(claimed) == stop - first and _counts_up(tokens)
        is_twice = is_twice or (not is_run and _repeats(tokens))
        return cls(plan, first, stop, is_run, plan.view_slots[~is_token], slots, is_twice)


def _as_slice(numbers: IntArray) -> slice | IntArray:
    """Numbers that count up one by one as a slice, others as they are."""
    if len(numbers) and _counts_up(numbers):
        return slice(int(numbers[0]), int(numbers[0]) + len(numbers))
    return numbers


def _repeats(numbers: IntArray) -> bool:
    return len(np.unique(numbers)) < len(numbers)


def _counts_up(numbers: IntArray) -> bool:
    return bool((numbers[1:] - numbers[:-1] == 1).all())
