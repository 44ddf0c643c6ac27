"""Lines of an attention image that are put together once, and taken from there ever after."""

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from core.arrays import IntArray
from core.readouts.attention_image import Codes, Take

Fill = Callable[[Take, Codes], None]


class KeptLines:
    """Lines of one kind; another kind takes the place of all.

    A line is of one query of one step, and the same whichever step is looked at: what was recorded
    never changes.
    """

    def __init__(self, most_bytes: int) -> None:
        """Takes how much room there is; lines asked for together are kept in any case."""
        self._most_bytes = most_bytes
        self._kind: Hashable = None
        self._line_of: dict[tuple[int, int], int] = {}
        self._codes: Codes = np.empty((0, 0), dtype=np.uint8)

    def of(
        self, takes: Sequence[Take], kind: Hashable, shape: tuple[int, ...], fill: Fill
    ) -> tuple[Codes, IntArray]:
        """All lines that are kept, and [R] which of them the queries of the takes are.

        Others may be added to them; those that are there stay as they are.

        Args:
            takes: R queries.
            kind: what decides how the line of a query looks, its shape included.
            shape: of a line.
            fill: writes the lines of a take's queries into [rows, *shape].
        """
        keys = _keys(takes)
        if self._kind != kind or len(self._codes) < len(keys):
            n_lines = max(self._most_bytes // max(1, math.prod(shape)), len(keys))
            self._codes = np.empty((n_lines, *shape), dtype=np.uint8)
            self._line_of, self._kind = {}, kind
        lines = list(map(self._line_of.get, keys))
        n_new = lines.count(None)
        if n_new:
            if len(self._line_of) + n_new > len(self._codes):
                self._codes, self._line_of = np.empty_like(self._codes), {}
            self._add(takes, fill)
            lines = list(map(self._line_of.get, keys))
        return self._codes, np.array(lines, dtype=np.int64)

    def _add(self, takes: Sequence[Take], fill: Fill) -> None:
        """Make the lines that are not there yet, those of neighbouring queries at once."""
        for take in takes:
            step, first = take.record.step, take.first
            while first < take.stop:
                stop = first
                while stop < take.stop and (step, stop) not in self._line_of:
                    stop += 1
                if stop > first:
                    self._fill(Take(take.record, first, stop), fill)
                first = stop + 1

    def _fill(self, take: Take, fill: Fill) -> None:
        n_kept, step = len(self._line_of), take.record.step
        fill(take, self._codes[n_kept : n_kept + take.n_rows])
        self._line_of.update(
            ((step, row), n_kept + i) for i, row in enumerate(range(take.first, take.stop))
        )


def lines_of(lines: Codes, which: IntArray) -> Codes:
    """[R, ...] the lines of these numbers, without a copy where they stand one after the other."""
    if len(which) and bool((which[1:] - which[:-1] == 1).all()):
        return lines[which[0] : which[-1] + 1]
    return lines.take(which, axis=0)


def _keys(takes: Sequence[Take]) -> list[tuple[int, int]]:
    """(step, row) of each query."""
    keys: list[tuple[int, int]] = []
    for take in takes:
        step, first, stop = take.record.step, take.first, take.stop
        if stop - first == 1:
            keys.append((step, first))
        else:
            keys.extend((step, row) for row in range(first, stop))
    return keys
