"""From recorded weights to 8-bit images: which rows, which columns, which codes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, FloatArray, IntArray
from core.engine.types import LayerPlan
from core.readouts.history import SlotHistory, computed_tokens
from core.record import LayerRecord, StepRecord

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


def weight_codes(weights: FloatArray) -> Codes:
    """Codes of weights that were let through, any shape."""
    clipped = np.clip(np.nan_to_num(weights, nan=0.0), 0.0, 1.0)
    codes = (np.sqrt(clipped) * _VALUE_STEPS + (Code.LOWEST + 0.5)).astype(np.uint8)
    codes[clipped == 0.0] = Code.ZERO
    codes[np.isnan(weights)] = Code.NAN
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

    def columns(self, told: LayerRecord) -> IntArray:
        """[S] column of each row that a step read in a layer."""
        ...

    def unread(self, record: StepRecord) -> Codes:
        """[n_columns] what a column is for a step that did not read it."""
        ...

    def slot(self, column: int) -> int | None:
        """The slot that a column always stands for."""
        ...


class SlotOrder:
    """One column per slot."""

    def __init__(self, history: SlotHistory) -> None:
        """The slots of a run."""
        self._history = history
        self.n_columns = history.n_slots

    def columns(self, told: LayerRecord) -> IntArray:
        """See `Order`."""
        return told.plan.view_slots

    def unread(self, record: StepRecord) -> Codes:
        """See `Order`."""
        was_used = self._history.was_used_by(record.step)
        return np.where(was_used, Code.MASKED, Code.NEVER_WRITTEN).astype(np.uint8)

    def slot(self, column: int) -> int | None:
        """See `Order`."""
        return column


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
        self._tokens, self._slots = np.flatnonzero(has_token), np.flatnonzero(is_loose)
        self._of_token = np.cumsum(has_token) - 1
        self._of_slot = np.cumsum(is_loose) - 1 + len(self._tokens)
        self.n_columns = len(self._tokens) + len(self._slots)

    def columns(self, told: LayerRecord) -> IntArray:
        """See `Order`."""
        claimed, slots = told.plan.view_token_index, told.plan.view_slots
        if not len(self._tokens):
            return self._of_slot[slots]
        return np.where(claimed == ABSENT, self._of_slot[slots], self._of_token[claimed])

    def unread(self, record: StepRecord) -> Codes:
        """See `Order`."""
        is_later = self._tokens > record.token_index[-1]
        is_unused = ~self._history.was_used_by(record.step)[self._slots]
        is_nothing = np.concatenate([is_later, is_unused])
        return np.where(is_nothing, Code.NEVER_WRITTEN, Code.MASKED).astype(np.uint8)

    def slot(self, column: int) -> int | None:
        """See `Order`."""
        return None


def _plans(record: StepRecord, layers: Sequence[int]) -> Iterator[LayerPlan]:
    return (record.layers[layer].plan for layer in layers)


def image_codes(takes: Sequence[Take], order: Order, layer: int, heads: slice) -> Codes:
    """[H, R, C] the image of some heads of a layer."""
    parts: list[Codes] = []
    for take in takes:
        told, rows = take.record.layers[layer], slice(take.first, take.stop)
        read = weight_codes(told.weights[heads, rows])
        read[:, ~told.plan.mask[rows]] = Code.MASKED
        part = np.empty((*read.shape[:2], order.n_columns), dtype=np.uint8)
        part[:] = order.unread(take.record)
        part[:, :, order.columns(told)] = read
        parts.append(part)
    n_heads = takes[0].record.layers[layer].weights[heads].shape[0] if takes else 0
    return np.concatenate([np.empty((n_heads, 0, order.n_columns), dtype=np.uint8), *parts], axis=1)
