"""The received part of a run, and the place in it that is looked at. Nothing is computed here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from PySide6.QtCore import QObject, Signal, Slot

from app.held_run import HeldRun
from app.messages import CleanRecorded, Ended, Judged, Recorded, Started
from core.faults.function_source import OwnCode
from core.outcome import EndReason
from core.readouts.run_history import RunHistory
from core.readouts.run_summary import RunSummary
from core.readouts.run_view import RunView
from core.record import StepRecord
from core.selection import Selection
from core.spec import RunSpec
from core.verdict import StepVerdict


class Cursor(QObject):
    """Records, verdicts and the selection; going back or along is a change of one number."""

    run_changed = Signal()
    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        """Without a run."""
        super().__init__(parent)
        self._started: Started | None = None
        self._spec: RunSpec | None = None
        self._forget()
        self._selection = Selection()
        self._target: int | None = None
        self._end: EndReason | None = None
        self._other_runs: tuple[RunSummary, ...] = ()
        self._own: tuple[OwnCode, ...] = ()

    @property
    def run(self) -> Started | None:
        """The run whose records these are; None: there is none yet."""
        return self._started

    @property
    def run_id(self) -> int | None:
        """Number of the run; answers that belong to another one are dropped."""
        return None if self._started is None else self._started.run_id

    @property
    def selection(self) -> Selection:
        """What is looked at."""
        return self._selection

    @property
    def records(self) -> Sequence[StepRecord]:
        """The steps received so far."""
        return self._records

    @property
    def n_records(self) -> int:
        """How many steps were received."""
        return len(self._records)

    @property
    def newest(self) -> int | None:
        """Number of the newest step; None: no step yet."""
        return self.n_records - 1 if self._records else None

    @property
    def end(self) -> EndReason | None:
        """Why no further step can come; None: one can be asked for."""
        return self._end

    @property
    def is_at_newest(self) -> bool:
        """Whether the newest step is the one looked at."""
        return self._selection.step == self.newest

    @property
    def first_wrong(self) -> int | None:
        """The first step with a verdict that is wrong, as far as they are known."""
        return self._first_wrong

    @property
    def n_verdicts(self) -> int:
        """How many steps were judged."""
        return len(self._verdicts)

    @property
    def verdict(self) -> StepVerdict | None:
        """The verdict of the step looked at; None: pending."""
        return self._verdicts.get(self._selection.step)

    def begin(self, started: Started, *, look_at: int | None) -> None:
        """Take up another run; `look_at` is the step to stop at, None: follow the newest."""
        self._started, self._spec = started, started.spec
        self._forget()
        self._target, self._end = look_at, None
        kept = Selection(layer=self._selection.layer, head=self._selection.head)
        self._selection = self._in_range(kept)
        self.run_changed.emit()

    def held(self) -> HeldRun | None:
        """The run as far as it was received; None: no step yet."""
        if self._started is None or self._spec is None or not self._records:
            return None
        return HeldRun(
            self._started,
            self._spec,
            self._records,
            self._clean,
            self._verdicts,
            self._end,
            self._selection,
            self._history,
            self._clean_history,
        )

    def take_up(self, held: HeldRun) -> None:
        """Look at a run that was received before, at the place that it says."""
        is_other = held.started.run_id != self.run_id
        self._started, self._spec = held.started, held.spec
        self._records, self._clean = held.records, held.clean
        self._history, self._clean_history = held.history, held.clean_history
        self._verdicts, self._end = held.verdicts, held.end
        wrong = (step for step, verdict in held.verdicts.items() if verdict.is_wrong)
        self._first_wrong = min(wrong, default=None)
        self._target = None
        step = min(held.selection.step, len(held.records) - 1)
        self._selection = self._in_range(replace(held.selection, step=step))
        if is_other:
            self.run_changed.emit()
        self.changed.emit()

    def show_other_runs(self, runs: tuple[RunSummary, ...]) -> None:
        """These are kept beside the one looked at."""
        self._other_runs = runs
        self.changed.emit()

    def know(self, own: tuple[OwnCode, ...]) -> None:
        """These are the faults that were loaded from files."""
        self._own = own
        self.changed.emit()

    def add_records(self, message: Recorded) -> None:
        """Take the next steps; whoever looked at the newest step goes on doing so."""
        if message.run_id != self.run_id:
            return
        follows = self.is_at_newest or not self._records
        self._spec = message.spec
        self._records = (*self._records, *message.records)
        self._history.extend(message.records)
        if follows:
            self._look_at(self._stop_or_newest())
        self.changed.emit()

    @Slot(object)
    def add_clean(self, message: CleanRecorded) -> None:
        """Take the next steps of the run without faults."""
        if message.run_id == self.run_id:
            self._clean = (*self._clean, *message.records)
            self._clean_history.extend(message.records)
            self.changed.emit()

    @Slot(object)
    def add_verdicts(self, message: Judged) -> None:
        """Take verdicts."""
        if message.run_id == self.run_id:
            new = {verdict.step: verdict for verdict in message.verdicts}
            self._verdicts = MappingProxyType({**self._verdicts, **new})
            wrong = [step for step, verdict in new.items() if verdict.is_wrong]
            known = [] if self._first_wrong is None else [self._first_wrong]
            self._first_wrong = min((*known, *wrong), default=None)
            self.changed.emit()

    def set_end(self, message: Ended) -> None:
        """The run is over; a run that was cancelled can go on."""
        if message.run_id == self.run_id and message.reason != "cancelled":
            self._end = message.reason
            self.changed.emit()

    def settle(self) -> None:
        """The steps that were asked for at the start are there: stop at none of them any more."""
        self._target = None

    def go(self, step: int) -> None:
        """Look at a step that was received; beyond either end, at the nearest one."""
        if self.newest is not None:
            self._target = None
            self.select(replace(self._selection, step=min(max(step, 0), self.newest)))

    def select(self, selection: Selection) -> None:
        """Look at something; a step that is not there is refused."""
        is_there = 0 <= selection.step < max(1, self.n_records)
        wanted = self._in_range(selection)
        if is_there and wanted != self._selection:
            self._selection = wanted
            self.changed.emit()

    def view(self) -> RunView | None:
        """What readouts are made from; None: no step yet."""
        if self._started is None or self._spec is None or not self._records:
            return None
        return RunView(
            spec=self._spec,
            model=self._started.model,
            records=self._records,
            verdicts=self._verdicts,
            clean=self._clean,
            token_text=self._started.token_text,
            selection=self._selection,
            history=self._history,
            clean_history=self._clean_history,
            run_number=self._started.run_id,
            other_runs=self._other_runs,
            own=self._own,
        )

    def _forget(self) -> None:
        """No step yet. What views are made of is replaced when it grows, never changed."""
        self._records: tuple[StepRecord, ...] = ()
        self._clean: tuple[StepRecord, ...] = ()
        self._verdicts: Mapping[int, StepVerdict] = MappingProxyType({})
        self._first_wrong: int | None = None
        self._history = RunHistory()
        self._clean_history = RunHistory()

    def _in_range(self, selection: Selection) -> Selection:
        """The same, or the last layer and head where the model has fewer than that."""
        if self._started is None:
            return selection
        config = self._started.model.config
        return replace(
            selection,
            layer=min(selection.layer, config.n_layers - 1),
            head=min(selection.head, config.n_heads - 1),
        )

    def _stop_or_newest(self) -> int:
        newest = self.n_records - 1
        return newest if self._target is None else min(self._target, newest)

    def _look_at(self, step: int) -> None:
        self._selection = replace(self._selection, step=step)
