"""Numbers of every step as an array that grows with the run, and the worst of each drawn column."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class StepArrays(Generic[T]):
    """A row of numbers a step; only steps that are new, or not the same any more, are asked."""

    def __init__(self, numbers: Callable[[T], Sequence[float]]) -> None:
        """Takes what gives the numbers of a step."""
        self._numbers = numbers
        self._steps: list[T] = []
        self._rows: NDArray[np.float64] = np.empty((0, 0))

    def of(self, steps: Sequence[T]) -> NDArray[np.float64]:
        """[steps, numbers] of these steps."""
        known = min(len(self._steps), len(steps))
        stale = [i for i in range(known) if self._steps[i] is not steps[i]]
        stale += range(known, len(steps))
        if not stale:
            return self._rows[: len(steps)]
        rows = [self._numbers(steps[i]) for i in stale]
        if len(steps) > len(self._rows) or len(rows[0]) != self._rows.shape[1]:
            grown = np.zeros((2 * len(steps), len(rows[0])))
            if len(rows[0]) == self._rows.shape[1]:
                grown[: len(self._rows)] = self._rows
            self._rows = grown
        self._rows[stale] = rows
        self._steps = list(steps)
        return self._rows[: len(steps)]


def worst(rows: NDArray[np.float64], starts: Sequence[int]) -> NDArray[np.float64]:
    """[columns, numbers] the largest of the steps of each drawn column, from their first steps."""
    return np.maximum.reduceat(rows, list(starts), axis=0)


def runs_of(is_so: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First, and one past the last, of each run of steps that are so."""
    ends = np.flatnonzero(np.diff(is_so, prepend=False, append=False)).tolist()
    yield from zip(ends[::2], ends[1::2], strict=True)
