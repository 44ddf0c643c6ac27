"""From recorded weights to 8-bit images: which rows, which columns, which codes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, FloatArray, IntArray, frozen
from core.engine.types import LayerPlan
from core.readouts.history import SlotHistory, computed_tokens
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


def takes_of(
    records: Sequence[StepRecord], step: int, n_read: int, most_rows: int
) -> Iterator[Take]:
    """The newest queries of a text of `n_read` tokens up to `step`, in token order.

    Of several sequences those of the one that the step was of, and before a reorder its parent's.
    """
    takes: list[Take] = []
    lowest, n_left = n_read, most_rows
    which = records[step].request
    for at in range(step, -1, -1):
        record = records[at]
        if record.parents:
            which = record.parents[which]
            continue
        if record.request != which:
            continue
        tokens = computed_tokens(record)
        stop = min(lowest, tokens.stop) - tokens.start
        if stop > 0 and n_left > 0:
            # Of a step whose last tokens were taken back, the first ones still are the text's.
            takes.append(Take(record, max(0, stop - n_left), stop))
            n_left -= takes[-1].n_rows
            lowest = tokens.start
        if record.phase == "new_prompt" or lowest == 0 or n_left == 0:
            break
    return reversed(takes)


def last_rows(takes: Sequence[Take], n: int) -> Iterator[Take]:
    """The last `n` rows of the takes."""
    n_before = sum(take.n_rows for take in takes) - n
    for take in takes:
        n_cut = min(max(0, n_before), take.n_rows)
        n_before -= take.n_rows
        if n_cut < take.n_rows:
            yield Take(take.record, take.first + n_cut, take.stop)


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
    """

    plan: LayerPlan
    first: int
    stop: int
    is_run: bool
    loose: IntArray
    slots: slice | IntArray

    @classmethod
    def of(cls, plan: LayerPlan) -> "ReadSpan":
        """Looks at each row of a plan."""
        claimed, slots = plan.view_token_index, _as_slice(plan.view_slots)
        is_token = claimed != ABSENT
        tokens = claimed if is_token.all() else claimed[is_token]
        if not len(tokens):
            return cls(plan, 0, 0, is_run=False, loose=plan.view_slots, slots=slots)
        first, stop = int(tokens.min()), int(tokens.max()) + 1
        is_run = len(tokens) == len(claimed) == stop - first and bool((np.diff(tokens) == 1).all())
        return cls(plan, first, stop, is_run, plan.view_slots[~is_token], slots)


def _as_slice(numbers: IntArray) -> slice | IntArray:
    """Numbers that count up one by one as a slice, others as they are."""
    n = len(numbers)
    if n and bool((np.diff(numbers) == 1).all()):
        return slice(int(numbers[0]), int(numbers[0]) + n)
    return numbers


class Order(Protocol):
    """How the rows of an image's columns are arranged."""

    @property
    def n_columns(self) -> int:
        """Columns of the image."""
        ...

    def columns(self, plan: LayerPlan) -> slice | IntArray:
        """[S] column of each row that a step read in a layer."""
        ...

    def unread(self, takes: Sequence[Take]) -> Codes:
        """[takes, n_columns] what a column is for a step that did not read it."""
        ...

    @property
    def slots(self) -> IntArray:
        """[n_columns] the slot that a column always stands for; ABSENT: none."""
        ...

    @property
    def tokens(self) -> IntArray:
        """[n_columns] the token that a column always stands for; ABSENT: none."""
        ...


class SlotOrder:
    """One column per slot."""

    def __init__(self, spans: Mapping[int, ReadSpan], history: SlotHistory) -> None:
        """The slots of a run, read by the plans of these spans."""
        self._spans = spans
        self._history = history
        self.n_columns = history.n_slots
        self.slots = frozen(np.arange(history.n_slots))
        self.tokens = frozen(np.full(history.n_slots, ABSENT, dtype=np.int64))

    def columns(self, plan: LayerPlan) -> slice | IntArray:
        """See `Order`."""
        return self._spans[id(plan)].slots

    def unread(self, takes: Sequence[Take]) -> Codes:
        """See `Order`."""
        return _unused(self._history.first_step, takes)


class TokenOrder:
    """One column per token that the ledger claimed in a step shown, then one per slot without."""

    def __init__(self, spans: Mapping[int, ReadSpan], history: SlotHistory) -> None:
        """The tokens and slots that are read by the plans of these spans."""
        self._spans = spans
        n_tokens = max((span.stop for span in self._spans.values()), default=0)
        has_token = np.zeros(n_tokens, dtype=np.bool_)
        is_loose = np.zeros(history.n_slots, dtype=np.bool_)
        for span in self._spans.values():
            if span.is_run:
                has_token[span.first : span.stop] = True
            else:
                claimed = span.plan.view_token_index
                has_token[claimed[claimed != ABSENT]] = True
                is_loose[span.loose] = True
        self._history = history
        tokens, slots = np.flatnonzero(has_token), np.flatnonzero(is_loose)
        self._of_token = np.cumsum(has_token) - 1
        self._of_slot = np.cumsum(is_loose) - 1 + len(tokens)
        self.n_columns = len(tokens) + len(slots)
        self.tokens = frozen(np.concatenate([tokens, np.full(len(slots), ABSENT)]))
        self.slots = frozen(np.concatenate([np.full(len(tokens), ABSENT), slots]))
        self._n_tokens = len(tokens)

    def columns(self, plan: LayerPlan) -> slice | IntArray:
        """See `Order`."""
        span = self._spans[id(plan)]
        if span.is_run:
            first = int(self._of_token[span.first])
            return slice(first, first + span.stop - span.first)
        claimed, slots = plan.view_token_index, plan.view_slots
        if not self._n_tokens:
            return self._of_slot[slots]
        return np.where(claimed == ABSENT, self._of_slot[slots], self._of_token[claimed])

    def unread(self, takes: Sequence[Take]) -> Codes:
        """See `Order`."""
        newest = np.array([take.record.token_index[-1] for take in takes])
        is_later = self.tokens[None, : self._n_tokens] > newest[:, None]
        first_step = self._history.first_step[self.slots[self._n_tokens :]]
        return np.concatenate([is_later * _NEVER, _unused(first_step, takes)], axis=1)


_NEVER = np.uint8(Code.NEVER_WRITTEN)


def _unused(first_step: IntArray, takes: Sequence[Take]) -> Codes:
    """[takes, n] NEVER_WRITTEN where a slot was not used by then, else MASKED."""
    steps = np.array([take.record.step for take in takes])
    return ((first_step == ABSENT) | (first_step > steps[:, None])) * _NEVER


class Bins:
    """Neighbouring columns of a `TokenOrder` put together, `n_pooled` tokens or slots in one.

    A bin is of the same tokens in each step, so that what it shows of a row stays.
    """

    def __init__(self, order: TokenOrder, n_pooled: int) -> None:
        """Takes what is to be put together."""
        is_slot = order.tokens == ABSENT
        bins = np.where(is_slot, order.slots, order.tokens) // n_pooled
        is_first = np.ones(len(bins), dtype=np.bool_)
        is_first[1:] = (bins[1:] != bins[:-1]) | (is_slot[1:] != is_slot[:-1])
        self._starts = np.flatnonzero(is_first)
        found, is_slot = bins[self._starts], is_slot[self._starts]
        self.n_columns = len(found)
        self._token_bins, self._slot_bins = found[~is_slot], found[is_slot]

    def columns(self, token_bins: IntArray, slot_bins: IntArray) -> slice | IntArray:
        """Where bins stand; a slice where that can be said."""
        places = np.searchsorted(self._token_bins, token_bins)
        if len(slot_bins):
            after = len(self._token_bins) + np.searchsorted(self._slot_bins, slot_bins)
            return np.concatenate((places, after))
        first, n = int(places[0]), len(places)
        return slice(first, first + n) if int(places[-1]) - first == n - 1 else places

    def pooled(self, codes: Codes) -> Codes:
        """[.., n_columns] the highest code of each bin, from [.., columns of the order]."""
        return np.maximum.reduceat(codes, self._starts, axis=-1)
