"""From recorded weights to 8-bit images: which rows, which columns, which codes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray, frozen
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


NO_WEIGHT = {Code.MASKED: -1.0, Code.NEVER_WRITTEN: -2.0}
"""Numbers that stand among weights for a code that is none."""


def weight_codes(weights: FloatArray) -> Codes:
    """Codes of weights that were let through, any shape."""
    is_nan = np.isnan(weights)
    clipped = np.clip(np.where(is_nan, 0.0, weights), 0.0, 1.0)
    codes = (np.sqrt(clipped) * _VALUE_STEPS + (Code.LOWEST + 0.5)).astype(np.uint8)
    codes[clipped == 0.0] = Code.ZERO
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


def takes_of(records: Sequence[StepRecord], n_read: int, most_rows: int) -> Iterator[Take]:
    """The newest queries of a text of `n_read` tokens, in token order."""
    takes: list[Take] = []
    lowest, n_left = n_read, most_rows
    for record in reversed(records):
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


class Order(Protocol):
    """How the rows of an image's columns are arranged."""

    @property
    def n_columns(self) -> int:
        """Columns of the image."""
        ...

    def columns(self, plan: LayerPlan) -> IntArray:
        """[S] column of each row that a step read in a layer."""
        ...

    def unread(self, record: StepRecord) -> FloatArray:
        """[n_columns] a `NO_WEIGHT` each: what a column is for a step that did not read it."""
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

    def __init__(self, history: SlotHistory) -> None:
        """The slots of a run."""
        self._history = history
        self.n_columns = history.n_slots
        self.slots = frozen(np.arange(history.n_slots))
        self.tokens = frozen(np.full(history.n_slots, ABSENT, dtype=np.int64))

    def columns(self, plan: LayerPlan) -> IntArray:
        """See `Order`."""
        return plan.view_slots

    def unread(self, record: StepRecord) -> FloatArray:
        """See `Order`."""
        was_used = self._history.was_used_by(record.step)
        return _no_weights(~was_used)


class TokenOrder:
    """One column per token that the ledger claimed in a step shown, then one per slot without."""

    def __init__(self, takes: Sequence[Take], layers: Sequence[int], history: SlotHistory) -> None:
        """The tokens and slots that the takes read in the layers."""
        plans = {id(plan): plan for take in takes for plan in _plans(take.record, layers)}
        n_tokens = 1 + max(
            (int(p.view_token_index.max(initial=-1)) for p in plans.values()), default=-1
        )
        has_token = np.zeros(n_tokens, dtype=np.bool_)
        is_loose = np.zeros(history.n_slots, dtype=np.bool_)
        for plan in plans.values():
            claimed = plan.view_token_index
            has_token[claimed[claimed != ABSENT]] = True
            is_loose[plan.view_slots[claimed == ABSENT]] = True
        self._history = history
        tokens, slots = np.flatnonzero(has_token), np.flatnonzero(is_loose)
        self._of_token = np.cumsum(has_token) - 1
        self._of_slot = np.cumsum(is_loose) - 1 + len(tokens)
        self.n_columns = len(tokens) + len(slots)
        self.tokens = frozen(np.concatenate([tokens, np.full(len(slots), ABSENT)]))
        self.slots = frozen(np.concatenate([np.full(len(tokens), ABSENT), slots]))
        self._n_tokens = len(tokens)

    def columns(self, plan: LayerPlan) -> IntArray:
        """See `Order`."""
        claimed, slots = plan.view_token_index, plan.view_slots
        if not self._n_tokens:
            return self._of_slot[slots]
        return np.where(claimed == ABSENT, self._of_slot[slots], self._of_token[claimed])

    def unread(self, record: StepRecord) -> FloatArray:
        """See `Order`."""
        is_later = self.tokens[: self._n_tokens] > record.token_index[-1]
        is_unused = ~self._history.was_used_by(record.step)[self.slots[self._n_tokens :]]
        is_nothing = np.concatenate([is_later, is_unused])
        return _no_weights(is_nothing)


def _no_weights(is_nothing: BoolArray) -> FloatArray:
    return np.where(is_nothing, NO_WEIGHT[Code.NEVER_WRITTEN], NO_WEIGHT[Code.MASKED])


def _plans(record: StepRecord, layers: Sequence[int]) -> Iterator[LayerPlan]:
    return (record.layers[layer].plan for layer in layers)


def image_values(
    takes: Sequence[Take], order: Order, layers: Sequence[int], heads: slice
) -> FloatArray:
    """[L, H, R, C] weights as recorded, of at least one take; `NO_WEIGHT` where there is none."""
    n_rows = sum(take.n_rows for take in takes)
    first, sample = 0, takes[0].record.layers[layers[0]].weights[heads]
    # Half precision would do for the numbers, not for their square roots.
    dtype = np.result_type(sample.dtype, np.float32)
    values = np.empty((len(layers), len(sample), n_rows, order.n_columns), dtype=dtype)
    for take in takes:
        rows, told = slice(take.first, take.stop), take.record.layers
        place = values[:, :, first : first + take.n_rows]
        place[:] = order.unread(take.record)
        columns = {id(plan): order.columns(plan) for plan in _plans(take.record, layers)}
        for i, layer in enumerate(layers):
            plan, read = told[layer].plan, told[layer].weights[heads, rows]
            mask = plan.mask[rows]
            if not mask.all():
                read = np.where(mask, read, NO_WEIGHT[Code.MASKED])
            place[i][:, :, columns[id(plan)]] = read
        first += take.n_rows
    return values


def codes_of(values: FloatArray) -> Codes:
    """Codes of what `image_values` gives, any shape."""
    codes = weight_codes(values)
    for code, value in NO_WEIGHT.items():
        codes[values == value] = code
    return codes
