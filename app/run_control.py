"""What the person can do with a run; between the actions and panels and the worker's answers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Signal, Slot

from app.advice import run_ended
from app.backend import Backend
from app.branches import with_fault_from, with_token
from app.draft import Draft
from app.edit_history import EditHistory, OldRun, edit_words
from app.notice import Notice
from app.run_flow import RunFlow
from app.situation import Situation
from app.wish import Goal
from core.errors import FaultError
from core.faults.known import BUILT_IN, KnownFaults
from core.selection import Selection
from core.spec import FaultUse

JUDGE_AT_ONCE = 1
JUMP = 10


class RunControl(RunFlow):
    """Every command on the run."""

    own_faults_changed = Signal(object)

    def __init__(
        self,
        make_backend: Callable[[], Backend],
        draft: Draft,
        known: KnownFaults = BUILT_IN,
    ) -> None:
        """Takes what makes the engine, and the first run, whose faults are among the known ones.

        `begin` starts both.
        """
        super().__init__(make_backend, draft, known)
        self._edits = EditHistory()
        self.end_reached.connect(self._tell_end)
        self.player.end_met.connect(self._tell_end)

    def situation(self) -> Situation:
        """What is the case now."""
        edits = self._edits
        return replace(super().situation(), undoable=edits.undoable, redoable=edits.redoable)

    # Along the run.

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
        """Stop playing and computing after the step in progress; what there is is judged."""
        self.player.pause()
        self._handle.cancel()
        self._judge_the_rest()

    # Another run.

    def restart(self) -> None:
        """The same run again, from its first step."""
        self.run(self.draft, 1, "newest", None)

    def set_up(self, draft: Draft) -> None:
        """Run with other settings: as many steps as before, looking at the same one."""
        goal = "newest" if self._wish is None else self._wish.goal
        draft = replace(draft, faults=self.draft.faults)
        self._edit(draft, self._n_again(), goal, self._same_place())

    def set_faults(self, ids: tuple[str, ...]) -> None:
        """Run with these faults: as many steps as before, looking at the first wrong one."""
        before = {use.id: use for use in self.draft.faults}
        uses = tuple(before.get(fault_id) or self.known.use(fault_id) for fault_id in ids)
        self._edit_faults(replace(self.draft, faults=uses))

    def try_fault(self, fault_id: str) -> None:
        """Switch a fault on, as if it had been ticked."""
        ids = tuple(use.id for use in self.draft.faults if use.id != fault_id)
        self.set_faults((*ids, fault_id))
        self.draft_loaded.emit(self.draft)

    def set_fault_from_here(self, fault_id: str) -> None:
        """Branch: the same up to the step looked at, from which on the fault acts."""
        step, use = self.cursor.selection.step, self.known.use(fault_id)
        self._edit_faults(with_fault_from(self.draft, use, step))
        self.draft_loaded.emit(self.draft)

    def force_token(self, token_id: int) -> None:
        """Branch: the same up to the step looked at, after which this token is read."""
        view = self.cursor.view()
        if view is None:
            return
        step = view.selection.step
        draft = with_token(self.draft, view.spec, view.records, step, token_id)
        if draft is None:
            words = f"step {step} chooses no token, so none can be forced there"
            self.noticed.emit(Notice(words, is_passing=True))
            return
        self._edit(draft, self._n_again(), "newest", step)
        self.draft_loaded.emit(draft)

    def show_fault(self, fault_id: str) -> None:
        """Run the scenario that shows a fault, and look at its first wrong step."""
        faults = self.known.find(fault_id)
        draft = Draft.of_scenario(faults[0].shows_in, tuple(fault.id for fault in faults))
        draft = replace(draft, faults=self.known.with_files(draft.faults))
        self.show_run(f"scenario of {fault_id}", draft)

    def show_run(self, words: str, draft: Draft) -> None:
        """Run what was chosen elsewhere, and look at its first wrong step; undo goes back."""
        self._edits.add(words, self.draft, draft, self._n_again())
        self.draft_loaded.emit(draft)
        self.run(draft, None, "first wrong", None)

    def undo(self) -> None:
        """Take back the last edit of what is run."""
        self._go_back_to(self._edits.undo(self._n_again()))

    def redo(self) -> None:
        """Do again what was taken back."""
        self._go_back_to(self._edits.redo(self._n_again()))

    def load_faults(self, path: Path) -> None:
        """Run a file of a person's own, who was asked, and list its faults.

        A file that was loaded before is replaced; where its faults are on, they run anew.
        """
        from core.faults.fault_files import load_fault_file  # here: few ever need it

        try:
            loaded = load_fault_file(path)
            known = self.known.with_file(loaded)
        except FaultError as error:
            self.noticed.emit(Notice(str(error)))
            return
        before = {fault.id for fault in self.known.own if fault.path == loaded[0].path}
        self.known = known
        self._tell_known()
        self.own_faults_changed.emit(known.own)
        ids = tuple(fault.id for fault in loaded)
        self.noticed.emit(Notice(f"loaded from {path.name}: {', '.join(ids)}", is_passing=True))
        stale = before.difference(ids)
        uses = tuple(use for use in self.draft.faults if use.file is None or use.id not in stale)
        faults = tuple(use if use.file is None else self._newest(use) for use in uses)
        if faults != self.draft.faults:
            self._edit_faults(replace(self.draft, faults=faults))
            self.draft_loaded.emit(self.draft)

    def _newest(self, use: FaultUse) -> FaultUse:
        """The same use of the text that its file has now."""
        return replace(use, file=self.known.use(use.id).file or use.file)

    # Files.

    def open_trace(self, path: Path) -> None:
        """Open a file, make its run again, and say how the two compare."""
        self._handle.open_trace(path)

    def save_trace(self, path: Path, *, full: bool) -> None:
        """Write the run shown to a file."""
        shown = self._shown_again()
        if shown is not None:
            self._handle.save_trace(shown, path, full=full)

    # What they share.

    def _edit(self, draft: Draft, n_records: int | None, goal: Goal, look_at: int | None) -> None:
        words = edit_words(self.draft, draft)
        self._edits.add(words, self.draft, draft, self._n_again())
        self.run(draft, n_records, goal, look_at)

    def _edit_faults(self, draft: Draft) -> None:
        goal: Goal = "first wrong" if draft.faults else "newest"
        self._edit(draft, self._n_again(), goal, self._same_place())

    def _go_back_to(self, old: OldRun | None) -> None:
        """Make a run again that there was before, and show what decides it in the form."""
        if old is not None:
            self.draft_loaded.emit(old.draft)
            self.run(old.draft, old.n_records, "newest", self._same_place())

    def _go(self, step: int) -> None:
        self.player.pause()
        self.cursor.go(step)
        self._take_place_along()

    def _forward_by(self, n: int) -> None:
        n_recorded = max(0, self.cursor.n_records - 1 - self.cursor.selection.step)
        self._go(self.cursor.selection.step + n)
        if n > n_recorded and (self._wish is not None or self.cursor.end is None):
            self._ask(n - n_recorded, JUDGE_AT_ONCE)
        elif self.cursor.is_at_newest:
            self._tell_end()

    @Slot()
    def _tell_end(self) -> None:
        """Where the run is over and its last step is looked at, say why, and what to do."""
        end = self._run_end
        if end is not None and self.cursor.is_at_newest:
            ended = run_ended(end, self._shown_draft, self._take)
            silence = self._silence()
            told = ended if silence is None else replace(silence, second_offer=ended.offer)
            self.noticed.emit(told)

    def _take(self, draft: Draft) -> None:
        """What a notice offers, as if it had been set in the form."""
        self.draft_loaded.emit(draft)
        self.set_up(draft)

    def _take_place_along(self) -> None:
        """Whoever moves while another run is on its way looks at the same step there."""
        if self._wish is not None and self.cursor.n_records:
            self._wish = replace(self._wish, look_at=self._place())

    def _n_again(self) -> int | None:
        """As many steps as there are; where the run ended before its time, as were asked for."""
        if self._wish is not None:
            return self._wish.n_records
        n_records = max(1, self.cursor.n_records)
        if self.cursor.end is None:
            return n_records
        return None if self._n_wanted is None else max(n_records, self._n_wanted)

    def _same_place(self) -> int | None:
        return self._place() if self._wish is None else self._wish.look_at

    def _place(self) -> int | None:
        return None if self.cursor.is_at_newest else self.cursor.selection.step
