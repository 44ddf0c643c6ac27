"""The one object on the one worker thread: it owns the session and its judge."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.backend import Backend
from app.error_place import place_of
from app.messages import (
    Advance,
    CleanRecorded,
    Ended,
    Failed,
    Idle,
    Judged,
    Ready,
    Recorded,
    Start,
    Started,
)
from core.errors import CoreError
from core.record import StepRecord

if TYPE_CHECKING:  # both import torch
    from core.judge import Judge
    from core.session import Session

BATCH_S = 0.016
NO_RUN = 0


@dataclass(slots=True)
class _Run:
    """The run that is open, and what of it was not sent yet."""

    run_id: int
    session: Session
    judge: Judge
    clean: Session | None
    records: list[StepRecord] = field(default_factory=list[StepRecord])
    clean_records: list[StepRecord] = field(default_factory=list[StepRecord])
    n_unjudged: int = 0

    def next_record(self) -> StepRecord | None:
        """One step more, past what the specification planned; None: the run is over."""
        return _next_of(self.session)

    def planned_record(self) -> StepRecord | None:
        """One step more of what the specification planned; None: there is none."""
        return self.session.advance()

    def keep(self, record: StepRecord) -> None:
        """Take a record, and let the run without faults make as many."""
        self.records.append(record)
        self.n_unjudged += 1
        clean_record = None if self.clean is None else _next_of(self.clean)
        if clean_record is not None:
            self.clean_records.append(clean_record)


def _next_of(session: Session) -> StepRecord | None:
    record = session.advance()
    if record is None and session.trace.end == "steps":
        session.decode_more(1)
        record = session.advance()
    return record


class Worker(QObject):
    """Makes steps when asked. Every answer names the run that it belongs to."""

    ready = Signal(object)
    started = Signal(object)
    recorded = Signal(object)
    clean_recorded = Signal(object)
    judged = Signal(object)
    ended = Signal(object)
    idle = Signal(object)
    failed = Signal(object)

    def __init__(self, make_backend: Callable[[], Backend]) -> None:
        """Takes what makes the engine; it is called in the worker's thread."""
        super().__init__()
        self._make_backend = make_backend
        self._backend: Backend | None = None
        self._run: _Run | None = None

    @Slot()
    def load(self) -> None:
        """Make the engine."""
        with self._reporting(NO_RUN):
            self._backend = self._make_backend()
            self.ready.emit(Ready(self._backend.devices, self._backend.version))

    @Slot(object)
    def start(self, request: Start) -> None:
        """Begin another run; the open one goes on if that cannot be done."""
        if self._backend is not None and not request.cancelled.is_set():
            with self._reporting(request.run_id):
                self._run = self._begin(request, self._backend)
                self._make_first(self._run, request)
        self.idle.emit(Idle(request.run_id))

    @Slot(object)
    def advance(self, request: Advance) -> None:
        """Make more steps of the open run."""
        run = self._run
        if run is not None and run.run_id == request.run_id:
            with self._reporting(request.run_id):
                self._make_more(run, request)
        self.idle.emit(Idle(request.run_id))

    @Slot(int)
    def judge_rest(self, run_id: int) -> None:
        """Judge what was not judged yet."""
        run = self._run
        if run is not None and run.run_id == run_id:
            with self._reporting(run_id):
                self._judge(run)

    def _begin(self, request: Start, backend: Backend) -> _Run:
        draft = request.draft
        loaded = backend.model(draft.model)
        spec = draft.spec(loaded.tokenizer.encode)
        session = backend.session(spec, loaded)
        clean = backend.clean_session(spec, loaded) if spec.faults else None
        run = _Run(request.run_id, session, backend.judge(session), clean)
        token_text = loaded.tokenizer.token_text
        self.started.emit(Started(request.run_id, draft, spec, session.trace.model, token_text))
        return run

    def _make_first(self, run: _Run, request: Start) -> None:
        next_record = run.planned_record if request.n_records is None else run.next_record
        n_made = self._make(run, request.n_records, next_record, request.cancelled)
        self._judge(run)
        if n_made != request.n_records:
            self._tell_end(run, request.cancelled)

    def _make_more(self, run: _Run, request: Advance) -> None:
        n_made = self._make(run, request.n, run.next_record, request.cancelled)
        is_short = n_made < request.n
        if is_short or run.n_unjudged >= request.judge_every:
            self._judge(run)
        if is_short:
            self._tell_end(run, request.cancelled)

    def _make(
        self,
        run: _Run,
        n: int | None,
        next_record: Callable[[], StepRecord | None],
        cancelled: threading.Event,
    ) -> int:
        """Make up to `n` steps, or all there are, and send them; returns how many there were."""
        n_made, sent_at = 0, time.monotonic()
        while n is None or n_made < n:
            record = None if cancelled.is_set() else next_record()
            if record is None:
                break
            run.keep(record)
            n_made += 1
            if time.monotonic() - sent_at > BATCH_S:
                self._send(run)
                sent_at = time.monotonic()
        self._send(run)
        return n_made

    def _send(self, run: _Run) -> None:
        if run.records:
            spec = run.session.trace.spec
            self.recorded.emit(Recorded(run.run_id, tuple(run.records), spec))
        if run.clean_records:
            self.clean_recorded.emit(CleanRecorded(run.run_id, tuple(run.clean_records)))
        run.records, run.clean_records = [], []

    def _judge(self, run: _Run) -> None:
        if run.n_unjudged:
            run.n_unjudged = 0
            self.judged.emit(Judged(run.run_id, tuple(run.judge.update())))

    def _tell_end(self, run: _Run, cancelled: threading.Event) -> None:
        reason = "cancelled" if cancelled.is_set() else run.session.trace.end
        if reason is not None and reason != "steps":  # more steps can always be asked for
            self.ended.emit(Ended(run.run_id, reason))

    @contextmanager
    def _reporting(self, run_id: int) -> Iterator[None]:
        """Turn an error into a message: nothing may end the thread."""
        try:
            yield
        except CoreError as error:
            self.failed.emit(Failed(run_id, str(error), place_of(error)))
        except Exception as error:  # noqa: BLE001  (a fault of ours is reported, not lost)
            message = f"the engine stopped: {type(error).__name__}: {error}"
            self.failed.emit(Failed(run_id, message, details=traceback.format_exc()))
