"""What the cache holds after a step: slots × layers, and what should be there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT
from core.compare import record_before
from core.policy_oracle import Expected
from core.readouts.cache_words import CacheWords
from core.readouts.slot_labels import SlotLabels, slot_labels
from core.readouts.slot_order import SlotAxis, slot_axis
from core.readouts.slot_states import LayerRow, layer_rows, rows_leaving
from core.readouts.words import compared_outcome
from core.record import StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class CacheReadout:
    """The cache after a step.

    Attributes:
        step: the step looked at.
        capacity: slots that the policy grants.
        n_slots: slots shown; above the capacity where a step used or counted more.
        n_layers: layers of the model.
        rows: one per group of layers in which the same is to be seen, by their first layer.
        labels: one per slot.
        axis: where the slots stand.
        has_equal_numbers: whether token index and position id are equal in every slot.
        length: what the cache tells the outside.
        expected_length: None: not judged yet.
        seen: tokens read.
        expected_seen: None: not judged yet.
        outcome: how the step ended, in words, and how it should have.
        is_outcome_wrong: whether it should have ended otherwise.
        missing: tokens that should be held and are not in the layer looked at.
        left: tokens that were held before the step and are not after it.
        sentence: what is to be seen, in words.
        is_pending: whether there is no verdict yet.
        selection: what is looked at.
    """

    step: int
    capacity: int
    n_slots: int
    n_layers: int
    rows: tuple[LayerRow, ...]
    labels: SlotLabels
    axis: SlotAxis
    has_equal_numbers: bool
    length: int
    expected_length: int | None
    seen: int
    expected_seen: int | None
    outcome: str
    is_outcome_wrong: bool
    missing: tuple[int, ...]
    left: tuple[int, ...]
    sentence: str
    is_pending: bool
    selection: Selection


def cache_readout(view: RunView) -> CacheReadout:
    """The cache after the step that is looked at."""
    step = view.selection.step
    record, before = view.records[step], record_before(view.records, step)
    verdict = view.verdicts.get(step)
    expected = None if verdict is None else verdict.expected
    slots, leaving = view.history.slots(step), rows_leaving(record, before)
    rows = layer_rows(view, slots, leaving)
    shown = next(row for row in rows if view.selection.layer in row.layers)
    labels = slot_labels(view, shown, leaving, expected)
    missing, left = _missing(labels, expected), _left(record, before)
    capacity = record.ledger.capacity
    right_outcome = None if expected is None else expected.outcome
    return CacheReadout(
        step=step,
        capacity=capacity,
        n_slots=slots.n_slots,
        n_layers=view.model.config.n_layers,
        rows=rows,
        labels=labels,
        axis=slot_axis(view, slots.n_slots),
        has_equal_numbers=labels.has_equal_numbers,
        length=record.reported_length,
        expected_length=None if expected is None else expected.length,
        seen=record.ledger.seen,
        expected_seen=None if expected is None else expected.seen,
        outcome=compared_outcome(record, right_outcome),
        is_outcome_wrong=right_outcome not in (None, record.outcome),
        missing=missing,
        left=left,
        sentence=CacheWords(record, before, expected, missing, left).sentence(labels, shown, rows),
        is_pending=expected is None,
        selection=view.selection,
    )


def _missing(labels: SlotLabels, expected: Expected | None) -> tuple[int, ...]:
    """Tokens that should be held and are not."""
    return () if expected is None else tuple(labels.lacking.tolist())


def _left(record: StepRecord, before: StepRecord | None) -> tuple[int, ...]:
    """Tokens that the ledger held before the step and does not hold after it."""
    if before is None:
        return ()
    were, now = before.ledger.token_index, record.ledger.token_index
    size = 2 + int(max(were.max(initial=ABSENT), now.max(initial=ABSENT)))
    stays = np.zeros(size, dtype=np.bool_)  # its last place is that of no token
    stays[now] = stays[ABSENT] = True
    return tuple(were[~stays[were]].tolist())
