"""Who may see whom in a step: the rows that the mask let through, beside the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, BoolArray, frozen, known
from core.readouts.history import computed_tokens, is_blank, slot_history, text_after
from core.readouts.mask_words import RightToSee, Speaker
from core.record import LayerRecord, StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class MaskColumn:
    """A row that the step read, in the layer looked at.

    Attributes:
        slot: where it is.
        token_index: token whose row is really there; None: none.
        claimed_token_index: token that the ledger claims; None: none.
        position_id: position id that the ledger claims; None: none.
        text: text of the token that is really there; None: none.
        is_unwritten: whether the row was never written.
    """

    slot: int
    token_index: int | None
    claimed_token_index: int | None
    position_id: int | None
    text: str | None
    is_unwritten: bool

    @property
    def is_odd(self) -> bool:
        """Whether the row is not the one that the ledger claims, or was never written."""
        return self.is_unwritten or self.token_index != self.claimed_token_index


@dataclass(frozen=True, slots=True)
class MaskQuery:
    """A token that the step computed.

    Attributes:
        token_index: which one.
        position_id: its position id.
        text: what it shows as.
        is_wrong: whether the mask hides what it should see, or shows what it should not.
    """

    token_index: int
    position_id: int
    text: str
    is_wrong: bool


@dataclass(frozen=True, slots=True, eq=False)
class MaskReadout:
    """The mask of a step in one layer. T queries, S columns.

    Attributes:
        step: the step looked at.
        layer: the layer looked at.
        layers_alike: layers with the same mask over the same rows.
        n_slots: slots of the ruler that is shared with the cache.
        columns: the rows read, in view order.
        queries: the tokens computed; empty where nothing was.
        used: [T, S] whether the mask let the query see the row.
        expected: [T, S] whether the query should see what the ledger claims for the row.
        is_judged: [T] whether `expected` says anything of the query.
        query: place in `queries` of the one looked at; None: nothing was computed.
        sees: token index of each row that it saw, in view order; None: a row without a token.
        used_row: the row of a causal triangle over the columns that the query looked at used;
            None: none of its rows.
        right_row: likewise the right one; None: none, or not judged.
        sentence: of the query looked at.
        is_pending: whether there is no verdict yet.
        selection: what is looked at.
    """

    step: int
    layer: int
    layers_alike: tuple[int, ...]
    n_slots: int
    columns: tuple[MaskColumn, ...]
    queries: tuple[MaskQuery, ...]
    used: BoolArray
    expected: BoolArray
    is_judged: BoolArray
    query: int | None
    sees: tuple[int | None, ...]
    used_row: int | None
    right_row: int | None
    sentence: str
    is_pending: bool
    selection: Selection

    @property
    def is_blind(self) -> BoolArray:
        """[T, S] a row that should be seen is hidden."""
        return self.is_judged[:, None] & self.expected & ~self.used

    @property
    def is_leak(self) -> BoolArray:
        """[T, S] a row is seen that should not be."""
        return self.is_judged[:, None] & self.used & ~self.expected


def mask_readout(view: RunView) -> MaskReadout:
    """The mask of the step that is looked at, in the layer that is looked at."""
    step, layer = view.selection.step, view.selection.layer
    record, verdict = view.records[step], view.verdicts.get(step)
    n_slots = slot_history(view.records, step).n_slots
    if not record.layers:
        return _nothing(view, n_slots)
    told = record.layers[layer]
    right = RightToSee.of(record, None if verdict is None else verdict.expected)
    columns = _columns(view, told)
    expected, is_judged = right.matrix(told.plan.view_token_index)
    used = told.plan.mask
    queries = _queries(view, record, is_judged & (used != expected).any(axis=1))
    query = _looked_at(view.selection, queries)
    seen = told.row_token[used[query]].tolist()
    is_unwritten = np.array([column.is_unwritten for column in columns], dtype=np.bool_)
    claimed = told.plan.view_token_index
    order = np.lexsort((claimed, claimed == ABSENT))  # rows without a token stand last
    return MaskReadout(
        step=step,
        layer=layer,
        layers_alike=_layers_alike(record, layer),
        n_slots=n_slots,
        columns=columns,
        queries=queries,
        used=used,
        expected=expected,
        is_judged=is_judged,
        query=query,
        sees=tuple(map(known, seen)),
        used_row=_triangle_row(used[query][order]),
        right_row=_triangle_row(expected[query][order]) if is_judged[query] else None,
        sentence=Speaker(view, told, is_unwritten, right.readable[query], query).sentence(),
        is_pending=verdict is None,
        selection=view.selection,
    )


def _nothing(view: RunView, n_slots: int) -> MaskReadout:
    none = frozen(np.zeros((0, 0), dtype=np.bool_))
    return MaskReadout(
        step=view.selection.step,
        layer=view.selection.layer,
        layers_alike=tuple(range(view.model.config.n_layers)),
        n_slots=n_slots,
        columns=(),
        queries=(),
        used=none,
        expected=none,
        is_judged=frozen(np.zeros(0, dtype=np.bool_)),
        query=None,
        sees=(),
        used_row=None,
        right_row=None,
        sentence="nothing was computed in this step, so no mask was used",
        is_pending=view.selection.step not in view.verdicts,
        selection=view.selection,
    )


def _columns(view: RunView, told: LayerRecord) -> tuple[MaskColumn, ...]:
    plan, step = told.plan, view.selection.step
    text = text_after(view.records, step)
    columns: list[MaskColumn] = []
    numbers = zip(
        plan.view_slots.tolist(),
        plan.read_rows.tolist(),
        told.row_token.tolist(),
        told.row_version.tolist(),
        plan.view_token_index.tolist(),
        plan.view_position_ids.tolist(),
        strict=True,
    )
    for slot, row, token, version, claimed, position in numbers:
        is_unwritten = token == ABSENT and is_blank(
            view.records, view.selection.layer, row, version
        )
        columns.append(
            MaskColumn(
                slot=slot,
                token_index=known(token),
                claimed_token_index=known(claimed),
                position_id=known(position),
                text=view.token_text(text[token].token_id) if token in text else None,
                is_unwritten=is_unwritten,
            )
        )
    return tuple(columns)


def _queries(view: RunView, record: StepRecord, is_wrong: BoolArray) -> tuple[MaskQuery, ...]:
    text = text_after(view.records, record.step)
    numbers = zip(
        computed_tokens(record),
        record.layers[view.selection.layer].plan.position_ids.tolist(),
        is_wrong.tolist(),
        strict=True,
    )
    return tuple(
        MaskQuery(token, position, view.token_text(text[token].token_id), wrong)
        for token, position, wrong in numbers
    )


def _looked_at(selection: Selection, queries: Sequence[MaskQuery]) -> int:
    """The selected token where it is a query of the step, else the newest."""
    for i, query in enumerate(queries):
        if query.token_index == selection.token_index:
            return i
    return len(queries) - 1


def _layers_alike(record: StepRecord, layer: int) -> tuple[int, ...]:
    told = record.layers[layer]

    def is_alike(other: LayerRecord) -> bool:
        if not np.array_equal(other.row_token, told.row_token):
            return False
        a, b = other.plan, told.plan
        return a is b or (
            np.array_equal(a.mask, b.mask) and np.array_equal(a.view_slots, b.view_slots)
        )

    return tuple(i for i, other in enumerate(record.layers) if is_alike(other))


def _triangle_row(pattern: BoolArray) -> int | None:
    """k where exactly the first k + 1 columns are true: row k of a causal triangle."""
    n = int(pattern.sum())
    return n - 1 if n and bool(pattern[:n].all()) else None
