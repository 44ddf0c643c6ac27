"""Which stages share a row where there is too little height for each to have one of its own."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from app.theme import Theme
from core.readouts.spread import INTEGER_STAGES, layer_of

_OWN_PX, _SHARED_PX = 10, 11
"""Least height of a row beside letters of the usual size: of one stage, or where some share one."""
_WITH_LINE = 7
"""So many rows come before the line below them."""
_ADMISSION, _POSITIONS, _MASK = (
    INTEGER_STAGES.index(s) for s in ("admission", "positions", "mask")
)


@dataclass(frozen=True)
class StageRows:
    """Rows of neighbouring stages, in their order.

    Attributes:
        stages: names of all of them.
        firsts: the first stage of each row.
        leaves_line: whether there is room for a line below the rows.
    """

    stages: tuple[str, ...]
    firsts: tuple[int, ...]
    leaves_line: bool = False

    @classmethod
    def fitting(cls, stages: Sequence[str], free_px: int, line_px: int, theme: Theme) -> Self:
        """As many rows as can be named in a height, then a line below them where it fits."""
        needed_px, shared_px = len(stages) * theme.px(_OWN_PX), theme.px(_SHARED_PX)
        if free_px >= needed_px:
            return cls(tuple(stages), tuple(range(len(stages))), free_px - line_px >= needed_px)
        leaves_line = free_px - line_px >= _WITH_LINE * shared_px
        most = (free_px - (line_px if leaves_line else 0)) // shared_px
        return cls(tuple(stages), firsts_of(len(stages), most), leaves_line)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.firsts)

    def of_row(self, row: int) -> range:
        """The stages in a row."""
        return self._ranges[row]

    @cached_property
    def _ranges(self) -> tuple[range, ...]:
        ends = (*self.firsts[1:], len(self.stages))
        return tuple(map(range, self.firsts, ends))

    def row_of(self, stage: int) -> int:
        """The row in which a stage is."""
        return sum(first <= stage for first in self.firsts) - 1

    def worst_of(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """[steps, rows] the largest code of each row, from [steps, stages]."""
        if len(self) == len(self.stages):
            return codes
        each = [codes[:, stages.start : stages.stop].max(axis=1) for stages in self._ranges]
        return np.stack(each, axis=1)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What stands beside each row."""
        return tuple(self._name(self.of_row(row)) for row in range(len(self)))

    def _name(self, shared: range) -> str:
        names = [self.stages[stage] for stage in shared]
        if len(names) == 1:
            return names[0]
        if layer_of(shared[0], len(self.stages)) is not None:
            return f"layers {_numbers(layer_of(stage, len(self.stages)) for stage in shared)}"
        return ", ".join(names) if len(names) == 2 else f"{names[0]}–{names[-1]}"


def firsts_of(n_stages: int, most: int) -> tuple[int, ...]:
    """The first stage of each of at most so many rows; never less than four.

    First layers share rows, then positions and slots, logits and contents, all before the mask.
    """
    if n_stages <= most:
        return tuple(range(n_stages))
    layers = [i for i in range(n_stages) if layer_of(i, n_stages) is not None]
    last = tuple(range(layers[-1] + 1, n_stages))
    ways = (
        (tuple(range(layers[0])), last),
        ((_ADMISSION, _POSITIONS, _MASK), last),
        ((_ADMISSION, _POSITIONS, _MASK), last[:1]),
        ((_ADMISSION, _MASK), last[:1]),
    )
    before, after = next((way for way in ways if len(way[0]) + len(way[1]) < most), ways[-1])
    n_rows = max(1, most - len(before) - len(after))
    return (*before, *layers[:: math.ceil(len(layers) / n_rows)], *after)


def _numbers(layers: Iterable[int | None]) -> str:
    known = [layer for layer in layers if layer is not None]
    return f"{known[0]}–{known[-1]}"
