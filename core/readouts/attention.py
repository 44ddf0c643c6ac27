"""Attention of a step as 8-bit images: all heads in one atlas, one head enlarged.

The newest query is the last row. Rows of earlier steps stand above it, each as it was recorded
then, so that decoding one token at a time still shows a triangle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, FloatArray, IntArray, frozen
from core.readouts.attention_image import Codes, Take, folded, last_rows, weight_codes
from core.readouts.attention_keys import KeyLabel, KeysRead, keys_of_take
from core.readouts.attention_lines import KeptLines, lines_of
from core.readouts.attention_orders import Order, SlotOrder, TokenOrder
from core.readouts.attention_rows import seen_weights
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
        n_rows: R.
        n_columns: C.
        keys: what the columns were, one for each step that computed some of the queries.
    """

    def __init__(
        self,
        view: RunView,
        takes: Sequence[Take],
        ends: Sequence[int],
        order: Order,
        lines: KeptLines,
        text: Mapping[int, str],
    ) -> None:
        """Takes the queries and where each take of them ends, the order of the columns, and lines.

        Lines are where codes are kept.
        """
        layer, span_of = view.selection.layer, view.history.attention_rows.span

        def keys_of(i: int) -> KeysRead:
            span = span_of(takes[i].record.layers[layer].plan)
            return keys_of_take(view.records, takes[i], order, layer, span, text)

        self.keys: Sequence[KeysRead] = Lazily(len(takes), keys_of)
        self._ends = ends
        self.n_rows = ends[-1] if ends else 0
        self.n_columns = order.n_columns if takes else 0
        self._view, self._takes, self._order, self._lines = view, takes, order, lines

    @cached_property
    def columns(self) -> Sequence[KeyLabel]:
        """[C] each column as the newest step found it that read it."""
        newest = np.full(self.n_columns, len(self._takes) - 1)
        for i, take in enumerate(self._takes):
            newest[self._columns_of(take)] = i  # the last of the takes that read a column
        # No reference to this grid itself: a circle would have to be found by the collector.
        keys = self.keys
        return Lazily(self.n_columns, lambda column: keys[int(newest[column])].label(column))

    @cached_property
    def codes(self) -> Codes:
        """[R, C] see `Code`."""
        return self.codes_of(np.arange(self.n_columns))

    def codes_of(self, columns: IntArray) -> Codes:
        """[R, n] the codes of n of the columns."""
        if not self._takes:
            return frozen(np.zeros((0, len(columns)), np.uint8))
        order, rows = self._order, self._view.history.attention_rows
        layer, head = self._view.selection.layer, self._view.selection.head

        def fill(take: Take, codes: Codes) -> None:
            codes[:] = order.unread(take)
            span = rows.span(take.record.layers[layer].plan)
            places, first = order.places_read(span), 0
            if span.has_repeats and not isinstance(places, slice):
                told, queries = take.record.layers[layer], slice(take.first, take.stop)
                seen = seen_weights(told, slice(head, head + 1), queries)[0]
                weights, firsts = folded(seen, places)
                codes[:, places[firsts]] = weight_codes(weights)
                return
            for block in rows.head(take, layer, head):
                codes[first : first + len(block), places] = block
                first += len(block)

        kind = (layer, head, order.sizes)
        lines, which = self._lines.of(self._takes, kind, (sum(order.sizes),), fill)
        return frozen(lines[which[:, None], order.places[columns]])

    @cached_property
    def weights(self) -> FloatArray:
        """[R, C] the recorded weights; 0 where the code says that nothing was read.

        Where a column's row was read more than once, all that it was given is added.
        """
        if not self._takes:
            return frozen(np.zeros((0, 0)))
        layer, head = self._view.selection.layer, self._view.selection.head
        dtype = self._takes[0].record.layers[layer].weights.dtype
        shape = (self.n_rows, self.n_columns)
        weights = np.zeros(shape, dtype=np.result_type(dtype, np.float32))
        first = 0
        for take in self._takes:
            told, rows = take.record.layers[layer], slice(take.first, take.stop)
            read = np.where(told.plan.mask[rows], told.weights[head, rows], 0.0)
            self._put(read, take, weights[first : first + take.n_rows])
            first += take.n_rows
        return frozen(weights)

    @cached_property
    def newest_weights(self) -> FloatArray:
        """[C] the last row of `weights`, of which there must be one."""
        layer, head = self._view.selection.layer, self._view.selection.head
        take = self._takes[-1]
        told, row = take.record.layers[layer], take.stop - 1
        read = np.where(told.plan.mask[row], told.weights[head, row], 0.0)
        weights = np.zeros(self.n_columns, dtype=np.result_type(read.dtype, np.float32))
        self._put(read, take, weights)
        return frozen(weights)

    def key(self, row: int, column: int) -> KeyLabel:
        """What a column was when the query of a row was computed; row -1 is the newest."""
        return self.keys[bisect_right(self._ends, row % self.n_rows)].label(column)

    def _put(self, read: FloatArray, take: Take, weights: FloatArray) -> None:
        """Write [..., S] weights into [..., C], those of one column added."""
        columns = self._columns_of(take)
        plan = take.record.layers[self._view.selection.layer].plan
        has_repeats = self._view.history.attention_rows.span(plan).has_repeats
        if has_repeats and not isinstance(columns, slice):
            read, firsts = folded(read, columns)
            columns = columns[firsts]
        weights[..., columns] = read

    def _columns_of(self, take: Take) -> slice | IntArray:
        plan = take.record.layers[self._view.selection.layer].plan
        return self._order.columns(self._view.history.attention_rows.span(plan))


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
    queries: Sequence[QueryLabel]
    atlas: Codes
    by_token: HeadGrid
    by_slot: HeadGrid
    axis: SlotAxis
    sentence: str
    selection: Selection


def attention_readout(view: RunView) -> AttentionReadout:
    """Attention of the step that is looked at, all heads."""
    selection, history = view.selection, view.history
    step, layer, rows = selection.step, selection.layer, history.attention_rows
    record, slots, text_at = view.records[step], history.slots(step), history.text(step)
    text = WordsAt(text_at, view.token_text)
    takes = rows.texts.of(view.records, step, text_at.end, ENLARGED_ROWS)
    ends = list(accumulate([take.stop - take.first for take in takes]))
    spans = rows.spans_in(takes, layer)
    by_token = HeadGrid(view, takes, ends, TokenOrder(spans, slots), rows.by_token, text)
    return AttentionReadout(
        step=step,
        layer=layer,
        head=selection.head,
        is_computed=record.is_computed,
        n_now=takes[-1].n_rows if record.is_computed else 0,
        queries=_queries(takes, ends, text),
        atlas=_atlas(view, takes, slots),
        by_token=by_token,
        by_slot=HeadGrid(view, takes, ends, SlotOrder(slots), rows.by_slot, text),
        axis=slot_axis(view, slots.n_slots),
        sentence=attention_sentence(record, by_token, selection, text),
        selection=selection,
    )


def _queries(
    takes: Sequence[Take], ends: Sequence[int], text: Mapping[int, str]
) -> Sequence[QueryLabel]:
    def label(row: int) -> QueryLabel:
        at = bisect_right(ends, row)
        take = takes[at]
        token = computed_tokens(take.record)[take.stop - (ends[at] - row)]
        return QueryLabel(token, text[token], take.record.step)

    return Lazily(ends[-1] if ends else 0, label)


def _atlas(view: RunView, takes: Sequence[Take], slots: SlotHistory) -> Codes:
    """[L, H, rows, bins] rows of all heads, of so many neighbours the highest as keep it small.

    A bin is of the same tokens or slots in each step, so that what it shows of a row stays.
    """
    config, rows = view.model.config, view.history.attention_rows
    shape = (config.n_layers, config.n_heads)
    shown = last_rows(takes, ATLAS_ROWS)
    if not shown:
        return frozen(np.zeros((*shape, 0, 0), dtype=np.uint8))
    order = TokenOrder([span for take in shown for span in rows.spans(take.record)], slots)
    n_pooled = 1
    while order.n_columns > n_pooled * max(LEAST_ATLAS_COLUMNS, ATLAS_COLUMNS // config.n_heads):
        n_pooled *= 2
    n_token_bins, n_slot_bins = (-(-size // n_pooled) for size in order.sizes)

    def fill(take: Take, codes: Codes) -> None:
        codes[:] = _pooled(order.unread(take), order.sizes[0], n_pooled)
        first = 0
        for groups in rows.all_heads(take, n_pooled):
            part = codes[first : first + len(groups[0].codes)]
            for group in groups:
                bins = np.concatenate((group.token_bins, n_token_bins + group.slot_bins))
                if len(group.layers) == config.n_layers:
                    part[..., bins] = group.codes
                else:
                    for i, layer in enumerate(group.layers):
                        part[:, layer][..., bins] = group.codes[:, i]
            first += len(part)

    line_shape = (*shape, n_token_bins + n_slot_bins)
    lines, which = rows.atlas.of(shown, (n_pooled, order.sizes), line_shape, fill)
    is_slot = order.tokens == ABSENT
    bins = np.where(is_slot, n_token_bins + order.slots // n_pooled, order.tokens // n_pooled)
    is_first = np.ones(len(bins), dtype=np.bool_)
    is_first[1:] = bins[1:] != bins[:-1]
    bins = bins[is_first]
    codes = frozen(lines_of(lines, which))
    is_run = bins[-1] - bins[0] == len(bins) - 1
    shown_bins = slice(int(bins[0]), int(bins[-1]) + 1) if is_run else bins
    return codes[..., shown_bins].transpose(1, 2, 0, 3)


def _pooled(places: Codes, n_tokens: int, n_pooled: int) -> Codes:
    """[bins] the highest of `n_pooled` places, first of tokens, then of slots."""
    tokens, slots = places[:n_tokens], places[n_tokens:]
    parts = (np.maximum.reduceat(p, np.arange(0, len(p), n_pooled)) for p in (tokens, slots))
    return np.concatenate([*parts])
