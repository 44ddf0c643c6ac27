"""The ordered list of all faults, and the named combinations."""

from core.errors import FaultError
from core.faults import (
    cap_counter_first,
    cap_early,
    mask_top_left,
    mask_unwritten,
    pos_restart,
    store_alias_in,
    store_row_zero,
    store_uneven,
)
from core.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (
    pos_restart.FAULT,
    mask_top_left.FAULT,
    mask_unwritten.FAULT,
    cap_early.FAULT,
    cap_counter_first.FAULT,
    store_row_zero.FAULT,
    store_alias_in.FAULT,
    store_uneven.FAULT,
)

COMBINATIONS: dict[str, tuple[str, ...]] = {
    "both-bugs": ("pos-restart", "mask-top-left"),
    "interview-class": ("cap-early", "cap-counter-first", "mask-unwritten"),
}


def find_faults(name: str) -> tuple[Fault, ...]:
    """The fault with this id, or the faults of the combination of this name.

    Raises:
        FaultError: there is none; the message names all.
    """
    by_id = {fault.id: fault for fault in FAULTS}
    members = COMBINATIONS.get(name, (name,))
    if any(member not in by_id for member in members):
        known = ", ".join([*by_id, *COMBINATIONS])
        raise FaultError(f"fault {name!r} is not known; there are {known}")
    return tuple(by_id[member] for member in members)
