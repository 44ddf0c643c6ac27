"""The slots of a step on one ruler: their order by token, and those to keep in sight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, IntArray, frozen
from core.readouts.history import newest_query
from core.record import StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class SlotAxis:
    """What views of the same step share, so that a slot stands at one place in all of them.

    Attributes:
        by_token: [n_slots] the slots, those with a token first, in the order of the tokens.
        tokens: [n_slots] the token of each slot; ABSENT: none.
        newest: the slot of the newest query; where none was computed, of the last token held.
        chosen: the slot that is looked at, or that of the token looked at; None: none.
    """

    by_token: IntArray
    tokens: IntArray
    newest: int
    chosen: int | None

    @property
    def n_slots(self) -> int:
        """How many slots there are."""
        return len(self.by_token)


def slot_axis(view: RunView, n_slots: int) -> SlotAxis:
    """The axis of the step looked at.

    The token of a slot is the one that the ledger claimed for the step's read in the layer looked
    at; of a slot that it did not read, the one claimed after the step.
    """
    kept, key = view.history.slot_axes, (view.selection, n_slots)
    if key not in kept:
        kept.clear()  # one is looked at, at a time, by several views
        kept[key] = _slot_axis(view.records[view.selection.step], view.selection, n_slots)
    return kept[key]


def _slot_axis(record: StepRecord, selection: Selection, n_slots: int) -> SlotAxis:
    token = np.full(n_slots, ABSENT, dtype=np.int64)
    is_shown = record.ledger.slot < n_slots
    token[record.ledger.slot[is_shown]] = record.ledger.token_index[is_shown]
    if record.layers:
        plan = record.layers[selection.layer].plan
        is_shown = plan.view_slots < n_slots
        token[plan.view_slots[is_shown]] = plan.view_token_index[is_shown]
    return SlotAxis(
        by_token=frozen(np.argsort(np.where(token == ABSENT, _LAST, token), kind="stable")),
        tokens=frozen(token),
        newest=min(_newest(record), n_slots - 1),
        chosen=_chosen(token, selection.slot, selection.token_index),
    )


def _newest(record: StepRecord) -> int:
    if record.layers:
        return int(record.slots[newest_query(record)])
    held = record.ledger.slot
    return int(held[-1]) if len(held) else 0


def _chosen(token: IntArray, slot: int | None, token_index: int | None) -> int | None:
    if slot is not None:
        return slot if slot < len(token) else None
    places = np.flatnonzero(token == (ABSENT if token_index is None else token_index))
    return int(places[0]) if token_index is not None and len(places) else None
