"""An engine for tests: it makes records at once, and does what a test needs it to do."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel

from app.docks.registry import Area, DockSpec
from core.arrays import as_ids
from core.engine.types import Ledger
from core.errors import ModelError, TraceError
from core.outcome import OK, Outcome, Refused
from core.record import StepRecord
from core.spec import RunSpec

NO_IDS = as_ids([])


def record(step: int, outcome: Outcome = OK, **changes: object) -> StepRecord:
    """A record in which nothing was computed."""
    made = StepRecord(
        step=step,
        request=0,
        phase="prefill" if step == 0 else "decode",
        token_ids=(step,),
        token_index=(step,),
        outcome=outcome,
        ledger=Ledger(8),
        reported_length=0,
        n_short=0,
        past_len=None,
        n_skipped=0,
        n_recomputed=0,
        slots=NO_IDS,
        readable=(),
        layers=(),
        live=(),
        logits=None,
        predicted=step + 1,
        next_token=step + 1,
        is_forced=False,
    )
    return replace(made, **changes)


def verdict(step: int, *, is_wrong: bool = False) -> SimpleNamespace:
    """As much of a verdict as the window's machinery reads."""
    word = "wrong" if is_wrong else "right"
    return SimpleNamespace(
        step=step,
        is_wrong=is_wrong,
        policy=word,
        mechanism="right",
        logits=None,
        first_difference=None,
        expected=SimpleNamespace(outcome=None),
    )


def model_info(name: str) -> SimpleNamespace:
    """Four layers and heads; the model "small" has two of each."""
    n = 2 if name == "small" else 4
    config = SimpleNamespace(n_layers=n, n_heads=n, position_limit=None, scheme="learned")
    return SimpleNamespace(name=name, path=None, config=config)


class FakeSession:
    """Makes bare records; full after `room` steps."""

    def __init__(self, spec: RunSpec, room: int, before_step: Callable[[int], None]) -> None:
        model = model_info(spec.model)
        self.trace = SimpleNamespace(spec=spec, model=model, records=[], end=None)
        self.trace.pack_newest = lambda: self.trace.records[-1]
        self.loaded = None
        self._room = room
        self._before_step = before_step

    def advance(self) -> StepRecord | None:
        trace = self.trace
        step = len(trace.records)
        if trace.end is None and step > len(trace.spec.all_requests) - 1:
            trace.end = "steps"
        if trace.end is not None:
            return None
        self._before_step(step)
        outcome = OK if step < self._room else Refused(1, 0)
        trace.records.append(record(step, outcome))
        trace.end = None if outcome is OK else "refused"
        return trace.records[-1]

    def decode_more(self, n: int) -> None:
        self.trace.spec = replace(self.trace.spec, steps=self.trace.spec.steps + n)
        self.trace.end = None


class FakeJudge:
    """Finds step `first_wrong` and all later ones wrong where a fault is on."""

    def __init__(self, session: FakeSession, first_wrong: int) -> None:
        self.verdicts: list[SimpleNamespace] = []
        self._trace = session.trace
        self._first_wrong = first_wrong

    def update(self, most: int | None = None) -> list[SimpleNamespace]:
        n_judged, n_steps = len(self.verdicts), len(self._trace.records)
        steps = range(n_judged, n_steps if most is None else min(n_steps, n_judged + most))
        has_fault = bool(self._trace.spec.faults)
        new = [verdict(n, is_wrong=has_fault and n >= self._first_wrong) for n in steps]
        self.verdicts += new
        return new


def _nothing(step: int) -> None:
    """Do nothing before a step."""


@dataclass
class FakeBackend:
    """Counts what it is asked for.

    Attributes:
        room: steps until the cache refuses.
        first_wrong: the first step that a fault makes wrong.
        before_step: called before each step of the run itself.
        before_start: called before each run.
        thread: where it was made.
        specs: every run that was begun.
    """

    room: int = 1000
    first_wrong: int = 3
    before_step: Callable[[int], None] = _nothing
    before_start: Callable[[], None] = lambda: None
    devices: tuple[str, ...] = ("cpu", "cuda:0")
    version: str = "0.0"
    specs: list[RunSpec] = field(default_factory=list)
    saved: list[tuple[Path, bool]] = field(default_factory=list)
    thread: threading.Thread = field(default_factory=threading.current_thread)

    def model(self, name: str) -> SimpleNamespace:
        if name == "missing":
            raise ModelError("model 'missing' is neither a known name nor a folder")
        tokenizer = SimpleNamespace(
            encode=lambda text: tuple(text.encode()),
            decode=lambda ids: bytes(ids).decode(),
            token_text=lambda token_id: f"t{token_id}",
        )
        return SimpleNamespace(tokenizer=tokenizer)

    def use_faults(self, known: object) -> None:
        """Every fault is known."""

    def session(self, spec: RunSpec, loaded: object) -> FakeSession:
        self.before_start()
        self.specs.append(spec)
        return FakeSession(spec, self.room, self._before)

    def clean_session(self, spec: RunSpec, loaded: object) -> FakeSession:
        return FakeSession(replace(spec, faults=()), self.room, _nothing)

    def _before(self, step: int) -> None:
        self.before_step(step)

    def judge(self, session: FakeSession) -> FakeJudge:
        return FakeJudge(session, self.first_wrong)

    def open_trace(self, path: Path) -> SimpleNamespace:
        """A run of five steps of the model that the file is named after."""
        if path.stem == "damaged":
            raise TraceError(f"{path}: it is damaged")
        spec = RunSpec(path.stem, (97, 98), steps=4)
        recorded = SimpleNamespace(model=model_info(path.stem), digests=("",) * 5)
        return SimpleNamespace(spec=spec, recorded=recorded)

    def agreement(self, opened: SimpleNamespace, session: FakeSession) -> str:
        return "every step is the recorded one"

    def save_trace(self, path: Path, session: FakeSession, judge: FakeJudge, *, full: bool) -> None:
        self.saved.append((path, full))


class Placeholder(QLabel):
    """A view that shows its readout as text."""

    selected = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: object) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.pointed_at: object = None

    def show_readout(self, readout: str) -> None:
        self.shown.append(readout)
        self.setText(readout)

    def show_pointed(self, selection: object) -> None:
        self.pointed_at = selection


def dock_spec(dock_id: str = "probe", area: Area = "centre") -> DockSpec:
    """A panel whose readout is the step looked at."""
    return DockSpec(
        id=dock_id,
        title=dock_id.capitalize(),
        area=area,
        height_px=None,
        least_px=40,
        readout=lambda view: f"step {view.selection.step}",
        build=Placeholder,
    )
