"""Attention of a step as 8-bit images: all heads in one atlas, one head enlarged.

The newest query is the last row. Rows of earlier steps stand above it, each as it was recorded
then, so that decoding one token at a time still shows a triangle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import FloatArray, IntArray, frozen
from core.readouts.attention_image import (
    Bins,
    Codes,
    Order,
    ReadSpan,
    SlotOrder,
    Take,
    TokenOrder,
    last_rows,
    takes_of,
)
from core.readouts.attention_keys import KeyLabel, KeysRead, keys_of_take
from core.readouts.attention_words import attention_sentence
from core.readouts.history import SlotHistory, computed_tokens
from core.readouts.lazily import Lazily
from core.readouts.run_history import WordsAt
from core.readouts.slot_order import SlotAxis, slot_axis
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

ATLAS_ROWS = 48
ENLARGED_ROWS = 128
ATLAS_COLUMNS, LEAST_ATLAS_COLUMNS = 1536, 64
"""Columns that the tiles of a layer have together at most, and a single one at least."""


@dataclass(frozen=True, slots=True)
class QueryLabel:
    """A row of the image: a token that a step computed."""

    token_index: int
    text: str
    step: int


class HeadGrid:
    """One head. R queries, C columns; all of it is made when it is asked for.

    Attributes:
        keys: what the columns were, one for each step that computed some of the queries.
        step_of: [R] which of `keys` is a query's.
        columns: [C] each column as the newest step found it that read it.
    """

    def __init__(
        self, view: RunView, takes: Sequence[Take], order: Order, text: Mapping[int, str]
    ) -> None:
        """Takes the queries and the order of the columns."""
        layer = view.selection.layer
        keys = Lazily(
            len(takes), lambda i: keys_of_take(view.records, takes[i], order, layer, text)
        )
        columns = [order.columns(take.record.layers[layer].plan) for take in takes]
        newest = np.full(order.n_columns if takes else 0, len(takes) - 1)
        for i, read in enumerate(columns):
            newest[read] = i  # the last of the takes that read a column
        self.keys: Sequence[KeysRead] = keys
        # No reference to this grid itself: a circle would have to be found by the collector.
        self.columns: Sequence[KeyLabel] = Lazily(
            len(newest), lambda column: keys[int(newest[column])].label(column)
        )
        self._n_rows = [take.n_rows for take in takes]
        self.step_of: IntArray = frozen(np.repeat(np.arange(len(takes)), self._n_rows))
        self._view, self._takes, self._order, self._read = view, takes, order, columns

    @property
    def n_rows(self) -> int:
        """R."""
        return len(self.step_of)

    @cached_property
    def codes(self) -> Codes:
        """[R, C] see `Code`."""
        if not self._takes:
            return frozen(np.zeros((0, 0), np.uint8))
        layer, head = self._view.selection.layer, self._view.selection.head
        codes = np.repeat(self._order.unread(self._takes), self._n_rows, axis=0)
        rows = self._view.history.attention_rows
        first = 0
        for take, columns in zip(self._takes, self._read, strict=True):
            for block in rows.head(take, layer, head):
                codes[first : first + len(block), columns] = block
                first += len(block)
        return frozen(codes)

    @cached_property
    def weights(self) -> FloatArray:
        """[R, C] the recorded weights; 0 where the code says that nothing was read."""
        if not self._takes:
            return frozen(np.zeros((0, 0)))
        layer, head = self._view.selection.layer, self._view.selection.head
        dtype = self._takes[0].record.layers[layer].weights.dtype
        weights = np.zeros(self.codes.shape, dtype=np.result_type(dtype, np.float32))
        first = 0
        for take, columns in zip(self._takes, self._read, strict=True):
            told, rows = take.record.layers[layer], slice(take.first, take.stop)
            read = np.where(told.plan.mask[rows], told.weights[head, rows], 0.0)
            weights[first : first + take.n_rows, columns] = read
            first += take.n_rows
        return frozen(weights)

    @cached_property
    def newest_weights(self) -> FloatArray:
        """[C] the last row of `weights`, of which there must be one."""
        layer, head = self._view.selection.layer, self._view.selection.head
        take, columns = self._takes[-1], self._read[-1]
        told, row = take.record.layers[layer], take.stop - 1
        read = np.where(told.plan.mask[row], told.weights[head, row], 0.0)
        weights = np.zeros(self._order.n_columns, dtype=np.result_type(read.dtype, np.float32))
        weights[columns] = read
        return frozen(weights)

    def key(self, row: int, column: int) -> KeyLabel:
        """What a column was when the query of a row was computed."""
        return self.keys[int(self.step_of[row])].label(column)


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
        atlas: [L, H, at most R, at most C] codes of all heads, columns in token order, of
            neighbours the highest where there are many; its last row is the newest query.
        by_token: the enlarged head, columns in the order of the tokens that the ledger claims,
            then the slots for which it claims none.
        by_slot: the enlarged head, one column per slot.
        axis: where the slots stand.
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
    axis: SlotAxis
    sentence: str
    selection: Selection


def attention_readout(view: RunView) -> AttentionReadout:
    """Attention of the step that is looked at, all heads."""
    selection, records = view.selection, view.records
    record, slots = records[selection.step], view.history.slots(selection.step)
    text_at = view.history.text(selection.step)
    text = WordsAt(text_at, view.token_text)
    takes = tuple(takes_of(records, selection.step, text_at.end, ENLARGED_ROWS))
    spans = _spans(view, takes, (selection.layer,))
    by_token = HeadGrid(view, takes, TokenOrder(spans, slots), text)
    by_slot = HeadGrid(view, takes, SlotOrder(spans, slots), text)
    return AttentionReadout(
        step=selection.step,
        layer=selection.layer,
        head=selection.head,
        is_computed=record.is_computed,
        n_now=takes[-1].n_rows if record.is_computed else 0,
        queries=tuple(label for take in takes for label in _query_labels(take, text)),
        atlas=_atlas(view, takes, slots),
        by_token=by_token,
        by_slot=by_slot,
        axis=slot_axis(view, slots.n_slots),
        sentence=attention_sentence(record, by_token, selection, text),
        selection=selection,
    )


def _query_labels(take: Take, text: Mapping[int, str]) -> Iterator[QueryLabel]:
    for token in computed_tokens(take.record)[take.first : take.stop]:
        yield QueryLabel(token, text[token], take.record.step)


def _spans(view: RunView, takes: Sequence[Take], layers: Sequence[int]) -> dict[int, ReadSpan]:
    """What is read by each plan of the takes in the layers, by the plan's identity."""
    span_of, spans = view.history.attention_rows.span, dict[int, ReadSpan]()
    for take in takes:
        told = take.record.layers
        for layer in layers:
            plan = told[layer].plan
            if id(plan) not in spans:
                spans[id(plan)] = span_of(plan)
    return spans


def _atlas(view: RunView, takes: Sequence[Take], slots: SlotHistory) -> Codes:
    """Rows of all heads, of so many neighbouring columns the highest code as keep it small."""
    config = view.model.config
    layers, n_heads = range(config.n_layers), config.n_heads
    shown = tuple(last_rows(takes, ATLAS_ROWS))
    if not shown:
        return frozen(np.zeros((config.n_layers, n_heads, 0, 0), dtype=np.uint8))
    order = TokenOrder(_spans(view, shown, layers), slots)
    n_pooled = 1
    while order.n_columns > n_pooled * max(LEAST_ATLAS_COLUMNS, ATLAS_COLUMNS // n_heads):
        n_pooled *= 2
    bins = Bins(order, n_pooled)
    base = np.repeat(bins.pooled(order.unread(shown)), [take.n_rows for take in shown], axis=0)
    # Rows first, so that each is written in one go.
    codes = np.empty((len(base), config.n_layers, n_heads, bins.n_columns), dtype=np.uint8)
    codes[:] = base[:, None, None]
    first = 0
    for take in shown:
        for groups in view.history.attention_rows.all_heads(take, n_pooled):
            n_rows = len(groups[0].codes)
            for group in groups:
                columns = bins.columns(group.token_bins, group.slot_bins)
                place = codes[first : first + n_rows]
                if len(group.layers) == config.n_layers:
                    place[..., columns] = group.codes
                else:
                    for i, layer in enumerate(group.layers):
                        place[:, layer][..., columns] = group.codes[:, i]
            first += n_rows
    return frozen(codes).transpose(1, 2, 0, 3)
