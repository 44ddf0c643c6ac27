"""Undo and redo of drafts."""

from dataclasses import replace

from app.draft import Draft
from app.edit_history import MOST_EDITS, EditHistory, OldRun, edit_words
from core.spec import FaultUse

FIRST = Draft("learned", "ab")
SECOND = replace(FIRST, capacity=9)
THIRD = replace(SECOND, prompt="abc")


def test_edits_are_taken_back_in_the_order_opposite_to_theirs():
    history = EditHistory()
    history.add("capacity", FIRST, SECOND, 7)
    history.add("prompt", SECOND, THIRD, 5)
    assert history.undoable == "prompt"
    assert history.undo(3) == OldRun(SECOND, 5)
    assert history.undo(5) == OldRun(FIRST, 7)
    assert history.undo(7) is None
    assert (history.undoable, history.redoable) == (None, "capacity")
    assert history.redo(7) == OldRun(SECOND, 5)
    assert history.redo(5) == OldRun(THIRD, 3)
    assert history.redo(3) is None


def test_a_run_that_grew_before_it_was_left_again_comes_back_as_long_as_it_was_left():
    history = EditHistory()
    history.add("capacity", FIRST, SECOND, 7)
    history.undo(5)
    history.redo(9)
    assert history.undo(6) == OldRun(FIRST, 9)
    assert history.redo(9) == OldRun(SECOND, 6)


def test_another_edit_ends_what_could_be_done_again():
    history = EditHistory()
    history.add("capacity", FIRST, SECOND, 1)
    history.undo(1)
    history.add("prompt", FIRST, replace(FIRST, prompt="x"), 1)
    assert history.redoable is None


def test_the_same_draft_again_is_no_edit():
    history = EditHistory()
    history.add("capacity", FIRST, replace(FIRST), 1)
    assert history.undoable is None


def test_only_so_many_edits_are_kept():
    history = EditHistory()
    for n in range(MOST_EDITS + 5):
        history.add("seed", replace(FIRST, seed=n), replace(FIRST, seed=n + 1), 1)
    n_undone = 0
    while history.undo(1) is not None:
        n_undone += 1
    assert n_undone == MOST_EDITS


def test_an_edit_is_named_by_what_it_changed():
    assert edit_words(FIRST, SECOND) == "capacity"
    assert edit_words(FIRST, THIRD) == "prompt and capacity"
    assert edit_words(FIRST, replace(FIRST, faults=(FaultUse("cap-early"),))) == "faults"
    assert edit_words(replace(FIRST, force_ids=(1,)), replace(FIRST, prompt="x")) == "prompt"
    assert edit_words(FIRST, replace(THIRD, seed=5)) == "settings"
