"""Playing pulls: no step is asked for while two are on their way or not painted yet."""

import pytest

from app.player import Player
from tests.app.test_cursor import cursor_with, recorded


class Asked:
    """Counts the steps that were asked for."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self) -> None:
        self.n += 1


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_the_first_step_is_asked_for_at_once(qapp, asked):
    player = Player(cursor_with(1), asked)
    player.play()
    assert (asked.n, player.is_playing) == (1, True)
    player.pause()


def test_recorded_steps_are_shown_before_one_is_asked_for(qapp, asked):
    cursor = cursor_with(3)
    cursor.go(0)
    player = Player(cursor, asked)
    shown = []
    for _ in range(2):
        player.tick()
        shown.append(cursor.selection.step)
    assert (shown, asked.n) == ([1, 2], 0)
    player.tick()
    assert asked.n == 1


def test_an_engine_that_does_not_answer_is_asked_for_two_steps_at_most(qapp, asked):
    player = Player(cursor_with(1), asked)
    for _ in range(20):
        player.tick()
    assert asked.n == 2


def test_a_screen_that_does_not_paint_holds_the_engine_back(qapp, asked):
    cursor = cursor_with(1)
    player = Player(cursor, asked)
    for step in range(1, 20):
        n_before = asked.n
        player.tick()
        if asked.n > n_before:
            cursor.add_records(recorded(step))
            player.received(1)
    assert asked.n == 2
    player.painted()
    player.tick()
    assert asked.n == 3


def test_playing_ends_where_the_run_ends(qapp, qtbot, asked):
    from app.messages import Ended

    cursor = cursor_with(1)
    player = Player(cursor, asked)
    player.play()
    cursor.set_end(Ended(1, "refused"))
    with qtbot.waitSignal(player.stopped):
        player.tick()
    assert not player.is_playing


def test_what_will_never_come_is_not_waited_for(qapp, asked):
    player = Player(cursor_with(1), asked)
    player.tick()
    player.tick()
    player.nothing_more()
    player.tick()
    assert asked.n == 3


def test_the_speed_goes_through_its_steps_and_stops_at_both_ends(qapp, asked):
    player = Player(cursor_with(1), asked)
    speeds = []
    for _ in range(7):
        player.faster()
        speeds.append(player.speed)
    assert speeds == [4, 8, 16, 32, 64, 64, 64]
    for _ in range(9):
        player.slower()
    assert player.speed == 0.5


def test_pausing_tells_that_the_rest_can_be_judged(qapp, qtbot, asked):
    player = Player(cursor_with(1), asked)
    player.play()
    with qtbot.waitSignal(player.stopped):
        player.pause()
