"""Who may see whom in a step: the rows that the mask let through, beside the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, BoolArray, IntArray, frozen, known
from core.blank_rows import rows_unwritten
from core.readouts.history import computed_tokens, newest_query
from core.readouts.lazily import Lazily
from core.readouts.mask_repeats import columns_of_slots, expected_once, repeats
from core.readouts.mask_words import RightToSee, Speaker
from core.readouts.run_history import TextAt, WordsAt
from core.readouts.slot_order import SlotAxis, slot_axis
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
        is_wrong: whether the mask hides what it should see, or shows what it should not, or
            something that it should see is not among the rows.
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
        axis: where the slots stand.
        columns: the rows read, in view order.
        slots: [S] the slot of each column.
        tokens: [S] token whose row is really there; ABSENT: none.
        is_odd: [S] as `MaskColumn` says it.
        queries: the tokens computed; empty where nothing was.
        used: [T, S] whether the mask let the query see the row.
        expected: [T, S] whether the query should see what the ledger claims for the row; of rows
            that stand for one token only one.
        is_judged: [T] whether `expected` says anything of the query.
        query: place in `queries` of the one looked at; None: nothing was computed.
        used_row: the row of a causal triangle over the columns that the query looked at used;
            None: none of its rows, or the columns are not each of another token.
        right_row: likewise the right one; None: none, or not judged.
        sentence: of the query looked at.
        is_pending: whether there is no verdict yet.
        selection: what is looked at.
    """

    step: int
    layer: int
    layers_alike: tuple[int, ...]
    n_slots: int
    axis: SlotAxis
    columns: Sequence[MaskColumn]
    slots: IntArray
    tokens: IntArray
    is_odd: BoolArray
    queries: tuple[MaskQuery, ...]
    used: BoolArray
    expected: BoolArray
    is_judged: BoolArray
    query: int | None
    used_row: int | None
    right_row: int | None
    sentence: str
    is_pending: bool
    selection: Selection

    @property
    def places(self) -> list[IntArray]:
        """[n_slots] each: the first column of every slot, then the second, ...; ABSENT: none."""
        return columns_of_slots(self.slots, self.n_slots)

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
    n_slots = view.history.slots(step).n_slots
    if not record.layers:
        return _nothing(view, n_slots)
    told = record.layers[layer]
    right = RightToSee.of(record, None if verdict is None else verdict.expected)
    text = view.history.text(step)
    is_unwritten = rows_unwritten(view.records, layer, told)
    columns = _columns(view, told, is_unwritten, text)
    expected, is_judged = right.matrix(told.plan.view_token_index)
    used, alike = told.plan.mask, repeats(told.plan.view_token_index)
    if alike:
        expected = expected_once(expected, used, alike)
    is_off = (used != expected).any(axis=1) | right.is_not_read(told.plan.view_token_index)
    queries = _queries(view, record, is_judged & is_off, text)
    query = _looked_at(view.selection, queries, newest_query(record))
    claimed = told.plan.view_token_index
    order = _by_token(claimed)
    used_row = None if alike else _triangle_row(used[query][order])
    is_row_right = is_judged[query] and not alike
    right_row = _triangle_row(expected[query][order]) if is_row_right else None
    speaker = Speaker(view, told, is_unwritten, right.readable[query], query)
    return MaskReadout(
        step=step,
        layer=layer,
        layers_alike=_layers_alike(record, layer),
        n_slots=n_slots,
        axis=slot_axis(view, n_slots),
        columns=columns,
        slots=told.plan.view_slots,
        tokens=told.row_token,
        is_odd=is_unwritten | (told.row_token != claimed),
        queries=queries,
        used=used,
        expected=expected,
        is_judged=is_judged,
        query=query,
        used_row=used_row,
        right_row=right_row,
        sentence=speaker.sentence(used_row, right_row, _others_wrong(queries, query)),
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
        axis=slot_axis(view, n_slots),
        columns=(),
        slots=frozen(np.zeros(0, dtype=np.int64)),
        tokens=frozen(np.zeros(0, dtype=np.int64)),
        is_odd=frozen(np.zeros(0, dtype=np.bool_)),
        queries=(),
        used=none,
        expected=none,
        is_judged=frozen(np.zeros(0, dtype=np.bool_)),
        query=None,
        used_row=None,
        right_row=None,
        sentence="nothing was computed in this step, so no mask was used",
        is_pending=view.selection.step not in view.verdicts,
        selection=view.selection,
    )


def _columns(
    view: RunView, told: LayerRecord, is_unwritten: BoolArray, text: TextAt
) -> Sequence[MaskColumn]:
    plan = told.plan

    def column(place: int) -> MaskColumn:
        token = int(told.row_token[place])
        read = text.get(token)
        return MaskColumn(
            slot=int(plan.view_slots[place]),
            token_index=known(token),
            claimed_token_index=known(int(plan.view_token_index[place])),
            position_id=known(int(plan.view_position_ids[place])),
            text=None if read is None else view.token_text(read.token_id),
            is_unwritten=bool(is_unwritten[place]),
        )

    return Lazily(len(plan.view_slots), column)


def _queries(
    view: RunView, record: StepRecord, is_wrong: BoolArray, text: TextAt
) -> tuple[MaskQuery, ...]:
    numbers = zip(
        computed_tokens(record),
        record.layers[view.selection.layer].plan.position_ids.tolist(),
        is_wrong.tolist(),
        strict=True,
    )
    words = WordsAt(text, view.token_text)
    return tuple(
        MaskQuery(token, position, words[token], wrong) for token, position, wrong in numbers
    )


def _others_wrong(queries: Sequence[MaskQuery], query: int) -> tuple[int, ...]:
    """Tokens for which the mask is wrong, where it is right for the one looked at."""
    if queries[query].is_wrong:
        return ()
    return tuple(asked.token_index for asked in queries if asked.is_wrong)


def _looked_at(selection: Selection, queries: Sequence[MaskQuery], newest: int) -> int:
    """The selected token where it is a query of the step, else the newest that is kept."""
    for i, query in enumerate(queries):
        if query.token_index == selection.token_index:
            return i
    return newest


def _layers_alike(record: StepRecord, layer: int) -> tuple[int, ...]:
    told = record.layers[layer]

    def is_alike(other: LayerRecord) -> bool:
        if not _are_equal(other.row_token, told.row_token):
            return False
        a, b = other.plan, told.plan
        return a is b or (_are_equal(a.mask, b.mask) and _are_equal(a.view_slots, b.view_slots))

    return tuple(i for i, other in enumerate(record.layers) if is_alike(other))


def _are_equal(some: np.ndarray, others: np.ndarray) -> bool:
    return some is others or np.array_equal(some, others)  # layers share what is the same


def _by_token(claimed: IntArray) -> slice | IntArray:
    """Arranges columns by token, those without one last; often they are so already."""
    if claimed[:1] != ABSENT and bool((claimed[1:] > claimed[:-1]).all()):
        return slice(None)
    return np.lexsort((claimed, claimed == ABSENT))


def _triangle_row(pattern: BoolArray) -> int | None:
    """k where exactly the first k + 1 columns are true: row k of a causal triangle."""
    n = int(pattern.sum())
    return n - 1 if n and bool(pattern[:n].all()) else None
