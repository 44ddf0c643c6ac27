"""Undo and redo of drafts."""

from dataclasses import replace

from app.draft import Draft
from app.edit_history import MOST_EDITS, EditHistory, edit_words
from core.spec import FaultUse

FIRST = Draft("learned", "ab")
SECOND = replace(FIRST, capacity=9)
THIRD = replace(SECOND, prompt="abc")


def test_edits_are_taken_back_in_the_order_opposite_to_theirs():
    history = EditHistory()
    history.add("capacity", FIRST, SECOND)
    history.add("prompt", SECOND, THIRD)
    assert history.undoable == "prompt"
    assert [history.undo(), history.undo(), history.undo()] == [SECOND, FIRST, None]
    assert (history.undoable, history.redoable) == (None, "capacity")
    assert [history.redo(), history.redo(), history.redo()] == [SECOND, THIRD, None]


def test_another_edit_ends_what_could_be_done_again():
    history = EditHistory()
    history.add("capacity", FIRST, SECOND)
    history.undo()
    history.add("prompt", FIRST, replace(FIRST, prompt="x"))
    assert history.redoable is None


def test_the_same_draft_again_is_no_edit():
    history = EditHistory()
    history.add("capacity", FIRST, replace(FIRST))
    assert history.undoable is None


def test_only_so_many_edits_are_kept():
    history = EditHistory()
    for n in range(MOST_EDITS + 5):
        history.add("seed", replace(FIRST, seed=n), replace(FIRST, seed=n + 1))
    n_undone = 0
    while history.undo() is not None:
        n_undone += 1
    assert n_undone == MOST_EDITS


def test_an_edit_is_named_by_what_it_changed():
    assert edit_words(FIRST, SECOND) == "capacity"
    assert edit_words(FIRST, THIRD) == "prompt and capacity"
    assert edit_words(FIRST, replace(FIRST, faults=(FaultUse("cap-early"),))) == "faults"
    assert edit_words(replace(FIRST, force_ids=(1,)), replace(FIRST, prompt="x")) == "prompt"
    assert edit_words(FIRST, replace(THIRD, seed=5)) == "settings"
