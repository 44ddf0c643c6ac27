"""Commands and their answers, with an engine of no weight in the real thread."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.draft import Draft
from app.notice import Notice
from app.run_control import RunControl
from core.selection import Selection
from tests.app.fakes import FakeBackend

DRAFT = Draft("learned", "ab")


class Desk:
    """A control with its backend and what it said."""

    def __init__(self, qtbot) -> None:
        self.backend = FakeBackend()
        self.control = RunControl(lambda: self.backend, DRAFT)
        self.notices: list[Notice] = []
        self.misfits: list = []
        self.control.noticed.connect(self.notices.append)
        self.control.misfit.connect(self.misfits.append)
        self._qtbot = qtbot

    def do(self, act: Callable[[], None]) -> None:
        """Act, and wait until everything that was asked for is there."""
        with self._qtbot.waitSignal(self.control.rested):
            act()

    @property
    def place(self) -> tuple[int, int]:
        """The step looked at, and how many there are."""
        return self.control.cursor.selection.step, self.control.cursor.n_records


@pytest.fixture
def desk(qtbot) -> Iterator[Desk]:
    """A desk with a run of one step."""
    made = Desk(qtbot)
    made.do(lambda: made.control.begin(1, "newest", None))
    yield made
    assert made.control.close(5000)


def test_the_first_run_shows_its_prefill(desk):
    assert desk.place == (0, 1)
    assert desk.control.situation().is_ready


def test_forward_past_the_newest_step_asks_for_one(desk):
    desk.do(desk.control.forward)
    assert desk.place == (1, 2)


def test_forward_inside_the_run_asks_for_nothing(desk, qtbot):
    desk.do(desk.control.forward)
    desk.control.back()
    with qtbot.assertNotEmitted(desk.control.rested):
        desk.control.forward()
    assert desk.place == (1, 2)


def test_ten_steps_on_makes_those_that_are_missing(desk):
    desk.do(desk.control.jump_on)
    assert desk.place == (10, 11)
    desk.control.go_to(7)
    desk.do(desk.control.jump_on)
    assert desk.place == (17, 18)


def test_tenths_of_a_run(desk):
    desk.do(desk.control.jump_on)
    steps = []
    for tenth in (0, 5, 9):
        desk.control.go_to_tenth(tenth)
        steps.append(desk.place[0])
    assert steps == [0, 5, 9]


def test_every_step_is_judged_when_the_engine_rests(desk):
    desk.do(desk.control.jump_on)
    assert desk.control.situation().is_judged


def test_another_setting_runs_as_many_steps_and_keeps_the_place(desk):
    desk.do(desk.control.jump_on)
    desk.control.go_to(4)
    desk.do(lambda: desk.control.set_up(Draft("learned", "ab", capacity=9)))
    assert desk.place == (4, 11)
    assert desk.backend.specs[-1].capacity == 9


def test_another_setting_keeps_the_faults(desk):
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    desk.do(lambda: desk.control.set_up(Draft("learned", "ab", capacity=9)))
    assert [use.id for use in desk.backend.specs[-1].faults] == ["pos-restart"]


def test_a_ticked_fault_leads_to_its_first_wrong_step(desk):
    desk.do(desk.control.jump_on)
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    assert desk.place == (3, 11)
    assert desk.control.cursor.first_wrong == 3


def test_a_fault_that_does_not_show_here_offers_the_run_that_shows_it(desk):
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    assert desk.place == (0, 1)
    assert "nothing is wrong in its one step" in desk.notices[-1].text
    offer = desk.notices[-1].offer
    assert offer is not None
    desk.do(offer.take)
    assert desk.place == (3, 6)


def test_taking_the_last_fault_away_says_nothing(desk):
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    desk.notices.clear()
    desk.do(lambda: desk.control.set_faults(()))
    assert (desk.notices, desk.backend.specs[-1].faults) == ([], ())


def test_the_scenario_of_a_combination_has_all_its_faults(desk):
    desk.do(lambda: desk.control.show_fault("both-bugs"))
    ids = [use.id for use in desk.backend.specs[-1].faults]
    assert ids == ["pos-restart", "mask-top-left"]


def test_settings_that_cannot_be_used_leave_the_run_as_it_was(desk):
    desk.do(desk.control.forward)
    desk.do(lambda: desk.control.set_up(Draft("missing", "ab")))
    assert [(failed.place, failed.details) for failed in desk.misfits] == [("model", None)]
    assert desk.place == (1, 2)
    desk.do(desk.control.forward)
    assert desk.place == (2, 3)


def test_of_two_edits_in_a_row_the_second_counts(desk):
    def edit_twice() -> None:
        desk.control.set_up(Draft("learned", "ab", capacity=9))
        desk.control.set_up(Draft("learned", "ab", capacity=5))

    desk.do(edit_twice)
    assert desk.backend.specs[-1].capacity == 5
    assert desk.control.cursor.view().spec.capacity == 5


def test_a_run_that_was_overtaken_while_it_began_is_never_shown(desk):
    has_begun, may_go_on = threading.Event(), threading.Event()
    started: list[int | None] = []
    desk.control.run_started.connect(lambda: started.append(desk.control.cursor.run_id))

    def wait(step: int) -> None:
        has_begun.set()
        may_go_on.wait(5)

    def overtake() -> None:
        desk.backend.before_step = wait
        desk.control.set_up(Draft("learned", "ab", capacity=9))
        assert has_begun.wait(5)
        desk.control.set_up(Draft("learned", "ab", capacity=5))
        may_go_on.set()

    desk.do(overtake)
    assert len(started) == 1
    assert desk.control.cursor.view().spec.capacity == 5


def test_stop_ends_a_long_way_in_the_middle(desk):
    is_on_the_way = threading.Event()
    may_go_on = threading.Event()

    def wait(step: int) -> None:
        if step == 5:
            is_on_the_way.set()
            may_go_on.wait(5)

    desk.backend.before_step = wait

    def start_and_stop() -> None:
        desk.control.jump_on()
        assert is_on_the_way.wait(5)
        desk.control.stop()
        may_go_on.set()

    desk.do(start_and_stop)
    assert desk.place == (5, 6)
    assert desk.control.situation().end is None


def test_playing_into_a_full_cache_stops_there_and_says_why(desk, qtbot):
    desk.backend.room = 3
    desk.control.cursor.changed.connect(desk.control.player.painted)
    desk.do(desk.control.restart)
    desk.control.player.set_speed(64)
    with qtbot.waitSignal(desk.control.player.stopped):
        desk.control.play_or_pause()
    assert desk.place == (3, 4)
    assert desk.control.situation().end == "refused"


def test_after_steps_beyond_the_planned_ones_an_edit_makes_as_many(desk):
    desk.backend.room = 5
    desk.do(lambda: desk.control.show_run("scenario", Draft("learned", "ab", steps=2)))
    assert desk.place[1] == 3
    desk.control.last()
    for _ in range(3):
        desk.do(desk.control.forward)
    assert (desk.place[1], desk.control.situation().end) == (6, "refused")
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    assert desk.place[1] == 6


def test_a_run_that_is_over_is_told_with_its_own_capacity_while_a_wrong_one_is_asked_for(desk):
    desk.backend.room = 1
    desk.do(desk.control.restart)
    desk.do(desk.control.forward)
    assert desk.control.situation().end == "refused"
    words = desk.control.situation().end_words
    desk.do(lambda: desk.control.set_up(replace(DRAFT, model="missing", capacity=0)))
    assert len(desk.misfits) == 1
    assert desk.control.situation().end_words == words


def test_restart_goes_back_to_one_step(desk):
    desk.do(desk.control.jump_on)
    desk.do(desk.control.restart)
    assert desk.place == (0, 1)


def test_a_run_asked_for_before_the_engine_is_there_is_made_when_it_is(qtbot):
    desk = Desk(qtbot)
    desk.control.set_up(Draft("learned", "ab", capacity=3))
    desk.do(lambda: desk.control.begin(4, "newest", 2))
    assert desk.backend.specs[-1].capacity == 3
    assert desk.place == (2, 4)
    assert desk.control.close(5000)


class Doorway:
    """Holds the next run back before it begins, until it is let through."""

    def __init__(self, desk: Desk) -> None:
        self._is_there, self._may_go_on = threading.Event(), threading.Event()
        desk.backend.before_start = self._wait

    def _wait(self) -> None:
        self._is_there.set()
        self._may_go_on.wait(5)

    def hold(self, ask: Callable[[], None]) -> None:
        """Ask for a run, and return when it stands in the doorway."""
        ask()
        assert self._is_there.wait(5)

    def open(self) -> None:
        self._may_go_on.set()


EDITED = Draft("learned", "ab", capacity=9)


def test_a_step_asked_for_while_another_run_begins_is_made_in_that_run(desk):
    doorway = Doorway(desk)

    def edit_and_step() -> None:
        doorway.hold(lambda: desk.control.set_up(EDITED))
        desk.control.forward()
        doorway.open()

    desk.do(edit_and_step)
    assert desk.control.cursor.view().spec.capacity == 9
    assert desk.place == (1, 2)


@pytest.mark.parametrize(
    "move",
    [
        lambda control: control.go_to(5),
        lambda control: control.select(Selection(step=5)),
        lambda control: (control.go_to(4), control.forward()),
    ],
    ids=["to a step", "in a panel", "one step on"],
)
def test_who_moves_while_another_run_begins_looks_at_the_same_step_there(desk, move):
    desk.do(desk.control.jump_on)
    doorway = Doorway(desk)

    def edit_and_move() -> None:
        doorway.hold(lambda: desk.control.set_up(EDITED))
        move(desk.control)
        doorway.open()

    desk.do(edit_and_move)
    assert desk.control.cursor.view().spec.capacity == 9
    assert desk.place == (5, 11)


def test_keys_pressed_before_there_is_a_step_change_nothing_of_what_was_asked_for(qtbot):
    desk = Desk(qtbot)

    def begin_and_press() -> None:
        desk.control.begin(5, "newest", 3)
        desk.control.first()

    desk.do(begin_and_press)
    assert desk.place == (3, 5)
    assert desk.control.close(5000)


def test_a_step_can_be_asked_for_of_a_run_that_begins_though_the_one_shown_is_over(desk):
    desk.backend.room = 1
    for ask in (desk.control.restart, desk.control.forward):
        desk.do(ask)
    assert desk.control.situation().end == "refused"
    doorway = Doorway(desk)

    def edit_and_step() -> None:
        desk.backend.room = 1000
        doorway.hold(lambda: desk.control.set_up(EDITED))
        assert desk.control.situation().end is None
        desk.control.forward()
        doorway.open()

    desk.do(edit_and_step)
    assert desk.place == (2, 3)


def test_a_second_edit_keeps_what_was_asked_of_the_run_that_the_first_one_began(desk):
    desk.do(desk.control.jump_on)
    doorway = Doorway(desk)

    def edit_twice() -> None:
        doorway.hold(lambda: desk.control.set_faults(("pos-restart",)))
        desk.control.forward()
        desk.control.set_up(EDITED)
        doorway.open()

    desk.do(edit_twice)
    assert desk.control.cursor.view().spec.capacity == 9
    assert desk.place == (3, 12)


def test_an_edit_while_the_engine_loads_keeps_the_step_asked_for_on_the_command_line(qtbot):
    desk = Desk(qtbot)

    def begin_and_edit() -> None:
        desk.control.begin(5, "newest", 3)
        desk.control.set_up(EDITED)

    desk.do(begin_and_edit)
    assert desk.place == (3, 5)
    assert desk.backend.specs[-1].capacity == 9
    assert desk.control.close(5000)


def test_an_opened_file_is_looked_at_in_its_newest_step_wherever_one_was_before(desk):
    desk.do(desk.control.jump_on)
    desk.control.go_to(2)
    desk.do(lambda: desk.control.set_up(EDITED))
    desk.do(lambda: desk.control.open_trace(Path("learned.kvtrace")))
    assert desk.place == (4, 5)
    assert desk.notices[-1].text.startswith("opened and made again")


def test_a_file_that_cannot_be_opened_is_told_after_the_run_in_its_place_was_asked_for(qtbot):
    desk = Desk(qtbot)
    said: list[str] = []
    desk.control.run_asked.connect(lambda: said.append("asked"))
    desk.control.noticed.connect(lambda notice: said.append(notice.text))
    desk.do(lambda: desk.control.begin(3, "newest", None, Path("damaged.kvtrace")))
    assert said == ["asked", "damaged.kvtrace: it is damaged"]
    assert desk.place == (0, 1)
    assert desk.control.close(5000)


def test_a_run_of_a_file_that_cannot_begin_is_told_once(qtbot):
    desk = Desk(qtbot)

    def stumble() -> None:
        desk.backend.model("missing")

    desk.backend.before_start = stumble
    desk.do(lambda: desk.control.begin(3, "newest", None, Path("learned.kvtrace")))
    with qtbot.waitSignal(desk.control.noticed):
        desk.control.open_trace(Path("damaged.kvtrace"))
    assert not desk.control.situation().is_starting
    assert [failed.place for failed in desk.misfits] == ["model"]
    assert desk.control.close(5000)


def test_a_later_file_that_cannot_be_opened_leaves_the_run_of_the_first_one(qtbot):
    desk = Desk(qtbot)
    desk.do(lambda: desk.control.begin(1, "newest", None, Path("learned.kvtrace")))
    with qtbot.waitSignal(desk.control.noticed):
        desk.control.open_trace(Path("damaged.kvtrace"))
    assert not desk.control.situation().is_starting
    assert desk.place == (4, 5)
    assert desk.control.close(5000)


class SlowReader:
    """Reads a file no further until it is told to."""

    def __init__(self, desk: Desk) -> None:
        self.is_reading, self.may_go_on = threading.Event(), threading.Event()
        self._opens = desk.backend.open_trace
        desk.backend.open_trace = self.open_trace

    def open_trace(self, path: Path) -> SimpleNamespace:
        self.is_reading.set()
        self.may_go_on.wait(5)
        return self._opens(path)


def test_an_edit_while_a_file_is_opened_that_turns_out_damaged_is_what_is_run(qtbot):
    desk = Desk(qtbot)
    reader = SlowReader(desk)

    def edit_meanwhile() -> None:
        assert reader.is_reading.wait(5)
        desk.control.set_up(EDITED)
        reader.may_go_on.set()

    with qtbot.waitSignal(desk.control.ready):
        desk.control.begin(4, "newest", 2, Path("damaged.kvtrace"))
    desk.do(edit_meanwhile)
    assert desk.place == (2, 4)
    assert [spec.capacity for spec in desk.backend.specs] == [9]
    assert desk.control.close(5000)


def test_the_place_in_the_file_named_at_the_start_is_not_that_in_a_later_one(qtbot):
    desk = Desk(qtbot)
    desk.do(lambda: desk.control.begin(1, "newest", 1, Path("learned.kvtrace")))
    assert desk.place == (1, 5)
    reader = SlowReader(desk)

    def open_and_edit() -> None:
        desk.control.open_trace(Path("learned.kvtrace"))
        assert reader.is_reading.wait(5)
        desk.control.set_up(EDITED)
        reader.may_go_on.set()

    desk.do(open_and_edit)
    assert desk.place == (4, 5)
    assert desk.control.close(5000)
