"""Attention of a step as 8-bit images: all heads in one atlas, one head enlarged.

The newest query is the last row. Rows of earlier steps stand above it, each as it was recorded
then, so that decoding one token at a time still shows a triangle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, FloatArray, IntArray, frozen
from core.engine.types import LayerPlan
from core.readouts.history import SlotHistory, computed_tokens, slot_history, text_after
from core.record import LayerRecord, StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

ATLAS_ROWS = 64
ENLARGED_ROWS = 256
ATLAS_CELLS = 4_000_000
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


@dataclass(frozen=True, slots=True)
class QueryLabel:
    """A row of the image: a token that a step computed."""

    token_index: int
    text: str
    step: int


@dataclass(frozen=True, slots=True)
class KeyLabel:
    """A column of the image.

    Attributes:
        slot: the slot of that row in the newest step that read it; None: read in no step shown.
        token_index: token whose row was really there then; None: none.
        claimed_token_index: token that the ledger claimed for it; None: none.
        text: text of the token that was really there; None: none.
    """

    slot: int | None
    token_index: int | None
    claimed_token_index: int | None
    text: str | None


@dataclass(frozen=True, slots=True, eq=False)
class HeadGrid:
    """One head. R queries, C columns.

    Attributes:
        columns: [C] what each column is.
        codes: [R, C] see `Code`.
        weights: [R, C] the recorded weights; 0 where the code says that nothing was read.
    """

    columns: tuple[KeyLabel, ...]
    codes: Codes
    weights: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class AttentionReadout:
    """Attention after a step. L layers, H query heads.

    Attributes:
        step: the step looked at.
        layer: the layer enlarged.
        head: the head enlarged.
        is_computed: whether the step computed anything; if not, only earlier rows are shown.
        n_now: how many of the last rows are the step's own.
        queries: [R] the enlarged head's rows, oldest first.
        atlas: [L, H, at most R, C] codes of all heads, columns in token order; its last row is
            the newest query.
        by_token: the enlarged head, columns in the order of the tokens that the ledger claims,
            then the slots for which it claims none.
        by_slot: the enlarged head, one column per slot.
        sentence: where the newest query looks most, in words.
        selection: what is looked at.
    """

    step: int
    layer: int
    head: int
    is_computed: bool
    n_now: int
    queries: tuple[QueryLabel, ...]
    atlas: Codes
    by_token: HeadGrid
    by_slot: HeadGrid
    sentence: str
    selection: Selection


def attention_readout(view: RunView) -> AttentionReadout:
    """Attention of the step that is looked at, all heads."""
    selection, records = view.selection, view.records
    record, history = records[selection.step], slot_history(records, selection.step)
    text = _texts(view)
    n_read = max(text, default=-1) + 1
    takes = tuple(_takes(records[: selection.step + 1], n_read, ENLARGED_ROWS))
    by_token = _grid(takes, _TokenOrder(takes, (selection.layer,), history), selection, text)
    return AttentionReadout(
        step=selection.step,
        layer=selection.layer,
        head=selection.head,
        is_computed=record.is_computed,
        n_now=takes[-1].n_rows if record.is_computed else 0,
        queries=tuple(label for take in takes for label in take.labels(text)),
        atlas=_atlas(view, takes, history),
        by_token=by_token,
        by_slot=_grid(takes, _SlotOrder(history), selection, text),
        sentence=_sentence(record, takes, by_token, selection, text),
        selection=selection,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Take:
    """Queries `first` to `stop` - 1 of the T that a step computed."""

    record: StepRecord
    first: int
    stop: int

    @property
    def n_rows(self) -> int:
        return self.stop - self.first

    def labels(self, text: dict[int, str]) -> Iterator[QueryLabel]:
        for token in computed_tokens(self.record)[self.first : self.stop]:
            yield QueryLabel(token, text[token], self.record.step)


def _takes(records: Sequence[StepRecord], n_read: int, most_rows: int) -> Iterator[_Take]:
    """The newest queries of a text of `n_read` tokens, in token order."""
    takes: list[_Take] = []
    lowest, n_left = n_read, most_rows
    for record in reversed(records):
        tokens = computed_tokens(record)
        stop = min(lowest, tokens.stop) - tokens.start
        if stop > 0 and n_left > 0:
            # Of a step whose last tokens were taken back, the first ones still are the text's.
            takes.append(_Take(record, max(0, stop - n_left), stop))
            n_left -= takes[-1].n_rows
            lowest = tokens.start
        if record.phase == "new_prompt" or lowest == 0 or n_left == 0:
            break
    return reversed(takes)


def _last_rows(takes: Sequence[_Take], n: int) -> Iterator[_Take]:
    """The last `n` rows of the takes."""
    n_before = sum(take.n_rows for take in takes) - n
    for take in takes:
        n_cut = min(max(0, n_before), take.n_rows)
        n_before -= take.n_rows
        if n_cut < take.n_rows:
            yield _Take(take.record, take.first + n_cut, take.stop)


class _Order(Protocol):
    """How the rows of an image's columns are arranged."""

    @property
    def n_columns(self) -> int: ...

    def columns(self, told: LayerRecord) -> IntArray:
        """[S] column of each row that a step read in a layer."""
        ...

    def unread(self, record: StepRecord) -> Codes:
        """[n_columns] what a column is for a step that did not read it."""
        ...

    def slot(self, column: int) -> int | None:
        """The slot that a column always stands for."""
        ...


class _SlotOrder:
    """One column per slot."""

    def __init__(self, history: SlotHistory) -> None:
        self._history = history
        self.n_columns = history.n_slots

    def columns(self, told: LayerRecord) -> IntArray:
        return told.plan.view_slots

    def unread(self, record: StepRecord) -> Codes:
        was_used = self._history.was_used_by(record.step)
        return np.where(was_used, Code.MASKED, Code.NEVER_WRITTEN).astype(np.uint8)

    def slot(self, column: int) -> int | None:
        return column


class _TokenOrder:
    """One column per token that the ledger claimed in a step shown, then one per slot without."""

    def __init__(self, takes: Sequence[_Take], layers: Sequence[int], history: SlotHistory) -> None:
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
        claimed, slots = told.plan.view_token_index, told.plan.view_slots
        if not len(self._tokens):
            return self._of_slot[slots]
        return np.where(claimed == ABSENT, self._of_slot[slots], self._of_token[claimed])

    def unread(self, record: StepRecord) -> Codes:
        is_later = self._tokens > record.token_index[-1]
        is_unused = ~self._history.was_used_by(record.step)[self._slots]
        is_nothing = np.concatenate([is_later, is_unused])
        return np.where(is_nothing, Code.NEVER_WRITTEN, Code.MASKED).astype(np.uint8)

    def slot(self, column: int) -> int | None:
        return None


def _plans(record: StepRecord, layers: Sequence[int]) -> Iterator[LayerPlan]:
    return (record.layers[layer].plan for layer in layers)


def _codes(takes: Sequence[_Take], order: _Order, layer: int, heads: slice) -> Codes:
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


def _atlas(view: RunView, takes: Sequence[_Take], history: SlotHistory) -> Codes:
    config = view.model.config
    layers = range(config.n_layers)
    most = ATLAS_CELLS // (config.n_layers * config.n_heads * history.n_slots)
    shown = tuple(_last_rows(takes, max(1, min(ATLAS_ROWS, most))))
    order = _TokenOrder(shown, layers, history)
    if not shown:
        return frozen(np.empty((config.n_layers, config.n_heads, 0, 0), dtype=np.uint8))
    return frozen(np.stack([_codes(shown, order, layer, slice(None)) for layer in layers]))


def _grid(
    takes: Sequence[_Take], order: _Order, selection: Selection, text: dict[int, str]
) -> HeadGrid:
    layer, head = selection.layer, selection.head
    codes = _codes(takes, order, layer, slice(head, head + 1))
    weights = np.zeros((sum(take.n_rows for take in takes), order.n_columns))
    first = 0
    for take in takes:
        told, stop = take.record.layers[layer], first + take.n_rows
        weights[first:stop, order.columns(told)] = told.weights[head, take.first : take.stop]
        first = stop
    return HeadGrid(
        columns=tuple(_key_labels(takes, order, layer, text)),
        codes=frozen(codes[0] if len(codes) else np.empty(weights.shape, dtype=np.uint8)),
        weights=frozen(weights),
    )


def _key_labels(
    takes: Sequence[_Take], order: _Order, layer: int, text: dict[int, str]
) -> Iterator[KeyLabel]:
    """What each column was in the newest step that read it."""
    numbers = np.full((3, order.n_columns), ABSENT, dtype=np.int64)
    is_open = np.ones(order.n_columns, dtype=np.bool_)
    for take in reversed(takes):
        told = take.record.layers[layer]
        columns = order.columns(told)
        new = np.stack([told.plan.view_slots, told.row_token, told.plan.view_token_index])
        wanted = is_open[columns]
        numbers[:, columns[wanted]] = new[:, wanted]
        is_open[columns] = False
        if not is_open.any():
            break
    for column, (slot, token, claimed) in enumerate(numbers.T.tolist()):
        yield KeyLabel(
            slot=order.slot(column) if slot == ABSENT else slot,
            token_index=None if token == ABSENT else token,
            claimed_token_index=None if claimed == ABSENT else claimed,
            text=text.get(token),
        )


def _texts(view: RunView) -> dict[int, str]:
    read = text_after(view.records, view.selection.step)
    return {token_index: view.token_text(token.token_id) for token_index, token in read.items()}


def _sentence(
    record: StepRecord,
    takes: Sequence[_Take],
    grid: HeadGrid,
    selection: Selection,
    text: dict[int, str],
) -> str:
    where = f"layer {selection.layer}, head {selection.head}"
    if not record.is_computed:
        earlier = "; what is shown was computed before" if takes else ""
        return f"nothing was computed in this step{earlier}"
    token = record.token_index[-1]
    query = f"{where}: ‘{text[token]}’ (token {token})"
    if (grid.codes[-1] == Code.NAN).any():
        return f"{query} has weights that are not a number"
    column = int(grid.weights[-1].argmax())
    weight, key = float(grid.weights[-1, column]), grid.columns[column]
    if key.token_index is None:
        what = f"slot {key.slot}, which holds no token"
    else:
        what = f"‘{key.text}’ (token {key.token_index}, slot {key.slot})"
    return f"{query} looks most at {what}: {weight:.4g}"
