"""Keeps Python's cycle collector to the thread of the window."""

import gc
import time

from PySide6.QtCore import QObject, QTimer, Slot

INTERVAL_MS = 1000
REST_SHARE = 200
"""After looking at all objects there is a rest so many times as long."""


class Garbage(QObject):
    """Collects from a timer while the worker's thread runs.

    Python collects in whichever thread happens to allocate. In the worker's thread it would
    delete widgets and timers there, which Qt forbids ("Timers cannot be stopped from another
    thread"), and may crash.
    """

    def __init__(self, parent: QObject) -> None:
        """Takes its owner; nothing changes until `start`."""
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._rests_until = 0.0

    def start(self) -> None:
        """From now on, collect here only."""
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        """Let Python collect again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    def spare_what_is_there(self) -> None:
        """Never look at the present objects again: those of torch alone take 0.1 s to look at."""
        gc.freeze()

    @Slot()
    def collect(self) -> None:
        """Collect the oldest generation that is due.

        The oldest of all holds the records of a long run: looking at each of them holds the
        window up, and what it is for, circles that have grown old, are few.
        """
        counts, limits = gc.get_count(), gc.get_threshold()
        due = max((at for at, n in enumerate(counts) if 0 < limits[at] < n), default=None)
        oldest, begun = len(counts) - 1, time.monotonic()
        if due == oldest and begun < self._rests_until:
            due = oldest - 1
        if due is not None:
            gc.collect(due)
        if due == oldest:
            ended = time.monotonic()
            self._rests_until = ended + REST_SHARE * (ended - begun)
