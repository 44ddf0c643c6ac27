"""Playing: one step after the other at a chosen speed, never more than the eye is shown."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from app.cursor import Cursor

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Steps per second."""
DEFAULT_SPEED = 2.0
MAX_UNPAINTED = 2


class Player(QObject):
    """Pulls: the next step is asked for only while fewer than two are asked for or unpainted.

    So a slow screen drops paints and never lets a backlog grow.
    """

    changed = Signal()
    stopped = Signal()
    end_met = Signal()

    def __init__(
        self, cursor: Cursor, ask: Callable[[], None], parent: QObject | None = None
    ) -> None:
        """Paused.

        Args:
            cursor: what is moved.
            ask: asks the worker for one step more.
            parent: its owner.
        """
        super().__init__(parent)
        self._cursor = cursor
        self._ask = ask
        self._n_asked = 0
        self._n_unpainted = 0
        self._speed = DEFAULT_SPEED
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)

    @property
    def is_playing(self) -> bool:
        """Whether steps follow of themselves."""
        return self._timer.isActive()

    @property
    def speed(self) -> float:
        """Steps per second."""
        return self._speed

    def play(self) -> None:
        """Go on from the step looked at; the first step comes at once."""
        if not self.is_playing:
            self._timer.start(self._interval_ms)
            self.changed.emit()
            self.tick()

    def pause(self) -> None:
        """Stay at the step looked at."""
        if self.is_playing:
            self._timer.stop()
            self.changed.emit()
            self.stopped.emit()

    def set_speed(self, speed: float) -> None:
        """Steps per second from now on."""
        self._speed = speed
        self._timer.setInterval(self._interval_ms)
        self.changed.emit()

    def faster(self) -> None:
        """The next higher speed."""
        self.set_speed(next((s for s in SPEEDS if s > self._speed), SPEEDS[-1]))

    def slower(self) -> None:
        """The next lower speed."""
        self.set_speed(next((s for s in reversed(SPEEDS) if s < self._speed), SPEEDS[0]))

    def tick(self) -> None:
        """The time for a step has come: show a recorded one, else ask for one if that is due."""
        if not self._cursor.is_at_newest:
            self._cursor.go(self._cursor.selection.step + 1)
        elif self._cursor.end is not None:
            self.pause()
            self.end_met.emit()
        elif self._n_asked + self._n_unpainted < MAX_UNPAINTED:
            self._n_asked += 1
            self._ask()

    def received(self, n: int) -> None:
        """So many steps have come."""
        self._n_asked = max(0, self._n_asked - n)
        self._n_unpainted += n

    def painted(self) -> None:
        """The newest step is on the screen."""
        self._n_unpainted = 0

    def nothing_more(self) -> None:
        """The run ended, another began, or it failed: nothing that was asked for will come."""
        self._n_asked = 0
        self.pause()

    @property
    def _interval_ms(self) -> int:
        return round(1000 / self._speed)
