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
from app.messages import (
    Advance,
    CleanRecorded,
    Ended,
    Failed,
    Idle,
    Judged,
    Opened,
    Ready,
    Recorded,
    Said,
    Save,
    Start,
    Started,
)
from app.open_run import OpenRun
from core.errors import CoreError
from core.model.names import model_names
from core.record import StepRecord

BATCH_S = 0.016
NO_RUN = 0


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
    opened = Signal(object)
    said = Signal(object)

    def __init__(self, make_backend: Callable[[], Backend]) -> None:
        """Takes what makes the engine; it is called in the worker's thread."""
        super().__init__()
        self._make_backend = make_backend
        self._backend: Backend | None = None
        self._run: OpenRun | None = None

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
                self._compare(self._run, request, self._backend)
        self.idle.emit(Idle(request.run_id))

    @Slot(object)
    def advance(self, request: Advance) -> None:
        """Make more steps of the open run."""
        run = self._run
        if run is not None and run.run_id == request.run_id:
            with self._reporting(request.run_id):
                self._make_more(run, request)
        self.idle.emit(Idle(request.run_id))

    @Slot(object)
    def open(self, path: Path) -> None:
        """Read a trace file; nothing is run."""
        with self._reporting(NO_RUN, path):
            if self._backend is not None:
                self.opened.emit(_opened(path, self._backend))

    @Slot(object)
    def save(self, request: Save) -> None:
        """Write the open run to a file."""
        run = self._run
        if self._backend is None or run is None or run.run_id != request.run_id:
            return
        with self._reporting(request.run_id, request.path):
            self._judge(run)
            self._backend.save_trace(request.path, run.session, run.judge, full=request.full)
            text = f"saved as {request.path}"
            self.said.emit(Said(request.run_id, text, is_passing=False))

    @Slot(int)
    def judge_rest(self, run_id: int) -> None:
        """Judge what was not judged yet."""
        run = self._run
        if run is not None and run.run_id == run_id:
            with self._reporting(run_id):
                self._judge(run)

    def _begin(self, request: Start, backend: Backend) -> OpenRun:
        draft = request.draft
        loaded = backend.model(draft.model)
        spec = draft.spec(loaded.tokenizer.encode)
        session = backend.session(spec, loaded)
        clean = backend.clean_session(spec, loaded) if spec.faults else None
        run = OpenRun(request.run_id, session, backend.judge(session), clean)
        token_text = cache(loaded.tokenizer.token_text)
        self.started.emit(Started(request.run_id, draft, spec, session.trace.model, token_text))
        return run

    def _make_first(self, run: OpenRun, request: Start) -> None:
        next_record = run.planned_record if request.n_records is None else run.next_record
        n_made = self._make(run, request.n_records, next_record, request.cancelled)
        self._judge(run)
        if n_made != request.n_records or run.is_over:
            self._tell_end(run, request.cancelled)

    def _compare(self, run: OpenRun, request: Start, backend: Backend) -> None:
        if request.opened is not None and not request.cancelled.is_set():
            text = f"opened and made again: {backend.agreement(request.opened, run.session)}"
            self.said.emit(Said(run.run_id, text, is_passing=True))

    def _make_more(self, run: OpenRun, request: Advance) -> None:
        n_made = self._make(run, request.n, run.next_record, request.cancelled)
        is_short = n_made < request.n or run.is_over
        if is_short or run.n_unjudged >= request.judge_every:
            self._judge(run)
        if is_short:
            self._tell_end(run, request.cancelled)

    def _make(
        self,
        run: OpenRun,
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

    def _send(self, run: OpenRun) -> None:
        if run.records:
            spec = run.session.trace.spec
            self.recorded.emit(Recorded(run.run_id, tuple(run.records), spec))
        if run.clean_records:
            self.clean_recorded.emit(CleanRecorded(run.run_id, tuple(run.clean_records)))
        run.records, run.clean_records = [], []

    def _judge(self, run: OpenRun) -> None:
        if run.n_unjudged:
            run.n_unjudged = 0
            self.judged.emit(Judged(run.run_id, tuple(run.judge.update())))

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


def _named(message: str, file: Path | None) -> str:
    """The message, with the name of the file that it is about where it has not got it."""
    return message if file is None or str(file) in message else f"{file}: {message}"


def _opened(path: Path, backend: Backend) -> Opened:
    trace = backend.open_trace(path)
    model = trace.recorded.model
    name = (
        trace.spec.model if model.path is None or trace.spec.model in model_names() else model.path
    )
    spec = replace(trace.spec, model=name)
    decode = backend.model(name).tokenizer.decode
    prompt = decode(Draft.of_spec(spec, "").prompt_ids or ())
    return Opened(Draft.of_spec(spec, prompt), len(trace.recorded.digests), trace)
