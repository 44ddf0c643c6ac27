"""The received records and the place in them that is looked at."""

import pytest

from app.cursor import Cursor
from app.draft import Draft
from app.messages import CleanRecorded, Ended, Judged, Recorded, Started
from core.selection import Selection
from core.spec import RunSpec
from tests.app.fakes import model_info, record, verdict

SPEC = RunSpec("learned", (1, 2))


def started(run_id: int = 1, model: str = "learned") -> Started:
    return Started(run_id, Draft(model, "ab"), SPEC, model_info(model), str)


def recorded(*steps: int, run_id: int = 1) -> Recorded:
    return Recorded(run_id, tuple(record(step) for step in steps), SPEC)


def cursor_with(n: int, look_at: int | None = None) -> Cursor:
    cursor = Cursor()
    cursor.begin(started(), look_at=look_at)
    cursor.add_records(recorded(*range(n)))
    return cursor


def test_new_records_are_followed_while_the_newest_is_looked_at(qapp):
    cursor = cursor_with(3)
    cursor.add_records(recorded(3, 4))
    assert cursor.selection.step == 4


def test_new_records_are_not_followed_by_one_who_looks_back(qapp):
    cursor = cursor_with(3)
    cursor.go(1)
    cursor.add_records(recorded(3, 4))
    assert cursor.selection.step == 1
    assert cursor.newest == 4


def test_going_back_shows_the_very_same_record(qapp):
    cursor = cursor_with(3)
    before = cursor.records[1]
    cursor.go(1)
    assert cursor.view().records[cursor.selection.step] is before


@pytest.mark.parametrize(("asked", "reached"), [(-5, 0), (1, 1), (99, 2)])
def test_beyond_an_end_the_nearest_step_is_looked_at(qapp, asked, reached):
    cursor = cursor_with(3)
    cursor.go(asked)
    assert cursor.selection.step == reached


def test_a_run_that_is_made_again_stops_at_the_step_looked_at_before(qapp):
    cursor = cursor_with(3, look_at=1)
    cursor.add_records(recorded(3, 4))
    assert cursor.selection.step == 1


def test_after_the_first_steps_the_newest_is_followed_again(qapp):
    cursor = cursor_with(2, look_at=1)
    cursor.settle()
    cursor.add_records(recorded(2))
    assert cursor.selection.step == 2


def test_answers_that_belong_to_an_earlier_run_are_dropped(qapp):
    cursor = cursor_with(2)
    cursor.begin(started(run_id=2), look_at=None)
    cursor.add_records(recorded(2, run_id=1))
    cursor.add_verdicts(Judged(1, (verdict(0, is_wrong=True),)))
    cursor.add_clean(CleanRecorded(1, (record(0),)))
    cursor.set_end(Ended(1, "refused"))
    assert cursor.view() is None
    cursor.add_records(recorded(0, run_id=2))
    view = cursor.view()
    assert (len(view.records), dict(view.verdicts), view.clean) == (1, {}, ())
    assert (cursor.first_wrong, cursor.end) == (None, None)


def test_the_first_wrong_step_is_the_lowest_whatever_came_first(qapp):
    cursor = cursor_with(4)
    cursor.add_verdicts(Judged(1, (verdict(3, is_wrong=True),)))
    cursor.add_verdicts(Judged(1, (verdict(1, is_wrong=True), verdict(2))))
    assert cursor.first_wrong == 1


def test_a_step_without_a_verdict_is_pending(qapp):
    cursor = cursor_with(2)
    cursor.add_verdicts(Judged(1, (verdict(0),)))
    assert set(cursor.view().verdicts) == {0}
    assert cursor.n_verdicts == 1


def test_a_view_does_not_change_when_more_records_come(qapp):
    cursor = cursor_with(2)
    view = cursor.view()
    cursor.add_records(recorded(2))
    cursor.add_verdicts(Judged(1, (verdict(0),)))
    assert (len(view.records), len(view.verdicts), view.selection.step) == (2, 0, 1)


def test_a_selection_keeps_its_layer_and_head_from_run_to_run(qapp):
    cursor = cursor_with(3)
    cursor.select(Selection(step=1, layer=2, head=3, slot=4))
    cursor.begin(started(run_id=2), look_at=None)
    cursor.add_records(recorded(0, run_id=2))
    assert cursor.selection == Selection(step=0, layer=2, head=3)


def test_a_model_with_fewer_layers_and_heads_is_looked_at_in_the_last_it_has(qapp):
    cursor = cursor_with(1)
    cursor.select(Selection(layer=3, head=2))
    cursor.begin(started(run_id=2, model="small"), look_at=None)
    assert cursor.selection == Selection(layer=1, head=1)


def test_a_layer_and_head_chosen_in_what_the_larger_model_left_on_the_screen_are_brought_in(qapp):
    cursor = Cursor()
    cursor.begin(started(model="small"), look_at=None)
    cursor.select(Selection(layer=3, head=3, slot=5))
    assert cursor.selection == Selection(layer=1, head=1, slot=5)


def test_a_step_that_is_not_there_cannot_be_selected(qapp):
    cursor = cursor_with(3)
    cursor.select(Selection(step=7))
    assert cursor.selection.step == 2


def test_selecting_what_is_selected_tells_nobody(qapp, qtbot):
    cursor = cursor_with(3)
    with qtbot.assertNotEmitted(cursor.changed):
        cursor.select(cursor.selection)


def test_a_cancelled_run_is_not_over(qapp):
    cursor = cursor_with(1)
    cursor.set_end(Ended(1, "cancelled"))
    assert cursor.end is None
    cursor.set_end(Ended(1, "refused"))
    assert cursor.end == "refused"
