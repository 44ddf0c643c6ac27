"""The tokens that a policy demands to be held, as arrays: most are those of the step before."""

import numpy as np

from core.arrays import IntArray

Pairs = tuple[tuple[int, int], ...]


class Demanded:
    """Makes arrays of what verdicts say, from those made last where a step changed one token."""

    def __init__(self) -> None:
        """Asked for nothing yet."""
        self._last: Pairs = ()
        self._numbers: IntArray = np.empty((0, 2), dtype=np.int64)

    def of(self, live: Pairs) -> tuple[IntArray, IntArray]:
        """[n] token indices and [n] position ids of n pairs, see `Expected.live`."""
        if live != self._last:
            self._numbers = self._made(live)
            self._last = live
        return self._numbers[:, 0], self._numbers[:, 1]

    def _made(self, live: Pairs) -> IntArray:
        last, numbers = self._last, self._numbers
        if live and live[:-1] == last:  # one came
            return np.concatenate((numbers, live[-1:]))
        if live and live[:-1] == last[1:]:  # one came, one went; below, a step back
            return np.concatenate((numbers[1:], live[-1:]))
        if live and live[1:] == last[:-1]:
            return np.concatenate((live[:1], numbers[:-1]))
        if live == last[:-1]:
            return numbers[:-1]
        return np.array(live, dtype=np.int64).reshape(-1, 2)
