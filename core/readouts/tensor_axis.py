"""What the rows and columns of a tensor stand for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.arrays import IntArray, known
from core.selection import Selection

AxisName = Literal["token", "slot", "dim", "id"]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """What rows or columns stand for.

    Attributes:
        name: tokens, slots, dimensions, or ids of the vocabulary.
        n: how many.
        token_index: [n] token of each; ABSENT: none. None: they stand for no tokens.
        slot: [n] slot of each. None: they stand for no slots.
        text: letters of an entry beside its number; empty: none.
    """

    name: AxisName
    n: int
    token_index: IntArray | None
    slot: IntArray | None
    text: Callable[[int], str]

    def number(self, place: int) -> int:
        """The number that stands beside an entry: its slot, else its token, else its place."""
        numbers = self.token_index if self.slot is None else self.slot
        return place if numbers is None else int(numbers[place])

    def mark(self, place: int) -> str:
        """What stands beside an entry where there is little room: a number, or that it pads."""
        number = self.number(place)
        return "pad" if number < 0 else str(number)

    def label(self, place: int) -> str:
        """An entry in words."""
        if self.slot is not None:
            token = None if self.token_index is None else known(int(self.token_index[place]))
            held = "no token" if token is None else f"token {token}"
            return f"slot {self.number(place)}: {held}{self._letters(place)}"
        return f"{self.name} {self.number(place)}{self._letters(place)}"

    def choose(self, selection: Selection, place: int) -> dict[str, int | None]:
        """The parts of a selection that an entry stands for."""
        if self.token_index is None:
            return {}
        chosen: dict[str, int | None] = {"token_index": known(int(self.token_index[place]))}
        if self.slot is not None:
            chosen["slot"] = int(self.slot[place])
        return chosen

    def places_of(self, selection: Selection) -> tuple[int, ...]:
        """Entries that stand for what is selected: its slot, else its token."""
        if self.slot is not None and selection.slot is not None:
            return tuple(np.flatnonzero(self.slot == selection.slot).tolist())
        if self.token_index is not None and selection.token_index is not None:
            return tuple(np.flatnonzero(self.token_index == selection.token_index).tolist())
        return ()

    def _letters(self, place: int) -> str:
        text = self.text(place)
        return f" ‘{text}’" if text else ""
