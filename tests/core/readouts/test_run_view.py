"""When two looks at a run show the same."""

from dataclasses import replace

from tests.core.readouts.runs import view_of
from tests.helpers.runs import spec_for


def test_another_look_at_the_same_place_shows_the_same() -> None:
    view = view_of(spec_for("rope"), 1)
    assert replace(view, selection=replace(view.selection)).is_same(view)


def test_another_selection_fewer_steps_or_other_verdicts_are_something_else() -> None:
    view = view_of(spec_for("rope"), 1)
    others = (
        replace(view, selection=replace(view.selection, head=1)),
        replace(view, records=view.records[:2]),
        replace(view, verdicts={}),
    )
    assert not any(other.is_same(view) for other in others)
