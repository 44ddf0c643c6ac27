"""The window's end of the worker: starts its thread, asks it, cancels it, ends it."""

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QThread, Signal, Slot

from app.backend import Backend
from app.draft import Draft
from app.garbage import Garbage
from app.messages import Advance, Again, Save, Start
from app.worker import Worker
from core.faults.known import KnownFaults
from core.tracefile import OpenedTrace


class EngineHandle(QObject):
    """Owns the one worker thread. Answers come from the signals of `worker`."""

    _load_asked = Signal()
    _faults_known = Signal(object)
    _start_asked = Signal(object)
    _advance_asked = Signal(object)
    _judge_asked = Signal(object)
    _open_asked = Signal(object)
    _save_asked = Signal(object)

    def __init__(self, make_backend: Callable[[], Backend], parent: QObject | None = None) -> None:
        """Start the thread, idle; `load` makes the engine in it."""
        super().__init__(parent)
        self._cancelled: list[threading.Event] = []
        self._last_run_id = 0
        self._thread = QThread(self)
        self._thread.setObjectName("engine")
        self.worker = Worker(make_backend)
        self.worker.moveToThread(self._thread)
        self.worker.ready.connect(self._on_ready)
        self._load_asked.connect(self.worker.load)
        self._faults_known.connect(self.worker.use_faults)
        self._start_asked.connect(self.worker.start)
        self._advance_asked.connect(self.worker.advance)
        self._judge_asked.connect(self.worker.judge_rest)
        self._open_asked.connect(self.worker.open)
        self._save_asked.connect(self.worker.save)
        self._garbage = Garbage(self)
        self._garbage.start()
        self._thread.start()

    def load(self) -> None:
        """Make the engine, in its thread; `worker.ready` follows."""
        self._load_asked.emit()

    def use_faults(self, known: KnownFaults) -> None:
        """Runs that are begun from now on find their faults among these."""
        self._faults_known.emit(known)

    def new_run_id(self) -> int:
        """A number for a run that comes from elsewhere than `start`."""
        self._last_run_id += 1
        return self._last_run_id

    def start(self, draft: Draft, n_records: int | None, opened: OpenedTrace | None = None) -> int:
        """Begin another run and make its first steps; gives the number of the run."""
        self.cancel()
        run_id = self.new_run_id()
        self._start_asked.emit(Start(run_id, draft, n_records, self._new_event(), opened))
        return run_id

    def again(self, run_id: int, draft: Draft, n_records: int) -> Again:
        """Names a run, and how to make it again where the engine has another one open."""
        return Again(run_id, draft, n_records, self._new_event())

    def advance(self, run: Again, n: int, judge_every: int) -> None:
        """Ask for `n` more steps of a run; 0: make it ready to go on."""
        self._advance_asked.emit(Advance(run, n, judge_every))

    def judge_rest(self, run: Again) -> None:
        """Ask for the verdicts that are still due."""
        self._judge_asked.emit(run)

    def open_trace(self, path: Path) -> None:
        """Read a trace file; `worker.opened` follows."""
        self._open_asked.emit(path)

    def save_trace(self, run: Again, path: Path, *, full: bool) -> None:
        """Write a run to a file; `worker.said` follows."""
        self._save_asked.emit(Save(run, path, full))

    def cancel(self) -> None:
        """Stop everything asked so far after the step in progress."""
        for event in self._cancelled:
            event.set()
        self._cancelled.clear()

    def forget(self) -> None:
        """What was asked is done: there is nothing left to cancel."""
        self._cancelled.clear()

    def close(self, limit_ms: int) -> bool:
        """Cancel, and end the thread; false if it still runs after `limit_ms`."""
        self.cancel()
        self._thread.quit()
        is_over = self._thread.wait(limit_ms)
        if is_over:
            self._garbage.stop()
        return is_over

    @Slot()
    def _on_ready(self) -> None:
        self._garbage.spare_what_is_there()

    def _new_event(self) -> threading.Event:
        event = threading.Event()
        self._cancelled.append(event)
        return event
