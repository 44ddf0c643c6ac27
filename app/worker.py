"""The one object on the one worker thread: it owns the session and its judge."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.backend import Backend
from app.draft import Draft
from app.error_place import place_of
from app.memory import MANY_STEPS, hand_back
from app.messages import (
    Advance,
    Again,
    CleanRecorded,
    Ended,
    Failed,
    Idle,
    Judged,
    Opened,
    OpenedElsewhere,
    Ready,
    Recorded,
    Remade,
    Said,
    Save,
    Start,
    Started,
)
from app.open_run import OpenRun
from core.errors import CoreError, ForeignTraceError
from core.faults.known import BUILT_IN, KnownFaults
from core.model.names import model_names
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.verdict import StepVerdict

BATCH_S = 0.016
JUDGED_AT_ONCE = 64
NO_RUN = 0


class Worker(QObject):
    """Makes steps when asked. Every answer names the run that it belongs to."""

    ready = Signal(object)
    started = Signal(object)
    remade = Signal(object)
    recorded = Signal(object)
    clean_recorded = Signal(object)
    judged = Signal(object)
    ended = Signal(object)
    idle = Signal(object)
    failed = Signal(object)
    opened = Signal(object)
    opened_elsewhere = Signal(object)
    said = Signal(object)

    def __init__(self, make_backend: Callable[[], Backend]) -> None:
        """Takes what makes the engine; it is called in the worker's thread."""
        super().__init__()
        self._make_backend = make_backend
        self._backend: Backend | None = None
        self._run: OpenRun | None = None
        self._known = BUILT_IN

    @Slot()
    def load(self) -> None:
        """Make the engine."""
        with self._reporting(NO_RUN):
            self._backend = self._make_backend()
            self._backend.use_faults(self._known)
            self.ready.emit(Ready(self._backend.devices, self._backend.version))

    @Slot(object)
    def use_faults(self, known: KnownFaults) -> None:
        """Runs that are begun from now on find their faults among these."""
        self._known = known
        if self._backend is not None:
            self._backend.use_faults(known)

    @Slot(object)
    def start(self, request: Start) -> None:
        """Begin another run; the open one goes on if that cannot be done."""
        if self._backend is not None and not request.cancelled.is_set():
            with self._reporting(request.run_id):
                self._run = self._begin(request, self._backend)
                self._make_first(self._run, request)
                self._compare(self._run, request, self._backend)
        self.idle.emit(Idle(request.run_id))

    @Slot(object)
    def advance(self, request: Advance) -> None:
        """Make more steps of a run; one that is not open is made again first."""
        with self._reporting(request.run.run_id):
            run = self._opened(request.run)
            if run is not None and request.n:
                self._make_more(run, request)
        self.idle.emit(Idle(request.run.run_id))

    @Slot(object)
    def open(self, path: Path) -> None:
        """Read a trace file; nothing is run."""
        with self._reporting(NO_RUN, path):
            if self._backend is not None:
                self._open(path, self._backend)

    @Slot(object)
    def save(self, request: Save) -> None:
        """Write a run to a file; one that is not open is made again first."""
        with self._reporting(request.run.run_id, request.path):
            run = self._opened(request.run)
            if self._backend is not None and run is not None:
                self._judge(run, request.run.cancelled)
                self._backend.save_trace(request.path, run.session, run.judge, full=request.full)
                text = f"saved as {request.path}"
                self.said.emit(Said(run.run_id, text, is_passing=False))

    @Slot(object)
    def judge_rest(self, request: Again) -> None:
        """Judge what was not judged yet."""
        with self._reporting(request.run_id):
            run = self._opened(request)
            if run is not None:
                self._judge(run, request.cancelled)
        self.idle.emit(Idle(request.run_id))

    def _open(self, path: Path, backend: Backend) -> None:
        try:
            self.opened.emit(_opened(path, backend, self._known))
        except ForeignTraceError:
            self.opened_elsewhere.emit(OpenedElsewhere(path, backend.open_foreign(path)))

    def _opened(self, wanted: Again) -> OpenRun | None:
        """The run of this number: the open one, or made again; None: it cannot be had.

        A run of which no step is known could not begin, and is not tried twice.
        """
        if self._run is not None and self._run.run_id == wanted.run_id:
            return self._run
        if self._backend is None or wanted.cancelled.is_set() or not wanted.n_records:
            return None
        run, started = self._new_run(wanted.run_id, wanted.draft, self._backend)
        while len(run.session.trace.records) < wanted.n_records:
            record = None if wanted.cancelled.is_set() else run.next_record()
            if record is None:
                break
            run.keep(record)
        verdicts = [v for part in _verdicts(run, wanted.cancelled) for v in part]
        if wanted.cancelled.is_set():
            return None
        self._run = run
        self.remade.emit(_remade(run, started, verdicts))
        return run

    def _begin(self, request: Start, backend: Backend) -> OpenRun:
        run, started = self._new_run(request.run_id, request.draft, backend)
        self.started.emit(started)
        return run

    def _new_run(self, run_id: int, draft: Draft, backend: Backend) -> tuple[OpenRun, Started]:
        loaded = backend.model(draft.model)
        spec = draft.spec(loaded.tokenizer.encode)
        session = backend.session(spec, loaded)
        clean = backend.clean_session(spec, loaded) if spec.faults else None
        token_text = cache(loaded.tokenizer.token_text)
        started = Started(run_id, draft, spec, session.trace.model, token_text)
        return OpenRun(run_id, session, backend.judge(session), clean), started

    def _make_first(self, run: OpenRun, request: Start) -> None:
        next_record = run.planned_record if request.n_records is None else run.next_record
        n_made = self._make(run, request.n_records, next_record, request.cancelled)
        self._judge(run, request.cancelled)
        if n_made != request.n_records or run.is_over:
            self._tell_end(run, request.cancelled)

    def _compare(self, run: OpenRun, request: Start, backend: Backend) -> None:
        if request.opened is not None and not request.cancelled.is_set():
            text = f"opened and made again: {backend.agreement(request.opened, run.session)}"
            self.said.emit(Said(run.run_id, text, is_passing=True))

    def _make_more(self, run: OpenRun, request: Advance) -> None:
        n_made = self._make(run, request.n, run.next_record, request.run.cancelled)
        is_short = n_made < request.n or run.is_over
        if is_short or run.n_unjudged >= request.judge_every:
            self._judge(run, request.run.cancelled)
        if is_short:
            self._tell_end(run, request.run.cancelled)

    def _make(
        self,
        run: OpenRun,
        n: int | None,
        next_record: Callable[[], StepRecord | None],
        cancelled: threading.Event,
    ) -> int:
        """Make up to `n` steps, or all there are, and send them; returns how many there were."""
        n_made, sent_at = 0, time.monotonic()
        try:
            while n is None or n_made < n:
                record = None if cancelled.is_set() else next_record()
                if record is None:
                    break
                run.keep(record)
                n_made += 1
                if time.monotonic() - sent_at > BATCH_S:
                    self._send(run)
                    sent_at = time.monotonic()
        finally:  # also the steps before one that fails
            self._send(run)
        return n_made

    def _send(self, run: OpenRun) -> None:
        if run.records:
            spec = run.session.trace.spec
            self.recorded.emit(Recorded(run.run_id, tuple(run.records), spec))
        if run.clean_records:
            self.clean_recorded.emit(CleanRecorded(run.run_id, tuple(run.clean_records)))
        run.records, run.clean_records = [], []

    def _judge(self, run: OpenRun, cancelled: threading.Event) -> None:
        n_judged = 0
        for verdicts in _verdicts(run, cancelled):
            n_judged += len(verdicts)
            self.judged.emit(Judged(run.run_id, verdicts))
        if n_judged >= MANY_STEPS:
            hand_back()

    def _tell_end(self, run: OpenRun, cancelled: threading.Event) -> None:
        reason = "cancelled" if cancelled.is_set() else run.session.trace.end
        if reason is not None and reason != "steps":  # more steps can always be asked for
            self.ended.emit(Ended(run.run_id, reason))

    @contextmanager
    def _reporting(self, run_id: int, file: Path | None = None) -> Iterator[None]:
        """Turn an error into a message: nothing may end the thread.

        What is wrong with a file is told with its name, and has no place in the form.
        """
        try:
            yield
        except CoreError as error:
            place = place_of(error) if file is None else None
            self.failed.emit(Failed(run_id, _named(str(error), file), place))
        except Exception as error:  # noqa: BLE001  (a fault of ours is reported, not lost)
            message = _named(f"the engine stopped: {type(error).__name__}: {error}", file)
            self.failed.emit(Failed(run_id, message, details=traceback.format_exc()))


def _verdicts(run: OpenRun, cancelled: threading.Event) -> Iterator[tuple[StepVerdict, ...]]:
    """What is due, in parts that grow, since each costs a forward over the whole run."""
    while run.n_unjudged and not cancelled.is_set():
        new = tuple(run.judge.update(max(JUDGED_AT_ONCE, len(run.judge.verdicts))))
        run.n_unjudged -= len(new)
        yield new


def _remade(run: OpenRun, started: Started, verdicts: list[StepVerdict]) -> Remade:
    """All of a run at once; from now on nothing of it is due."""
    records, clean = tuple(run.records), tuple(run.clean_records)
    run.records, run.clean_records = [], []
    trace = run.session.trace
    end = None if trace.end == "steps" else trace.end
    histories = RunHistory(records), RunHistory(clean)
    return Remade(started, trace.spec, records, clean, tuple(verdicts), end, *histories)


def _named(message: str, file: Path | None) -> str:
    """The message, with the name of the file that it is about where it has not got it."""
    return message if file is None or str(file) in message else f"{file}: {message}"


def _opened(path: Path, backend: Backend, known: KnownFaults) -> Opened:
    trace = backend.open_trace(path)
    known.own_of(trace.spec.faults)  # before anything changes: one that is not there is told
    model = trace.recorded.model
    name = (
        trace.spec.model if model.path is None or trace.spec.model in model_names() else model.path
    )
    spec = replace(trace.spec, model=name)
    decode = backend.model(name).tokenizer.decode
    prompt = decode(Draft.of_spec(spec, "").prompt_ids or ())
    return Opened(Draft.of_spec(spec, prompt), len(trace.recorded.digests), trace)
