"""Attention of a step as 8-bit images: all heads in one atlas, one head enlarged.

The newest query is the last row. Rows of earlier steps stand above it, each as it was recorded
then, so that decoding one token at a time still shows a triangle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import FloatArray, IntArray, frozen
from core.readouts.attention_image import (
    Code,
    Codes,
    Order,
    SlotOrder,
    Take,
    TokenOrder,
    codes_of,
    image_values,
    last_rows,
    takes_of,
)
from core.readouts.attention_keys import KeyLabel, KeysRead, keys_read, newest_labels
from core.readouts.history import SlotHistory, computed_tokens, slot_history, text_after
from core.record import StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

ATLAS_ROWS = 48
ENLARGED_ROWS = 128
ATLAS_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class QueryLabel:
    """A row of the image: a token that a step computed."""

    token_index: int
    text: str
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class HeadGrid:
    """One head. R queries, C columns.

    Attributes:
        keys: what the columns were, one for each step that computed some of the queries.
        step_of: [R] which of `keys` is a query's.
        columns: [C] each column as the newest step found it that read it.
        codes: [R, C] see `Code`.
        weights: [R, C] the recorded weights; 0 where the code says that nothing was read.
    """

    keys: tuple[KeysRead, ...]
    step_of: IntArray
    columns: tuple[KeyLabel, ...]
    codes: Codes
    weights: FloatArray

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
    takes = tuple(takes_of(records[: selection.step + 1], n_read, ENLARGED_ROWS))
    by_token = _grid(view, takes, TokenOrder(takes, (selection.layer,), history), text)
    return AttentionReadout(
        step=selection.step,
        layer=selection.layer,
        head=selection.head,
        is_computed=record.is_computed,
        n_now=takes[-1].n_rows if record.is_computed else 0,
        queries=tuple(label for take in takes for label in _query_labels(take, text)),
        atlas=_atlas(view, takes, history),
        by_token=by_token,
        by_slot=_grid(view, takes, SlotOrder(history), text),
        sentence=_sentence(record, takes, by_token, selection, text),
        selection=selection,
    )


def _query_labels(take: Take, text: dict[int, str]) -> Iterator[QueryLabel]:
    for token in computed_tokens(take.record)[take.first : take.stop]:
        yield QueryLabel(token, text[token], take.record.step)


def _atlas(view: RunView, takes: Sequence[Take], history: SlotHistory) -> Codes:
    config = view.model.config
    layers = range(config.n_layers)
    most = ATLAS_CELLS // (config.n_layers * config.n_heads * history.n_slots)
    shown = tuple(last_rows(takes, max(1, min(ATLAS_ROWS, most))))
    if not shown:
        return frozen(np.zeros((config.n_layers, config.n_heads, 0, 0), dtype=np.uint8))
    order = TokenOrder(shown, layers, history)
    return frozen(codes_of(image_values(shown, order, layers, slice(None))))


def _grid(view: RunView, takes: Sequence[Take], order: Order, text: dict[int, str]) -> HeadGrid:
    layer, head = view.selection.layer, view.selection.head
    if not takes:
        no_codes, no_weights = frozen(np.zeros((0, 0), np.uint8)), frozen(np.zeros((0, 0)))
        return HeadGrid((), frozen(np.zeros(0, np.int64)), (), no_codes, no_weights)
    values = image_values(takes, order, (layer,), slice(head, head + 1))[0, 0]
    keys = tuple(keys_read(view.records, takes, order, layer, text))
    return HeadGrid(
        keys=keys,
        step_of=frozen(np.repeat(np.arange(len(takes)), [take.n_rows for take in takes])),
        columns=newest_labels(keys),
        codes=frozen(codes_of(values)),
        weights=frozen(np.where(values < 0.0, 0.0, values)),
    )


def _texts(view: RunView) -> dict[int, str]:
    read = text_after(view.records, view.selection.step)
    return {token_index: view.token_text(token.token_id) for token_index, token in read.items()}


def _sentence(
    record: StepRecord,
    takes: Sequence[Take],
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
    weight, key = float(grid.weights[-1, column]), grid.key(-1, column)
    if key.token_index is None:
        what = f"slot {key.slot}, which holds no token"
    else:
        what = f"‘{key.text}’ (token {key.token_index}, slot {key.slot})"
    return f"{query} looks most at {what}: {weight:.4g}"
