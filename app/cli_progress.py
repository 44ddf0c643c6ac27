"""Says on standard error how far a long command is."""

import sys
from time import monotonic

_QUIET_S, _PAUSE_ON_TERMINAL_S, _PAUSE_ELSEWHERE_S = 2.0, 0.1, 10.0


class Counter:
    """Counts things that are done; silent for the first two seconds."""

    def __init__(self, what: str, n: int, n_done: int = 0) -> None:
        """Start to count the time. `what` stands before "3 of 7"."""
        self._what, self._n, self._n_done = what, n, n_done
        self._is_terminal = sys.stderr.isatty()
        self._next_s = monotonic() + _QUIET_S
        self._has_line = False

    def next(self) -> None:
        """One more."""
        self.at(self._n_done + 1)

    def at(self, n_done: int) -> None:
        """So many are done."""
        self._n_done = n_done
        now_s = monotonic()
        if now_s < self._next_s:
            return
        line = f"{self._what} {self._n_done} of {self._n}"
        sys.stderr.write(f"\r{line}\x1b[K" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()
        self._has_line = True
        self._next_s = now_s + (_PAUSE_ON_TERMINAL_S if self._is_terminal else _PAUSE_ELSEWHERE_S)

    def done(self) -> None:
        """Leave the terminal's line as it was."""
        if self._has_line and self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
