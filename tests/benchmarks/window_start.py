"""Starts the program as its command does, watched; ends it when the engine is ready.

The argument is the time at which the process was asked for; the answer is printed as JSON.
"""

import json
import sys
import time

from PySide6.QtCore import QTimer

from app.plain_imports import take_hook_off

take_hook_off()  # as the command does, before all that is imported for the window
from app import window  # noqa: E402
from app.main_window import MainWindow  # noqa: E402
from app.options import WindowOptions  # noqa: E402

BEAT_MS = 5


class WatchedWindow(MainWindow):
    """Tells when it was first painted and when the engine was ready; measures a beat."""

    def __init__(self, *parts: object) -> None:
        """As the window itself."""
        super().__init__(*parts)
        self._asked = float(sys.argv[1])
        self._numbers: dict[str, float] = {}
        self._last = 0.0
        self._gap = 0.0
        self._beat = QTimer(self)
        self._beat.setInterval(BEAT_MS)
        self._beat.timeout.connect(self._on_beat)
        # The signal comes in the middle of painting: what follows in the loop comes after it.
        self.first_painted.connect(lambda: QTimer.singleShot(0, self._on_painted))
        self.control.ready.connect(self._note_ready)

    def _on_painted(self) -> None:
        self._numbers["first_paint_s"] = time.time() - self._asked
        self._numbers["first_paint_cpu_s"] = time.process_time()
        self._last = time.perf_counter()
        self._beat.start()

    def _on_beat(self) -> None:
        now = time.perf_counter()
        self._gap, self._last = max(self._gap, now - self._last), now

    def _note_ready(self) -> None:
        self._numbers["ready_s"] = time.time() - self._asked
        self.settled.connect(self._tell)

    def _tell(self) -> None:
        self._on_beat()
        self._numbers["settled_s"] = time.time() - self._asked
        print(json.dumps({**self._numbers, "gap_s": self._gap}))
        self.close()


if __name__ == "__main__":
    window.MainWindow = WatchedWindow  # the one that is watched
    sys.exit(window.main(WindowOptions()))
