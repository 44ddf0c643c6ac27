"""What is in each slot after a step, layer by layer, from the ledger and the rows really there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, BoolArray, frozen, known
from core.readouts.history import SlotHistory, computed_tokens, is_blank
from core.record import LiveRows, StepRecord


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


@dataclass(frozen=True, slots=True, eq=False)
class LayerRow:
    """The slots of layers in which the same is to be seen.

    Attributes:
        layers: which ones.
        state: [n_slots] a `SlotState` each.
        is_new: [n_slots] whether the row there is of a token computed in this step.
        token_index: token whose row is really there, or that the ledger let go from there in
            this step; None: none.
    """

    layers: tuple[int, ...]
    state: NDArray[np.uint8]
    is_new: BoolArray
    token_index: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Leaver:
    """The entry of a row that left in this step; a probe's row had no numbers: None."""

    token_index: int | None
    position_id: int | None
    token_id: int | None


def rows_leaving(record: StepRecord, before: StepRecord | None) -> dict[int, Leaver]:
    """Slot to the row that was counted before the step, or put there by it, and is not now."""
    were: dict[int, Leaver] = {}
    if before is not None:
        held = before.ledger
        numbers = (held.token_index, held.position_id, held.token_id)
        claims = zip(*(map(known, column.tolist()) for column in numbers), strict=True)
        leavers = (Leaver(*claim) for claim in claims)
        were = dict(zip(held.slot.tolist(), leavers, strict=True))
    if record.layers:
        ids = dict(zip(record.token_index, record.token_ids, strict=True))
        positions = record.layers[0].plan.position_ids.tolist()
        tokens = computed_tokens(record)
        for slot, token, position in zip(record.slots.tolist(), tokens, positions, strict=True):
            were[slot] = Leaver(token, position, ids.get(token))
    counted = set(record.ledger.counted_slots.tolist())
    return {slot: leaver for slot, leaver in were.items() if slot not in counted}


def layer_rows(
    records: Sequence[StepRecord], sinks: int, history: SlotHistory, leaving: dict[int, Leaver]
) -> tuple[LayerRow, ...]:
    """The layers after the last of `records`, those with equal states and tokens put together."""
    record = records[-1]
    groups: dict[tuple[bytes, bytes], tuple[list[int], LayerRow]] = {}
    made: dict[int, tuple[bytes, bytes]] = {}
    for layer, live in enumerate(record.live):
        key = made.get(id(live))
        if key is None:
            row = _layer_row(records, layer, sinks, history, leaving)
            key = (row.state.tobytes(), str(row.token_index).encode())
            groups.setdefault(key, ([], row))
            made[id(live)] = key
        groups[key][0].append(layer)
    return tuple(
        LayerRow(tuple(layers), row.state, row.is_new, row.token_index)
        for layers, row in groups.values()
    )


def _layer_row(
    records: Sequence[StepRecord],
    layer: int,
    sinks: int,
    history: SlotHistory,
    leaving: dict[int, Leaver],
) -> LayerRow:
    record, live = records[-1], records[-1].live[layer]
    state = np.full(history.n_slots, SlotState.NEVER_WRITTEN, dtype=np.uint8)
    state[history.was_used_by(record.step)] = SlotState.STALE
    state[[slot for slot in leaving if slot < history.n_slots]] = SlotState.LEFT
    claimed, found = record.ledger.claims_for(live.slot)[0], live.token_index
    now = computed_tokens(record)
    is_new = (found >= now.start) & (found < now.stop)
    kinds = np.full(len(found), SlotState.LIVE, dtype=np.uint8)
    kinds[claimed < sinks] = SlotState.SINK
    kinds[is_new] = SlotState.NEW
    kinds[found != claimed] = SlotState.FOREIGN
    for place in np.flatnonzero(found == ABSENT).tolist():
        kinds[place] = _tokenless_state(records, layer, live, place)
    state[live.slot] = kinds
    everywhere = np.zeros(history.n_slots, dtype=np.bool_)
    everywhere[live.slot] = is_new
    tokens: list[int | None] = [None] * history.n_slots
    for slot, token in zip(live.slot.tolist(), found.tolist(), strict=True):
        tokens[slot] = known(token)
    for slot, leaver in leaving.items():
        tokens[slot] = leaver.token_index
    return LayerRow((), frozen(state), frozen(everywhere), tuple(tokens))


def _tokenless_state(
    records: Sequence[StepRecord], layer: int, live: LiveRows, place: int
) -> SlotState:
    """Why a counted slot holds no token: nothing was ever written there, or a row of none."""
    ledger, slot, row = records[-1].ledger, live.slot[place], int(live.row[place])
    is_probe = slot in ledger.slot and ledger.claims_for(live.slot)[0][place] == ABSENT
    version = _version_last_read(records, layer, row)
    is_unknown = version is None and not is_probe
    if is_unknown or (version is not None and is_blank(records, layer, row, version)):
        return SlotState.UNWRITTEN
    return SlotState.NO_TOKEN if is_probe else SlotState.STRAY


def _version_last_read(records: Sequence[StepRecord], layer: int, row: int) -> int | None:
    """The version of a row when it was last read; None: it never was."""
    for record in reversed(records):
        if record.layers:
            told = record.layers[layer]
            places = np.flatnonzero(told.plan.read_rows == row)
            if places.size:
                return int(told.row_version[places[0]])
    return None
