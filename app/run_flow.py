"""Which run is asked for, which is shown, what is still due, and which are kept.

One file, because every request is answered here: these four are one state.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.advice import RunEnd, end_words, nothing_shows
from app.backend import Backend
from app.cursor import Cursor
from app.draft import Draft
from app.engine_handle import EngineHandle
from app.held_run import HeldRun
from app.messages import (
    Again,
    Ended,
    Failed,
    Idle,
    Opened,
    OpenedElsewhere,
    Ready,
    Recorded,
    Remade,
    Said,
    Started,
)
from app.notice import Notice
from app.player import Player
from app.reasons import BROKEN
from app.runs import RunShelf
from app.situation import Situation
from app.wish import Goal, Wish
from core.faults.known import BUILT_IN, KnownFaults
from core.outcome import Ok
from core.record import StepRecord
from core.tracefile import OpenedTrace

JUDGED_PER_S = 2
"""While playing, steps are judged in batches, so many batches a second at most."""


class RunFlow(QObject):
    """Owns the engine's handle, the cursor, the player and the runs."""

    situation_changed = Signal()
    rested = Signal()
    ready = Signal(object)
    draft_loaded = Signal(object)
    opened_elsewhere = Signal(object)
    run_asked = Signal()
    run_started = Signal()
    stepped = Signal()
    misfit = Signal(object)
    noticed = Signal(object)
    end_reached = Signal()
    wrong_reached = Signal(str)
    faults_chosen = Signal()

    def __init__(
        self,
        make_backend: Callable[[], Backend],
        draft: Draft,
        known: KnownFaults = BUILT_IN,
    ) -> None:
        """Takes what makes the engine, and the first run, whose faults are among the known ones.

        `begin` starts both.
        """
        super().__init__()
        self.draft = draft
        self.known = known
        self.cursor = Cursor(self)
        self.player = Player(self.cursor, self._ask_while_playing, self)
        self.runs = RunShelf()
        self._handle = EngineHandle(make_backend, self)
        self._is_ready = False
        self._is_broken = False
        self._n_pending = 0
        self._wish: Wish | None = Wish()
        self._n_wanted: int | None = 1
        self._starting_id: int | None = None
        self._file: Path | None = None
        self._connect()
        self._tell_known()

    def show_recorded(self, draft: Draft, held: HeldRun) -> None:
        """Look at a run that was made elsewhere; the engine takes it over once it is there."""
        self.draft = draft
        self._wish, self._n_wanted = None, len(held.records)
        started = replace(held.started, run_id=self._handle.new_run_id(), draft=draft)
        self.cursor.take_up(replace(held, started=started))

    def begin(
        self, n_records: int | None, goal: Goal, look_at: int | None, file: Path | None = None
    ) -> None:
        """Load the engine, then run the first draft, or what a file says."""
        self._wish = Wish(n_records, goal, look_at)
        self._file = file
        self._handle.load()

    def take_over(self) -> None:
        """Load the engine, then make the run that is shown again, behind what is shown."""
        self._handle.load()
        self._ask(0, 1)

    def close(self, limit_ms: int) -> bool:
        """Stop everything; false if the engine still computes after `limit_ms`."""
        self.player.pause()
        return self._handle.close(limit_ms)

    def situation(self) -> Situation:
        """What is the case now."""
        cursor, end = self.cursor, self._run_end
        return Situation(
            is_ready=self._is_ready,
            is_broken=self._is_broken,
            is_starting=self._wish is not None,
            is_busy=self._n_pending > 0,
            is_playing=self.player.is_playing,
            n_records=cursor.n_records,
            step=cursor.selection.step,
            end=None if end is None else end.reason,
            end_words=None if end is None else end_words(end, self._shown_draft),
            first_wrong=cursor.first_wrong,
            is_judged=cursor.n_verdicts == cursor.n_records,
        )

    def run(
        self,
        draft: Draft,
        n_records: int | None,
        goal: Goal,
        look_at: int | None,
        opened: OpenedTrace | None = None,
    ) -> None:
        """Start a run; where it cannot be started, the run shown stays.

        Before the engine is there the run is kept in mind; `opened` is the file it comes from.
        """
        self.draft = draft
        self._wish, self._n_wanted = Wish(n_records, goal, look_at), n_records
        self.player.nothing_more()
        self.run_asked.emit()
        if draft.faults:
            self.faults_chosen.emit()
        if self._is_broken:
            self._wish = None
            self.noticed.emit(Notice(f"{BROKEN}: nothing can be run"))
        elif self._is_ready:
            self._n_pending += 1
            self._starting_id = self._handle.start(draft, n_records, opened)
        self.situation_changed.emit()

    def look_at_run(self, number: int) -> None:
        """Look at a run that was kept; its settings stand in the form again."""
        if number == self.cursor.run_id:
            return
        held = self.runs.take(number)
        if held is None:
            return
        self.player.nothing_more()
        self._handle.cancel()
        self._starting_id, self._wish = None, None
        self._n_wanted = len(held.records)
        self._put_away()
        self.draft = held.started.draft
        self.draft_loaded.emit(self.draft)
        self.cursor.take_up(held)
        self.cursor.show_other_runs(self.runs.summaries)
        self.run_started.emit()
        if self._is_ready:
            self._judge_the_rest()
        self.situation_changed.emit()

    # What the worker answers.

    @Slot(object)
    def _on_ready(self, message: Ready) -> None:
        self._is_ready = True
        self.ready.emit(message)
        if self._file is not None:
            self._handle.open_trace(self._file)
        elif self._wish is not None:
            self.run(self.draft, self._wish.n_records, self._wish.goal, self._wish.look_at)
        self.situation_changed.emit()

    @Slot(object)
    def _on_opened(self, message: Opened) -> None:
        look_at = None if self._file is None or self._wish is None else self._wish.look_at
        self._file = None
        self.draft_loaded.emit(message.draft)
        self.run(message.draft, message.n_records, "newest", look_at, message.trace)

    @Slot(object)
    def _on_opened_elsewhere(self, message: OpenedElsewhere) -> None:
        """No run of ours: it is shown beside the one that there is."""
        self._do_without_file()
        self.opened_elsewhere.emit(message)

    def _do_without_file(self) -> None:
        """The file named at the start is none of our runs: the usual one."""
        if self._file is not None:
            self._file = None
            if self._starting_id is None and self.cursor.run is None:
                self.run(self.draft, 1, "newest", None)

    @Slot(object)
    def _on_said(self, message: Said) -> None:
        if message.run_id == self.cursor.run_id:
            self.noticed.emit(Notice(message.text, is_passing=message.is_passing))

    @Slot(object)
    def _on_started(self, message: Started) -> None:
        if message.run_id == self._starting_id and self._wish is not None:
            self._put_away()
            self.cursor.begin(message, look_at=self._wish.look_at)
            self.cursor.show_other_runs(self.runs.summaries)
            self.run_started.emit()

    @Slot(object)
    def _on_remade(self, message: Remade) -> None:
        """The run shown was made again: the new steps take the place of the old ones."""
        held = self.cursor.held()
        if held is None or message.run_id != held.started.run_id or not message.records:
            return
        different = _first_different(held.records, message.records)
        self.cursor.take_up(
            replace(
                held,
                started=message.started,
                spec=message.spec,
                records=message.records,
                clean=message.clean,
                verdicts={verdict.step: verdict for verdict in message.verdicts},
                end=message.end,
                history=message.history,
                clean_history=message.clean_history,
            )
        )
        if different is not None:
            words = f"made again here, step {different} is another one than before"
            self.noticed.emit(Notice(words, is_passing=True))

    @Slot(object)
    def _on_recorded(self, message: Recorded) -> None:
        if message.run_id == self.cursor.run_id:
            self.player.received(len(message.records))
            self.stepped.emit()
        self.cursor.add_records(message)

    @Slot(object)
    def _on_ended(self, message: Ended) -> None:
        self.cursor.set_end(message)
        if message.run_id == self.cursor.run_id:
            was_playing = self.player.is_playing
            self.player.nothing_more()
            self.situation_changed.emit()
            if was_playing or (self._wish is None and self.cursor.is_at_newest):
                self.end_reached.emit()

    @Slot(object)
    def _on_idle(self, message: Idle) -> None:
        self._n_pending -= 1
        if self._n_pending == 0:
            self._handle.forget()
        if message.run_id == self._starting_id and self._wish is not None:
            goal = self._wish.goal
            self._starting_id, self._wish = None, None
            self._arrive(message.run_id, goal)
        if self._n_pending == 0:
            self.rested.emit()
        self.situation_changed.emit()

    @Slot(object)
    def _on_failed(self, message: Failed) -> None:
        self.player.nothing_more()
        if not self._is_ready:
            self._is_broken = True
            self._wish = None
            self.situation_changed.emit()
        else:
            self._do_without_file()
        if message.place is not None:
            self.misfit.emit(message)
        else:
            self.noticed.emit(Notice(message.message, message.details))

    def _arrive(self, run_id: int, goal: Goal) -> None:
        """All first steps are there, and judged."""
        cursor = self.cursor
        cursor.settle()
        if run_id != cursor.run_id:
            return
        step, silence = cursor.first_wrong, self._silence()
        if step is not None and goal == "first wrong":
            self.player.pause()
            cursor.go(step)
            self._tell_where_wrong(step)
        elif cursor.end is not None and cursor.is_at_newest:
            self.end_reached.emit()
        elif silence is not None:
            self.noticed.emit(silence)

    def _silence(self) -> Notice | None:
        """Why faults that are on make no step wrong; None: none is on, one shows, or may yet."""
        cursor, view = self.cursor, self.cursor.view()
        if view is None or not view.spec.faults or cursor.first_wrong is not None:
            return None
        is_judged = cursor.n_verdicts == cursor.n_records
        was_any_read = any(isinstance(record.outcome, Ok) for record in view.records)
        return nothing_shows(view, self.show_fault) if is_judged and was_any_read else None

    @property
    def _position_limit(self) -> int | None:
        """Positions that the model of the run shown has; None: no end of them."""
        run = self.cursor.run
        return None if run is None else run.model.config.position_limit

    @property
    def _shown_draft(self) -> Draft:
        """What decides the run shown; what was asked for last may be what cannot be run."""
        return self.draft if self.cursor.run is None else self.cursor.run.draft

    @property
    def _run_end(self) -> RunEnd | None:
        """How the run shown ended; None: it can go on, or another one is on its way."""
        cursor, view = self.cursor, self.cursor.view()
        if self._wish is not None or cursor.end is None or view is None:
            return None
        last = view.records[-1]
        return RunEnd(cursor.end, last, view.verdicts.get(last.step), self._position_limit)

    def _tell_where_wrong(self, step: int) -> None:
        view = self.cursor.view()
        first = None if view is None else view.verdicts[step].first_difference
        if first is not None:
            self.wrong_reached.emit(first.field)

    def show_fault(self, fault_id: str) -> None:
        """Run the scenario that shows a fault; made by whoever takes commands."""
        raise NotImplementedError

    @Slot()
    def _judge_the_rest(self) -> None:
        again = self._again()
        if again is not None and self.cursor.n_verdicts < self.cursor.n_records:
            self._n_pending += 1
            self._handle.judge_rest(again)

    def _tell_known(self) -> None:
        """Everybody who needs them learns which faults there are."""
        self._handle.use_faults(self.known)
        self.cursor.know(self.known.codes)

    def _put_away(self) -> None:
        held = self.cursor.held()
        if held is not None:
            self.runs.keep(held)

    def _ask_while_playing(self) -> None:
        self._ask(1, max(1, round(self.player.speed / JUDGED_PER_S)))

    def _ask(self, n: int, judge_every: int) -> None:
        """Ask for steps of the run asked for last: the one shown, or one that is on its way."""
        again = self._again()
        if again is not None:
            if self._wish is not None:
                self._wish = self._wish.with_more(n)
            elif n and self._n_wanted is None:  # beyond the steps that were planned
                self._n_wanted = self.cursor.n_records + n
            self._n_pending += 1
            self._handle.advance(again, n, judge_every)
            self.situation_changed.emit()

    def _again(self) -> Again | None:
        """The run asked for last, and how to make it again; None: there is none."""
        if self._starting_id is not None:
            return self._handle.again(self._starting_id, self.draft, 0)
        return self._shown_again()

    def _shown_again(self) -> Again | None:
        run = self.cursor.run
        if run is None:
            return None
        return self._handle.again(run.run_id, run.draft, self.cursor.n_records)

    def _connect(self) -> None:
        worker = self._handle.worker
        worker.ready.connect(self._on_ready)
        worker.started.connect(self._on_started)
        worker.remade.connect(self._on_remade)
        worker.recorded.connect(self._on_recorded)
        worker.clean_recorded.connect(self.cursor.add_clean)
        worker.judged.connect(self.cursor.add_verdicts)
        worker.ended.connect(self._on_ended)
        worker.idle.connect(self._on_idle)
        worker.failed.connect(self._on_failed)
        worker.opened.connect(self._on_opened)
        worker.opened_elsewhere.connect(self._on_opened_elsewhere)
        worker.said.connect(self._on_said)
        self.cursor.changed.connect(self.situation_changed)
        self.player.changed.connect(self.situation_changed)
        self.player.stopped.connect(self._judge_the_rest)


def _first_different(old: tuple[StepRecord, ...], new: tuple[StepRecord, ...]) -> int | None:
    """The first step that read or chose another token; None: numbers may differ by rounding."""
    for before, after in zip(old, new, strict=False):
        if (before.token_ids, before.next_token) != (after.token_ids, after.next_token):
            return after.step
    return None if len(old) == len(new) else min(len(old), len(new))
