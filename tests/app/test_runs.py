"""Several runs: kept, looked at again, gone on with, branched, and edits taken back."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from app.advice import RunEnd, run_ended
from app.draft import Draft
from app.held_run import HeldRun
from app.messages import Started
from app.notice import Notice
from app.run_control import RunControl
from app.runs import MOST_BYTES, MOST_RUNS, RunShelf
from core.engine.types import Ledger
from core.outcome import OK, EndReason, PositionLimit, Refused
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.selection import Selection
from core.spec import FaultUse, RunSpec
from tests.app.fakes import FakeBackend, model_info, record, verdict

DRAFT = Draft("learned", "ab")
SMALLER = replace(DRAFT, capacity=9)


class Desk:
    """A control with its backend and what it said."""

    def __init__(self, qtbot) -> None:
        self.backend = FakeBackend()
        self.control = RunControl(lambda: self.backend, DRAFT)
        self.notices: list[Notice] = []
        self.drafts: list[Draft] = []
        self.control.noticed.connect(self.notices.append)
        self.control.draft_loaded.connect(self.drafts.append)
        self._qtbot = qtbot

    def do(self, act: Callable[[], object]) -> None:
        """Act, and wait until everything that was asked for is there."""
        with self._qtbot.waitSignal(self.control.rested):
            act()

    @property
    def place(self) -> tuple[int, int]:
        """The step looked at, and how many there are."""
        return self.control.cursor.selection.step, self.control.cursor.n_records

    @property
    def kept(self) -> list[int]:
        """Numbers of the other runs."""
        return [facts.number for facts in self.control.cursor.view().other_runs]


@pytest.fixture
def desk(qtbot) -> Iterator[Desk]:
    """A desk with a run of one step."""
    made = Desk(qtbot)
    made.do(lambda: made.control.begin(1, "newest", None))
    yield made
    assert made.control.close(5000)


def held(number: int = 0, n_records: int = 3) -> HeldRun:
    """A run that was made elsewhere: three steps, the second looked at."""
    spec = RunSpec("learned", (97, 98), steps=n_records - 1)
    records = tuple(record(step) for step in range(n_records))
    started = Started(number, DRAFT, spec, model_info("learned"), lambda token_id: f"t{token_id}")
    return HeldRun(
        started=started,
        spec=spec,
        records=records,
        clean=(),
        verdicts=MappingProxyType({step: verdict(step) for step in range(n_records)}),
        end=None,
        selection=Selection(step=1, layer=2, head=3, token_index=1),
        history=RunHistory(records),
        clean_history=RunHistory(),
    )


# Runs that are kept.


def test_the_old_run_is_kept_when_another_begins(desk):
    desk.do(desk.control.jump_on)
    desk.do(lambda: desk.control.set_up(SMALLER))
    (old,) = desk.control.cursor.view().other_runs
    assert (old.number, old.n_steps, old.spec.capacity) == (1, 11, 128)


def test_a_run_is_brought_back_as_it_was_without_the_engine(desk):
    desk.do(desk.control.jump_on)
    desk.control.go_to(4)
    records = desk.control.cursor.records
    desk.do(lambda: desk.control.set_up(SMALLER))
    n_begun = len(desk.backend.specs)
    desk.control.look_at_run(1)
    assert desk.place == (4, 11)
    assert desk.control.cursor.records is records
    assert desk.kept == [2]
    assert desk.drafts[-1] == desk.control.draft == DRAFT
    assert len(desk.backend.specs) == n_begun


def test_a_run_that_was_brought_back_goes_on_where_it_ended(desk):
    desk.do(desk.control.jump_on)
    desk.do(lambda: desk.control.set_up(SMALLER))
    desk.control.look_at_run(1)
    desk.do(desk.control.forward)
    assert desk.place == (11, 12)
    assert desk.control.cursor.view().spec.capacity == 128
    assert desk.control.situation().is_judged


def test_a_run_that_was_brought_back_with_its_fault_is_still_wrong_where_it_was(desk):
    desk.do(desk.control.jump_on)
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    desk.do(lambda: desk.control.set_faults(()))
    assert desk.control.cursor.first_wrong is None
    desk.control.look_at_run(2)
    assert desk.control.cursor.first_wrong == 3
    assert len(desk.control.cursor.view().clean) == 11


def test_who_brings_a_run_back_while_another_begins_keeps_it(desk):
    def edit_and_change_mind() -> None:
        desk.control.set_up(SMALLER)
        desk.control.set_up(replace(DRAFT, capacity=5))

    desk.do(edit_and_change_mind)
    kept = desk.kept[0]

    def look_back_at_once() -> None:
        desk.control.set_up(replace(DRAFT, capacity=6))
        desk.control.look_at_run(kept)

    desk.do(look_back_at_once)
    assert desk.control.cursor.run_id == kept
    assert not desk.control.situation().is_starting


def test_a_run_that_is_not_kept_changes_nothing(desk):
    desk.control.look_at_run(77)
    assert (desk.place, desk.control.cursor.run_id) == ((0, 1), 1)


def test_the_oldest_runs_are_let_go_when_there_are_too_many():
    shelf = RunShelf()
    for number in range(MOST_RUNS + 3):
        shelf.keep(held(number))
    assert [facts.number for facts in shelf.summaries] == list(range(3, MOST_RUNS + 3))
    assert shelf.take(0) is None
    assert shelf.take(5) is not None
    assert shelf.take(5) is None


def with_a_long_prefill(number: int) -> HeldRun:
    """A run whose prefill takes a quarter of the budget, before many small decode steps."""
    run = held(number, n_records=40)
    logits = np.broadcast_to(np.float32(0), (MOST_BYTES // 16,))  # counts, and takes no memory
    prefill = replace(run.records[0], token_ids=(1, 2, 3), logits=logits)
    return replace(run, records=(prefill, *run.records[1:]))


def test_the_memory_of_a_long_prefill_counts_whatever_steps_come_after_it():
    assert with_a_long_prefill(0).n_bytes == pytest.approx(MOST_BYTES / 4, rel=1e-3)


def test_runs_with_long_prefills_are_let_go_beyond_the_budget():
    shelf = RunShelf()
    for number in range(12):
        shelf.keep(with_a_long_prefill(number))
    assert 3 <= len(shelf.summaries) <= 4
    assert shelf.summaries[-1].number == 11


def test_a_run_that_was_brought_back_can_be_saved(desk, qtbot):
    desk.do(lambda: desk.control.set_up(SMALLER))
    desk.control.look_at_run(1)
    with qtbot.waitSignal(desk.control.noticed):
        desk.control.save_trace(Path("old.kvtrace"), full=True)
    assert desk.backend.saved == [(Path("old.kvtrace"), True)]
    assert desk.backend.specs[-1].capacity == 128


# A run that was there before the engine.


@pytest.fixture
def early(qtbot) -> Iterator[Desk]:
    """A desk that shows a run before the engine is loaded."""
    made = Desk(qtbot)
    made.control.show_recorded(DRAFT, held())
    yield made
    assert made.control.close(5000)


def test_a_recorded_run_is_looked_at_before_the_engine_is_there(early):
    assert early.place == (1, 3)
    assert not early.control.situation().is_ready
    assert not early.control.situation().is_starting
    early.control.forward()
    assert early.place == (2, 3)
    early.control.first()
    assert early.place == (0, 3)


def test_the_engine_takes_it_over_without_a_move_of_what_is_shown(early):
    changes: list[str] = []
    early.control.run_asked.connect(lambda: changes.append("asked"))
    early.control.run_started.connect(lambda: changes.append("started"))
    early.control.cursor.run_changed.connect(lambda: changes.append("another run"))
    before = early.control.cursor.selection
    early.do(early.control.take_over)
    assert early.control.cursor.selection == before
    assert (early.place, changes, early.notices) == ((1, 3), [], [])
    early.control.last()
    early.do(early.control.forward)
    assert early.place == (3, 4)
    assert len(early.backend.specs) == 1


def test_a_recorded_run_that_the_engine_makes_otherwise_is_told(early):
    other = replace(held(), records=(record(0), record(1, next_token=9), record(2)))
    early.control.show_recorded(DRAFT, other)
    early.do(early.control.take_over)
    assert "step 1 is another one than before" in early.notices[0].text
    assert early.control.cursor.records[1].next_token == 2


def test_a_step_past_the_recorded_ones_is_made_when_the_engine_is_there(early):
    def step_and_load() -> None:
        early.control.last()
        early.control.take_over()
        early.control.forward()

    early.do(step_and_load)
    assert early.place == (3, 4)


def test_an_edit_before_the_engine_is_there_is_run_when_it_is_and_the_run_shown_is_kept(early):
    def edit_and_load() -> None:
        early.control.take_over()
        early.control.set_faults(("pos-restart",))

    early.do(edit_and_load)
    assert early.backend.specs[-1].faults == (FaultUse("pos-restart"),)
    assert early.control.cursor.n_records == 3
    assert early.kept == [1]


def test_an_engine_that_cannot_be_loaded_leaves_the_recorded_run(qtbot):
    def fail() -> FakeBackend:
        raise OSError("no torch")

    control = RunControl(fail, DRAFT)
    control.show_recorded(DRAFT, held())
    with qtbot.waitSignal(control.noticed) as told:
        control.take_over()
    assert "no torch" in told.args[0].text
    assert control.situation().is_broken
    with qtbot.waitSignal(control.noticed) as told:
        control.set_faults(("pos-restart",))
    assert "the engine could not be loaded" in told.args[0].text
    assert not control.situation().is_starting
    control.back()
    assert control.cursor.selection.step == 0
    assert control.close(5000)


# Branches.


def test_a_fault_from_here_branches_at_the_step_looked_at(desk):
    desk.do(desk.control.jump_on)
    desk.control.go_to(6)
    desk.do(lambda: desk.control.set_fault_from_here("pos-restart"))
    assert desk.backend.specs[-1].faults == (FaultUse("pos-restart", first_step=6),)
    assert desk.control.cursor.n_records == 11
    assert desk.kept == [1]
    assert [use.id for use in desk.drafts[-1].faults] == ["pos-restart"]


def test_a_forced_token_branches_and_stays_at_its_step(desk):
    desk.do(desk.control.jump_on)
    desk.control.go_to(4)
    desk.do(lambda: desk.control.force_token(99))
    assert desk.backend.specs[-1].force_ids == (None, None, None, None, 99)
    assert desk.place == (4, 11)
    assert desk.kept == [1]


def test_a_step_that_chooses_no_token_says_that_none_can_be_forced(desk):
    desk.backend.room = 2
    desk.do(desk.control.restart)
    desk.do(desk.control.jump_on)
    view = desk.control.cursor.view()
    refused = replace(view.records[-1], next_token=None)
    desk.control.cursor.take_up(
        replace(desk.control.cursor.held(), records=(*view.records[:-1], refused))
    )
    n_begun = len(desk.backend.specs)
    desk.control.force_token(99)
    assert desk.notices[-1].text == "step 2 chooses no token, so none can be forced there"
    assert len(desk.backend.specs) == n_begun


# Undo.


def test_an_edit_is_taken_back_and_done_again(desk):
    assert desk.control.situation().undoable is None
    desk.do(lambda: desk.control.set_up(SMALLER))
    assert desk.control.situation().undoable == "capacity"
    desk.do(desk.control.undo)
    assert (desk.backend.specs[-1].capacity, desk.drafts[-1]) == (128, DRAFT)
    assert desk.control.situation().redoable == "capacity"
    desk.do(desk.control.redo)
    assert (desk.backend.specs[-1].capacity, desk.drafts[-1].capacity) == (9, 9)


def test_a_person_s_own_prompt_comes_back_after_a_scenario_was_loaded(desk):
    own = replace(DRAFT, prompt="a prompt of my own")
    desk.do(lambda: desk.control.set_up(own))
    desk.do(lambda: desk.control.show_fault("cap-early"))
    assert desk.control.draft.prompt != own.prompt
    assert desk.control.situation().undoable == "scenario of cap-early"
    desk.do(desk.control.undo)
    assert desk.control.draft == desk.drafts[-1] == own


def test_a_run_that_is_gone_back_to_has_as_many_steps_as_it_had(desk):
    desk.do(desk.control.jump_on)
    n_before = desk.control.cursor.n_records
    desk.do(lambda: desk.control.show_fault("evict-off-by-one"))
    n_after = desk.control.cursor.n_records
    assert n_after != n_before
    desk.do(desk.control.undo)
    assert desk.control.cursor.n_records == n_before
    desk.do(desk.control.redo)
    assert desk.control.cursor.n_records == n_after


def test_a_tick_is_taken_back(desk):
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    desk.do(desk.control.undo)
    assert (desk.control.draft.faults, desk.drafts[-1].faults) == ((), ())


def test_undo_with_nothing_to_take_back_does_nothing(desk, qtbot):
    with qtbot.assertNotEmitted(desk.control.run_asked):
        desk.control.undo()
        desk.control.redo()


# The end of a run.


def at_the_end(desk: Desk) -> Notice:
    desk.backend.room = 2
    desk.do(desk.control.restart)
    desk.do(desk.control.jump_on)
    return desk.notices[-1]


def test_a_full_cache_is_told_with_its_numbers_and_two_ways_on(desk):
    notice = at_the_end(desk)
    assert notice.text == (
        "Run ended: cache full, needs 1, 0 free of 8. Raise the capacity or choose window"
    )
    assert desk.control.situation().end_words == notice.text
    assert notice.offer is not None
    assert notice.second_offer is not None
    assert (notice.offer.label, notice.second_offer.label) == ("Capacity 256", "Policy window")
    desk.do(notice.offer.take)
    assert (desk.backend.specs[-1].capacity, desk.drafts[-1].capacity) == (256, 256)
    desk.do(notice.second_offer.take)
    assert desk.backend.specs[-1].policy == "window"


def test_a_run_that_is_refused_at_its_prefill_is_told_with_the_same_two_ways_on(desk):
    desk.backend.room = 0
    desk.do(lambda: desk.control.set_up(SMALLER))
    notice = desk.notices[-1]
    assert notice.text.startswith("Run ended: cache full, needs 1, 0 free of 8.")
    assert notice.offer is not None
    assert notice.second_offer is not None
    assert (notice.offer.label, notice.second_offer.label) == ("Capacity 18", "Policy window")


@pytest.mark.parametrize("fault_ids", [(), ("pos-restart",)], ids=["no fault", "a fault"])
def test_a_refused_prefill_is_told_whether_or_not_a_fault_is_on(desk, fault_ids):
    desk.backend.room = 0
    desk.do(lambda: desk.control.set_faults(("mask-top-left",)))
    desk.do(lambda: desk.control.set_faults(fault_ids))
    assert desk.notices[-1].text.startswith("Run ended: cache full")


def full(needed: int, free: int, capacity: int) -> StepRecord:
    return record(0, Refused(needed, free), ledger=Ledger(capacity))


@pytest.mark.parametrize(
    ("last", "limit", "words", "labels"),
    [
        (full(1, 0, 12), 256, "Raise the capacity or choose window", ["24", "window"]),
        (full(30, 12, 12), 256, "Raise the capacity or choose window", ["48", "window"]),
        (full(200, 12, 12), 256, "Raise the capacity or choose window", ["256", "window"]),
        (full(970, 12, 12), None, "Raise the capacity or choose window", ["1536", "window"]),
        (
            full(301, 12, 12),
            256,
            "Choose the policy reprefill: the model has 256 positions",
            ["reprefill"],
        ),
        (
            record(0, PositionLimit(256)),
            256,
            "Choose the policy reprefill or a model without learned positions",
            ["reprefill", "tiny-rope"],
        ),
    ],
    ids=["one more", "a prompt", "up to the positions", "no end", "too long", "no position"],
)
def test_ways_on_from_an_end_are_such_that_the_step_goes_through(last, limit, words, labels):
    end: EndReason = "refused" if isinstance(last.outcome, Refused) else "position_limit"
    draft = Draft("learned", "ab", capacity=12)
    taken: list[Draft] = []
    notice = run_ended(RunEnd(end, last, None, limit), draft, taken.append)
    assert notice.text.split(". ")[1] == words
    offers = [offer for offer in (notice.offer, notice.second_offer) if offer is not None]
    assert [offer.label.split()[-1] for offer in offers] == labels
    for offer in offers:
        offer.take()
    changed = [str(d.capacity if d.capacity != 12 else d.policy) for d in taken]
    assert changed == [label if label != "tiny-rope" else "refuse" for label in labels]


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (full(1, 0, 12), "cache full, needs 1, 0 free of 12"),
        (replace(full(30, 4, 12), step=7), "cache too small, needs 30, 4 free of 12"),
        (full(83, 12, 12), "the prompt of 83 tokens does not fit 12 slots"),
    ],
    ids=["full", "some room", "empty"],
)
def test_a_cache_is_called_full_only_where_nothing_is_free(last, words):
    notice = run_ended(RunEnd("refused", last, None, 256), Draft("learned", "ab"), lambda _: None)
    assert notice.text == f"Run ended: {words}. Raise the capacity or choose window"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (full(1, 1, 12), "refused though 1 of 12 is free"),
        (full(2, 4, 12), "refused though 4 of 12 are free"),
        (full(2, 0, 12), "refused though there is room, needs 2, 0 free of 12"),
        (record(6, PositionLimit(256)), "refused though its positions are below the model's 256"),
    ],
    ids=["one", "more", "wrong numbers", "positions"],
)
def test_a_step_that_should_have_been_carried_out_leads_to_the_diagnosis_alone(last, words):
    judged = SimpleNamespace(expected=SimpleNamespace(outcome=OK))
    notice = run_ended(RunEnd("refused", last, judged, 256), DRAFT, lambda _: None)
    assert notice.text == f"Run ended: {words}: see the diagnosis"
    assert (notice.offer, notice.second_offer) == (None, None)


@pytest.mark.parametrize(
    ("logits", "words"),
    [
        (np.array([9.0, 1.0]), "the model ended its text. Change the prompt to go on"),
        (
            np.array([np.nan, np.nan]),
            "the logits of the last step are no numbers, and what comes out as the best token "
            "ends a text: see the diagnosis",
        ),
    ],
    ids=["numbers", "none"],
)
def test_logits_that_are_no_numbers_do_not_count_as_the_model_s_own_end(logits, words):
    last = record(6, logits=logits, predicted=0, next_token=0)
    notice = run_ended(RunEnd("end_of_text", last, None, 256), DRAFT, lambda _: None)
    assert notice.text == f"Run ended: {words}"


@pytest.mark.parametrize("act", ["set_up", "restart", "undo"])
def test_whatever_begins_a_run_with_a_fault_that_does_not_show_says_why(desk, act):
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    desk.do(lambda: desk.control.set_up(SMALLER))
    desk.notices.clear()
    way = {
        "set_up": lambda: desk.control.set_up(replace(SMALLER, seed=3)),
        "restart": desk.control.restart,
        "undo": desk.control.undo,
    }[act]
    desk.do(way)
    assert [notice.text for notice in desk.notices] == [
        "pos-restart is on, and nothing is wrong in its one step: no step read tokens after "
        "earlier ones: the prompt was read at once, from token 0 on"
    ]


def test_a_run_that_ends_with_faults_that_do_not_show_says_of_each_why(desk):
    desk.backend.room, desk.backend.first_wrong = 2, 99
    desk.do(lambda: desk.control.set_faults(("pos-restart", "evict-never")))
    desk.do(desk.control.jump_on)
    notice = desk.notices[-1]
    start = "pos-restart and evict-never are on, and nothing is wrong in its 3 steps: pos-restart, "
    assert notice.text.startswith(start)
    assert "; evict-never, no row left to make room" in notice.text
    assert notice.offer is not None
    assert notice.second_offer is not None
    assert notice.offer.label == "Load the scenario of evict-never"
    assert notice.second_offer.label == "Capacity 256"


def test_who_comes_back_to_the_end_and_steps_is_told_again(desk):
    at_the_end(desk)
    desk.notices.clear()
    desk.control.back()
    assert desk.notices == []
    desk.control.forward()
    assert len(desk.notices) == 1
    desk.control.back()
    desk.control.player.play()
    desk.control.player.tick()
    assert not desk.control.player.is_playing
    assert len(desk.notices) == 2


def test_a_fault_that_does_not_show_says_why(desk):
    desk.control.set_faults(("pos-restart",))
    desk.do(lambda: None)
    assert "no step read tokens after earlier ones" in desk.notices[-1].text
