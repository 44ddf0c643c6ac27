"""The cache in words: what stands at its side, and the lines of a slot's tip."""

from collections.abc import Iterator, Sequence

from app.widgets import slot_cells
from core.readouts.cache import CacheReadout
from core.readouts.slot_labels import SlotLabel
from core.readouts.slot_states import SlotState
from core.readouts.words import ranges


def facts_of(readout: CacheReadout) -> Iterator[tuple[str, bool]]:
    """Length, seen and outcome in words, each with whether it is wrong."""
    for name, value, expected in (
        ("length", readout.length, readout.expected_length),
        ("seen", readout.seen, readout.expected_seen),
    ):
        of = f" of {readout.capacity}" if name == "length" else ""
        is_wrong = expected is not None and expected != value
        right = f", should be {expected}" if is_wrong else ""
        yield f"{name} {value}{of}{right}", is_wrong
    if readout.is_outcome_wrong or readout.outcome != "accepted":
        yield readout.outcome.split(":")[0], readout.is_outcome_wrong
    if readout.is_pending:
        yield "verdict pending", False


def tip_of(label: SlotLabel, state: SlotState, off: Sequence[int], capacity: int) -> Iterator[str]:
    """A slot, line by line; `off`: layers in which its row is not the reference's."""
    yield f"slot {label.slot}" + ("" if label.row is None else f" · row {label.row}")
    if label.slot >= capacity:
        yield f"past the capacity of {capacity}"
    yield slot_cells.STATE_NAMES[state]
    if label.token_index is not None:
        yield f"token {label.token_index} ‘{label.text}’"
    if label.position_id is not None:
        yield f"position id {label.position_id}"
    if label.is_position_wrong:
        yield f"should be {label.expected_position_id}"
    if off:
        where = f"layer{'s' if len(off) > 1 else ''} {ranges(off)}"
        yield f"its row is not the one that the reference computes for the token, in {where}"
    is_foreign = label.claimed_token_index != label.token_index or label.is_position_foreign
    if is_foreign and label.claimed_token_index is not None:
        claim = f"token {label.claimed_token_index}, position id {label.claimed_position_id}"
        yield f"the ledger claims {claim}"
