"""Keeps Python's cycle collector to the thread of the window."""

import gc

from PySide6.QtCore import QObject, QTimer, Slot

INTERVAL_MS = 1000


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
        """Collect the oldest generation that is due, as Python itself would."""
        counts, limits = gc.get_count(), gc.get_threshold()
        due = [at for at in range(len(counts)) if 0 < limits[at] < counts[at]]
        if due:
            gc.collect(due[-1])
