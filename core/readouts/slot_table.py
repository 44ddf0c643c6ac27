"""What a layer found in each slot in each step, so that a slot can be followed without a walk."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.record import StepRecord

NOT_READ = -2


class SlotTable:
    """Grows with the records; each is looked at once. Slots are those of one sequence."""

    def __init__(self, records: Sequence[StepRecord], layer: int, which: int = 0) -> None:
        """Takes the records of all; more may be appended to them, none may change.

        A step of another sequence than `which` reads, writes and lets go of nothing here.
        """
        self._records = records
        self._which = which
        self._layer = layer
        self._n = 0
        self._found: NDArray[np.int32] = np.empty((0, 0), dtype=np.int32)
        self._is_held: NDArray[np.bool_] = np.empty((0, 0), dtype=np.bool_)
        self._writes: dict[int, list[tuple[int, int]]] = {}
        self._probes: list[int] = []
        self._reorders: list[int] = []

    def found(self, slot: int) -> NDArray[np.int32]:
        """[steps] token whose row a step read in the slot; ABSENT: of none; or NOT_READ."""
        self._catch_up()
        if slot >= self._found.shape[1]:
            return np.full(self._n, NOT_READ, dtype=np.int32)
        return self._found[: self._n, slot]

    def is_held(self, slot: int) -> NDArray[np.bool_]:
        """[steps] whether the ledger had an entry for the slot after a step."""
        self._catch_up()
        if slot >= self._is_held.shape[1]:
            return np.zeros(self._n, dtype=np.bool_)
        return self._is_held[: self._n, slot]

    def writes(self, slot: int) -> Sequence[tuple[int, int]]:
        """(step, place among the tokens computed) of each row that was written there."""
        self._catch_up()
        return self._writes.get(slot, ())

    @property
    def reorders(self) -> Sequence[int]:
        """Steps in which another sequence's rows were put in place of all that were held."""
        self._catch_up()
        return self._reorders

    @property
    def probes(self) -> Sequence[int]:
        """Steps that were probes."""
        self._catch_up()
        return self._probes

    def _catch_up(self) -> None:
        for step in range(self._n, len(self._records)):
            self._take(self._records[step], step)
            self._n = step + 1

    def _take(self, record: StepRecord, step: int) -> None:
        if record.parents and record.parents[self._which] != self._which:
            self._reorders.append(step)
        if record.request != self._which:
            self._make_room(step, 0)
            self._is_held[step] = self._is_held[step - 1] if step else False
            return
        held = record.ledger.slot
        n_slots = 1 + int(held.max(initial=-1))
        if record.layers:
            told = record.layers[self._layer]
            n_slots = max(n_slots, 1 + int(told.plan.view_slots.max(initial=-1)))
            self._make_room(step, n_slots)
            self._found[step, told.plan.view_slots[::-1]] = told.row_token[::-1]
            for place, slot in enumerate(record.slots.tolist()):
                self._writes.setdefault(slot, []).append((step, place))
        else:
            self._make_room(step, n_slots)
            if record.phase == "probe":
                self._probes.append(step)
        self._is_held[step, held] = True

    def _make_room(self, step: int, n_slots: int) -> None:
        n_steps, n_known = self._found.shape
        if step < n_steps and n_slots <= n_known:
            return
        shape = (2 * step + 16 if step >= n_steps else n_steps, max(n_slots, n_known))
        found, is_held = np.full(shape, NOT_READ, dtype=np.int32), np.zeros(shape, dtype=np.bool_)
        found[:n_steps, :n_known] = self._found
        is_held[:n_steps, :n_known] = self._is_held
        self._found, self._is_held = found, is_held
