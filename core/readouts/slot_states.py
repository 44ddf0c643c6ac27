"""What is in each slot after a step, layer by layer, from the ledger and the rows really there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, BoolArray, IntArray, distinct, frozen, known
from core.blank_rows import is_blank
from core.readouts.history import SlotHistory, computed_tokens
from core.record import LayerRecord, StepRecord

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


class SlotState(IntEnum):
    """What is in a slot. Where several slots share a pixel, the highest number is shown."""

    NEVER_WRITTEN = 0
    LIVE = 1
    SINK = 2
    NO_TOKEN = 3
    """Counted, written, but with a row of no token (a probe's)."""
    STALE = 4
    """Used before this step, not counted any more."""
    LEFT = 5
    """Counted before this step or used by it, not counted after it."""
    NEW = 6
    """Live, and its token was computed in this step."""
    FOREIGN = 7
    """Holds the row of another token than the ledger claims."""
    STRAY = 8
    """Counted, but holds a row that stands for nothing in the text."""
    UNWRITTEN = 9
    """Counted, but its row was never written."""
    NAN = 10
    """Counted, but its row holds something that is no number."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerRow:
    """The slots of layers in which the same is to be seen.

    Attributes:
        layers: which ones.
        state: [n_slots] a `SlotState` each.
        is_new: [n_slots] whether the row there is of a token computed in this step.
        token_index: [n_slots] token whose row is really there, or that the ledger let go from
            there in this step; ABSENT: none.
        is_off: [n of `layers`, n_slots] whether a counted slot holds, in that layer, another row
            than the reference computes for the token that is there.
    """

    layers: tuple[int, ...]
    state: NDArray[np.uint8]
    is_new: BoolArray
    token_index: IntArray
    is_off: BoolArray

    @property
    def is_off_anywhere(self) -> BoolArray:
        """[n_slots] whether that is so in any of the layers."""
        return np.logical_or.reduce(self.is_off, axis=0)


@dataclass(frozen=True, slots=True)
class Leaver:
    """The entry of a row that left in this step; a probe's row had no numbers: None."""

    token_index: int | None
    position_id: int | None
    token_id: int | None


def rows_leaving(record: StepRecord, before: StepRecord | None) -> dict[int, Leaver]:
    """Slot to the row that was counted before the step, or put there by it, and is not now."""
    leavers: dict[int, Leaver] = {}
    counted = record.ledger.counted_slots
    if before is not None:
        held = before.ledger
        gone = _not_in(held.slot, counted)
        numbers = (held.slot, held.token_index, held.position_id, held.token_id)
        for slot, *claims in zip(*(column[gone].tolist() for column in numbers), strict=True):
            leavers[slot] = Leaver(*map(known, claims))
    if record.layers:
        ids = dict(zip(record.token_index, record.token_ids, strict=True))
        positions, tokens = record.layers[0].plan.position_ids, computed_tokens(record)
        places: list[int] = _not_in(record.slots, counted).tolist()
        for place in places:
            token = tokens[place]
            leaver = Leaver(token, int(positions[place]), ids.get(token))
            leavers[int(record.slots[place])] = leaver
    return leavers


def _not_in(slots: IntArray, counted: IntArray) -> IntArray:
    """Places of the slots that are not counted."""
    size = 1 + int(max(slots.max(initial=-1), counted.max(initial=-1)))
    is_counted = np.zeros(size, dtype=np.bool_)
    is_counted[counted] = True
    return np.flatnonzero(~is_counted[slots])


def layer_rows(
    view: RunView, slots: SlotHistory, leaving: dict[int, Leaver]
) -> tuple[LayerRow, ...]:
    """The layers after the step, those with equal states and tokens put together."""
    record = view.records[view.selection.step]
    groups: dict[tuple[bytes, bytes], tuple[list[int], LayerRow]] = {}
    made: dict[int, tuple[bytes, bytes]] = {}
    for layer, live in enumerate(record.live):
        key = made.get(id(live))
        if key is None or (record.layers and _meets_nan(record.layers[layer])):
            row = _layer_row(view, layer, slots, leaving)
            key = (row.state.tobytes(), row.token_index.tobytes())
            groups.setdefault(key, ([], row))
            made[id(live)] = key
        groups[key][0].append(layer)
    return tuple(
        LayerRow(tuple(layers), row.state, row.is_new, row.token_index, _off(view, layers, slots))
        for layers, row in groups.values()
    )


def _layer_row(
    view: RunView, layer: int, slots: SlotHistory, leaving: dict[int, Leaver]
) -> LayerRow:
    record = view.records[view.selection.step]
    live, n_slots = record.live[layer], slots.n_slots
    state = np.full(n_slots, SlotState.NEVER_WRITTEN, dtype=np.uint8)
    state[slots.was_used_by(record.step)] = SlotState.STALE
    state[[slot for slot in leaving if slot < n_slots]] = SlotState.LEFT
    claimed, found = record.ledger.claims_for(live.slot)[0], live.token_index
    now = computed_tokens(record)
    is_new = (found >= now.start) & (found < now.stop)
    kinds = np.full(len(found), SlotState.LIVE, dtype=np.uint8)
    kinds[claimed < view.spec.sinks] = SlotState.SINK
    kinds[is_new] = SlotState.NEW
    kinds[found != claimed] = SlotState.FOREIGN
    for place in np.flatnonzero(found == ABSENT).tolist():
        is_claimed = int(claimed[place]) != ABSENT
        kinds[place] = _tokenless_state(view, layer, place, is_claimed=is_claimed)
    kinds[_is_nan(view, layer)[live.row]] = SlotState.NAN
    state[live.slot] = kinds
    everywhere = np.zeros(n_slots, dtype=np.bool_)
    everywhere[live.slot] = is_new
    tokens = np.full(n_slots, ABSENT)
    tokens[live.slot] = found
    for slot, leaver in leaving.items():
        tokens[slot] = ABSENT if leaver.token_index is None else leaver.token_index
    none = np.zeros((0, n_slots), dtype=np.bool_)
    return LayerRow((), frozen(state), frozen(everywhere), frozen(tokens), none)


def _off(view: RunView, layers: Sequence[int], slots: SlotHistory) -> BoolArray:
    """[n of `layers`, n_slots] see `LayerRow.is_off`; none where there is no verdict yet."""
    is_off = np.zeros((len(layers), slots.n_slots), dtype=np.bool_)
    record, verdict = view.records[view.selection.step], view.verdicts.get(view.selection.step)
    if verdict is None or not verdict.off_rows:
        return is_off
    for place, layer in enumerate(layers):
        live = record.live[layer]
        for first, end in verdict.off_rows[layer]:
            is_off[place, live.slot[(live.row >= first) & (live.row < end)]] = True
    return frozen(is_off)


def _is_nan(view: RunView, layer: int) -> BoolArray:
    """By physical row, and at the end for none: whether what was read there is no number.

    Asked only where the newest token's own row, or what it read, is no number.
    """
    record = view.records[view.selection.step]
    n_rows = int(record.live[layer].row.max(initial=-1)) + 1
    is_nan = np.zeros(n_rows + 1, dtype=np.bool_)
    told = record.layers[layer] if record.layers else None
    if told is None or not _meets_nan(told):
        return is_nan
    for version in distinct(told.row_version[told.row_version != ABSENT]):
        first = view.records[version].layers[layer].first_read
        rows = first.row[np.isnan(first.kv).any(axis=(0, 1, 3))]
        now = told.plan.read_rows[told.row_version == version]
        rows = rows[np.isin(rows, now) & (rows < n_rows)]
        is_nan[rows] = True
    return is_nan


def _meets_nan(told: LayerRecord) -> bool:
    # The least of several numbers is none if any of them is none.
    return bool(np.isnan(told.output[-1].min()) or np.isnan(told.new_values[:, -1].min()))


def _tokenless_state(view: RunView, layer: int, place: int, *, is_claimed: bool) -> SlotState:
    """Why a counted slot holds no token: nothing was ever written there, or a row of none."""
    step = view.selection.step
    ledger, live = view.records[step].ledger, view.records[step].live[layer]
    slot, row = live.slot[place], int(live.row[place])
    if row == ABSENT:  # outside the buffer: what was to go there is lost
        return SlotState.UNWRITTEN
    is_probe = not is_claimed and slot in ledger.slot
    version = view.history.rows_read.version(step, layer, row)
    is_unknown = version is None and not is_probe
    if is_unknown or (version is not None and is_blank(view.records, layer, row, version)):
        return SlotState.UNWRITTEN
    return SlotState.NO_TOKEN if is_probe else SlotState.STRAY
