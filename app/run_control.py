"""What the person can do with a run; between the actions and panels and the worker's answers.

One file of more than 300 lines, because every command here is answered here: which run is asked
for, which is shown, and what is still due are one state.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.backend import Backend
from app.cursor import Cursor
from app.draft import Draft
from app.engine_handle import EngineHandle
from app.messages import (
    Ended,
    Failed,
    Idle,
    Opened,
    Ready,
    Recorded,
    Said,
    Started,
)
from app.notice import Notice, Offer
from app.player import Player
from app.situation import Situation
from app.wish import Goal, Wish
from core.faults.catalog import find_faults
from core.selection import Selection
from core.spec import FaultUse
from core.tracefile import OpenedTrace

JUDGE_AT_ONCE = 1
JUDGED_PER_S = 2
"""While playing, steps are judged in batches, so many batches a second at most."""
JUMP = 10


class RunControl(QObject):
    """Owns the engine's handle, the cursor and the player."""

    situation_changed = Signal()
    rested = Signal()
    ready = Signal(object)
    draft_loaded = Signal(object)
    run_asked = Signal()
    run_started = Signal()
    stepped = Signal()
    misfit = Signal(object)
    noticed = Signal(object)

    def __init__(self, make_backend: Callable[[], Backend], draft: Draft) -> None:
        """Takes what makes the engine, and the first run; `begin` starts both."""
        super().__init__()
        self.draft = draft
        self.cursor = Cursor(self)
        self.player = Player(self.cursor, self._ask_while_playing, self)
        self._handle = EngineHandle(make_backend, self)
        self._is_ready = False
        self._is_broken = False
        self._n_pending = 0
        self._wish: Wish | None = Wish()
        self._starting_id: int | None = None
        self._file: Path | None = None
        self._connect()

    def begin(
        self, n_records: int | None, goal: Goal, look_at: int | None, file: Path | None = None
    ) -> None:
        """Load the engine, then run the first draft, or what a file says."""
        self._wish = Wish(n_records, goal, look_at)
        self._file = file
        self._handle.load()

    def close(self, limit_ms: int) -> bool:
        """Stop everything; false if the engine still computes after `limit_ms`."""
        self.player.pause()
        return self._handle.close(limit_ms)

    def situation(self) -> Situation:
        """What is the case now."""
        cursor = self.cursor
        return Situation(
            is_ready=self._is_ready,
            is_broken=self._is_broken,
            is_starting=self._wish is not None,
            is_busy=self._n_pending > 0,
            is_playing=self.player.is_playing,
            n_records=cursor.n_records,
            step=cursor.selection.step,
            end=cursor.end if self._wish is None else None,
            first_wrong=cursor.first_wrong,
            is_judged=cursor.n_verdicts == cursor.n_records,
        )

    # What the person does.

    def first(self) -> None:
        """Look at step 0."""
        self._go(0)

    def last(self) -> None:
        """Look at the newest step."""
        self._go(self.cursor.n_records - 1)

    def back(self) -> None:
        """One step back."""
        self._go(self.cursor.selection.step - 1)

    def forward(self) -> None:
        """One step on; past the newest one, the engine makes it."""
        self._forward_by(1)

    def jump_back(self) -> None:
        """Ten steps back."""
        self._go(self.cursor.selection.step - JUMP)

    def jump_on(self) -> None:
        """Ten steps on."""
        self._forward_by(JUMP)

    def go_to(self, step: int) -> None:
        """Look at a step that was recorded."""
        self._go(step)

    def select(self, selection: Selection) -> None:
        """Look at what was chosen in a panel."""
        self.cursor.select(selection)
        self._take_place_along()

    def go_to_tenth(self, tenth: int) -> None:
        """Look at the step that stands at so many tenths of the run."""
        self._go(round((self.cursor.n_records - 1) * tenth / 10))

    def to_first_wrong(self) -> None:
        """Look at the first step that is wrong."""
        step = self.cursor.first_wrong
        if step is not None:
            self._go(step)

    def play_or_pause(self) -> None:
        """Go on of itself, or stay."""
        if self.player.is_playing:
            self.player.pause()
        else:
            self.player.play()

    def stop(self) -> None:
        """Stop playing and computing after the step in progress."""
        self.player.pause()
        self._handle.cancel()

    def restart(self) -> None:
        """The same run again, from its first step."""
        self.run(self.draft, 1, "newest", None)

    def set_up(self, draft: Draft) -> None:
        """Run with other settings: as many steps as before, looking at the same one."""
        goal = "newest" if self._wish is None else self._wish.goal
        draft = replace(draft, faults=self.draft.faults)
        self.run(draft, self._n_again(), goal, self._same_place())

    def set_faults(self, ids: tuple[str, ...]) -> None:
        """Run with these faults: as many steps as before, looking at the first wrong one."""
        known = {use.id: use for use in self.draft.faults}
        uses = tuple(known.get(fault_id, FaultUse(fault_id)) for fault_id in ids)
        goal: Goal = "first wrong" if uses else "newest"
        self.run(replace(self.draft, faults=uses), self._n_again(), goal, self._same_place())

    def show_fault(self, fault_id: str) -> None:
        """Run the scenario that shows a fault, and look at its first wrong step."""
        faults = find_faults(fault_id)
        draft = Draft.of_scenario(faults[0].shows_in, tuple(fault.id for fault in faults))
        self.draft_loaded.emit(draft)
        self.run(draft, None, "first wrong", None)

    def open_trace(self, path: Path) -> None:
        """Open a file, make its run again, and say how the two compare."""
        self._handle.open_trace(path)

    def save_trace(self, path: Path, *, full: bool) -> None:
        """Write the run shown to a file."""
        if self.cursor.run_id is not None:
            self._handle.save_trace(self.cursor.run_id, path, full=full)

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
        self._wish = Wish(n_records, goal, look_at)
        self.player.nothing_more()
        self.run_asked.emit()
        if self._is_ready:
            self._n_pending += 1
            self._starting_id = self._handle.start(draft, n_records, opened)
            self.situation_changed.emit()

    # What the worker answers.

    @Slot(object)
    def _on_ready(self, message: Ready) -> None:
        self._is_ready = True
        self.ready.emit(message)
        if self._file is not None:
            self.open_trace(self._file)
        elif self._wish is not None:
            self.run(self.draft, self._wish.n_records, self._wish.goal, self._wish.look_at)

    @Slot(object)
    def _on_opened(self, message: Opened) -> None:
        look_at = None if self._file is None or self._wish is None else self._wish.look_at
        self._file = None
        self.draft_loaded.emit(message.draft)
        self.run(message.draft, message.n_records, "newest", look_at, message.trace)

    @Slot(object)
    def _on_said(self, message: Said) -> None:
        if message.run_id == self.cursor.run_id:
            self.noticed.emit(Notice(message.text, is_passing=message.is_passing))

    @Slot(object)
    def _on_started(self, message: Started) -> None:
        if message.run_id == self._starting_id and self._wish is not None:
            self.cursor.begin(message, look_at=self._wish.look_at)
            self.run_started.emit()

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
            self.player.nothing_more()
            self.situation_changed.emit()

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
            self.situation_changed.emit()
        elif self._file is not None:
            self._file = None  # the file named at the start cannot be opened: the usual run
            if self._starting_id is None and self.cursor.run is None:
                self.run(self.draft, 1, "newest", None)
        if message.place is not None:
            self.misfit.emit(message)
        else:
            self.noticed.emit(Notice(message.message, message.details))

    def _arrive(self, run_id: int, goal: Goal) -> None:
        """All first steps are there, and judged."""
        self.cursor.settle()
        if run_id != self.cursor.run_id or goal != "first wrong":
            return
        step = self.cursor.first_wrong
        if step is not None:
            self._go(step)
        elif self.draft.faults:
            self.noticed.emit(self._nothing_shows(self.draft.faults[-1].id))

    def _nothing_shows(self, fault_id: str) -> Notice:
        n = self.cursor.n_records
        steps = "its one step" if n == 1 else f"its {n} steps"
        text = f"{fault_id} is on, and nothing is wrong in {steps}: this run does not show it (yet)"
        offer = Offer("Load the scenario that shows it", self._shower(fault_id))
        return Notice(text, offer=offer, is_passing=True)

    def _shower(self, fault_id: str) -> Callable[[], None]:
        return lambda: self.show_fault(fault_id)

    @Slot()
    def _judge_the_rest(self) -> None:
        if self.cursor.run_id is not None:
            self._handle.judge_rest(self.cursor.run_id)

    def _go(self, step: int) -> None:
        self.player.pause()
        self.cursor.go(step)
        self._take_place_along()

    def _forward_by(self, n: int) -> None:
        n_recorded = max(0, self.cursor.n_records - 1 - self.cursor.selection.step)
        self._go(self.cursor.selection.step + n)
        if n > n_recorded and (self._wish is not None or self.cursor.end is None):
            self._ask(n - n_recorded, JUDGE_AT_ONCE)

    def _take_place_along(self) -> None:
        """Whoever moves while another run is on its way looks at the same step there."""
        if self._wish is not None and self.cursor.n_records:
            self._wish = replace(self._wish, look_at=self._place())

    def _ask_while_playing(self) -> None:
        self._ask(1, max(1, round(self.player.speed / JUDGED_PER_S)))

    def _ask(self, n: int, judge_every: int) -> None:
        """Ask for steps of the run asked for last: the one shown, or one that is on its way."""
        run_id = self.cursor.run_id if self._starting_id is None else self._starting_id
        if run_id is not None:
            if self._wish is not None:
                self._wish = self._wish.with_more(n)
            self._n_pending += 1
            self._handle.advance(run_id, n, judge_every)
            self.situation_changed.emit()

    def _n_again(self) -> int | None:
        return max(1, self.cursor.n_records) if self._wish is None else self._wish.n_records

    def _same_place(self) -> int | None:
        return self._place() if self._wish is None else self._wish.look_at

    def _place(self) -> int | None:
        return None if self.cursor.is_at_newest else self.cursor.selection.step

    def _connect(self) -> None:
        worker = self._handle.worker
        worker.ready.connect(self._on_ready)
        worker.started.connect(self._on_started)
        worker.recorded.connect(self._on_recorded)
        worker.clean_recorded.connect(self.cursor.add_clean)
        worker.judged.connect(self.cursor.add_verdicts)
        worker.ended.connect(self._on_ended)
        worker.idle.connect(self._on_idle)
        worker.failed.connect(self._on_failed)
        worker.opened.connect(self._on_opened)
        worker.said.connect(self._on_said)
        self.cursor.changed.connect(self.situation_changed)
        self.player.changed.connect(self.situation_changed)
        self.player.stopped.connect(self._judge_the_rest)
