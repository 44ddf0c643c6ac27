"""Cache, Mask and Attention: one ruler, one order, one scroll, one crosshair."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.theme import DARK, LIGHT
from app.views.mask import MaskView
from core.selection import Selection
from tests.app.views.slots_shown import (
    LATE,
    ROOMY,
    MakeThree,
    canvas_of,
    middle,
    picture,
    pixels,
    show,
    slots_in_sight,
    turn,
)
from tests.core.readouts.runs import PLAIN, RANKED, WINDOW, view_of, with_fault

# One ruler


@pytest.mark.parametrize("order", ["slot", "token"])
@pytest.mark.parametrize(
    ("spec", "step"), [(WINDOW, 4), (RANKED, 4), (ROOMY, 3), (LATE, 2)], ids=str
)
def test_a_slot_stands_at_one_place_in_all_three(three: MakeThree, spec, step, order) -> None:
    views = three(view_of(spec, step))
    if order == "token":
        views.cache.slot_scroll.order_by_token()
    expected = slots_in_sight(views.cache)
    for widget in views:
        assert slots_in_sight(widget) == expected
        for slot in expected[:3]:
            at = middle(widget, slot, canvas_of(widget).row_middle(0))
            assert at.x() == middle(views.cache, slot, 0).x()
            found = canvas_of(widget).hit(QPointF(at))
            assert found is not None
            assert found.selection is not None
            assert found.selection.slot == slot


def test_in_token_order_tokens_ascend_and_slots_without_one_stand_last(three: MakeThree) -> None:
    view = view_of(WINDOW, 4)
    views = three(view)
    views.cache.slot_scroll.order_by_token()
    slots = canvas_of(views.mask).slots.tolist()
    plan = view.records[4].layers[0].plan
    claimed = dict(zip(plan.view_slots.tolist(), plan.view_token_index.tolist(), strict=True))
    tokens = [claimed[slot] for slot in slots if slot in claimed]
    assert tokens == sorted(tokens)
    assert sorted(slots) == list(range(len(slots)))
    assert all(slot in claimed for slot in slots[: len(claimed)])


def test_the_switch_orders_all_three(qtbot: QtBot, three: MakeThree) -> None:
    views = three(view_of(WINDOW, 4))
    before = slots_in_sight(views.cache)
    buttons = {b.text(): b for b in views.attention.findChildren(QToolButton)}
    qtbot.mouseClick(buttons["token"], Qt.MouseButton.LeftButton)
    assert slots_in_sight(views.cache) == slots_in_sight(views.mask) != before
    assert (buttons["token"].isChecked(), buttons["slot"].isChecked()) == (True, False)
    qtbot.mouseClick(buttons["slot"], Qt.MouseButton.LeftButton)
    assert slots_in_sight(views.mask) == before


def test_every_slot_is_shown_where_that_is_wanted(qtbot: QtBot, three: MakeThree) -> None:
    views = three(view_of(ROOMY, 3))
    assert len(slots_in_sight(views.mask)) < 256
    (button,) = [b for b in views.attention.findChildren(QToolButton) if b.text() == "all slots"]
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert all(len(slots_in_sight(widget)) == 256 for widget in views)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert len(slots_in_sight(views.mask)) < 256


def test_a_choice_that_changes_nothing_is_not_offered(three: MakeThree) -> None:
    buttons = three(view_of(PLAIN, 3)).attention.findChildren(QToolButton)
    assert not any(b.isVisible() for b in buttons if b.text() == "all slots")


# One scroll


def test_the_newest_slot_is_in_sight(three: MakeThree) -> None:
    views = three(view_of(LATE, 3))
    assert 52 in slots_in_sight(views.attention)
    assert 0 not in slots_in_sight(views.attention)


def test_the_wheel_over_one_view_moves_all_three(three: MakeThree) -> None:
    views = three(view_of(ROOMY, 3))
    turn(views.mask, 2)
    moved = slots_in_sight(views.cache)
    assert moved[0] == 8
    assert slots_in_sight(views.mask) == slots_in_sight(views.attention) == moved
    turn(views.cache, -50)
    assert slots_in_sight(views.attention)[0] == 0
    turn(views.attention, 1000)
    assert slots_in_sight(views.cache)[-1] == 255


def test_a_part_that_was_scrolled_to_stays_over_the_steps(three: MakeThree) -> None:
    views = three(view_of(LATE, 1))
    turn(views.cache, -100)
    show(views, view_of(LATE, 2))
    assert slots_in_sight(views.mask)[0] == 0


def test_a_slot_that_is_chosen_elsewhere_comes_into_sight(three: MakeThree) -> None:
    views = three(view_of(ROOMY, 3))
    turn(views.cache, 100)
    show(views, view_of(ROOMY, 3, token_index=2))
    assert 2 in slots_in_sight(views.cache)


def test_a_slot_that_is_clicked_stays_where_it_is(qtbot: QtBot, three: MakeThree) -> None:
    views = three(view_of(LATE, 3))
    slot = slots_in_sight(views.cache)[3]
    at = middle(views.cache, slot, canvas_of(views.cache).row_middle(0))
    with qtbot.waitSignal(views.cache.selected) as signal:
        qtbot.mouseClick(canvas_of(views.cache), Qt.MouseButton.LeftButton, pos=at)
    assert signal.args is not None
    show(views, view_of(LATE, 3, slot=signal.args[0].slot))
    assert middle(views.cache, slot, 0).x() == at.x()


def test_the_strip_of_all_slots_shows_what_is_wrong_out_of_sight(three: MakeThree) -> None:
    """Slot 0 holds another token's row; the slots shown are the last ones."""
    views = three(view_of(with_fault(LATE, "store-row-zero"), 2))
    canvas = canvas_of(views.cache)
    assert 0 not in slots_in_sight(views.cache)
    strip = pixels(picture(views.cache))[9, int(canvas.ruler().start) : int(canvas.ruler().end)]
    assert (strip[:6] == LIGHT.alarm.rgb()).any()
    assert not (strip[20:120] == LIGHT.alarm.rgb()).any()


def test_a_drag_on_the_strip_scrolls(qtbot: QtBot, three: MakeThree) -> None:
    views = three(view_of(LATE, 2))
    canvas = canvas_of(views.cache)
    at = QPoint(int(canvas.ruler().start) + 1, 9)
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=at)
    assert slots_in_sight(views.mask)[0] == 0
    qtbot.mouseMove(canvas, QPoint(int(canvas.ruler().end) - 1, 9))
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=at)


def test_views_built_anew_go_on_where_the_old_ones_were(three: MakeThree) -> None:
    views = three(view_of(ROOMY, 3))
    turn(views.cache, 3)
    anew = MaskView(DARK)
    anew.choose(views.mask.choices())
    assert anew.slot_scroll is views.cache.slot_scroll


# One crosshair


@pytest.mark.parametrize("part", ["cache", "mask", "attention"])
def test_the_slot_pointed_at_is_framed_from_top_to_bottom(three: MakeThree, part: str) -> None:
    widget = getattr(three(view_of(PLAIN, 2)), part)
    canvas = canvas_of(widget)
    before = pixels(picture(widget))
    widget.show_pointed(Selection(step=2, slot=5))
    after = pixels(picture(widget))
    changed = np.flatnonzero((before != after).any(axis=0))
    ruler = canvas.ruler()
    left, right = ruler.left(5), ruler.left(6)
    assert left - 2 <= changed.min()
    assert changed.max() <= right + 1
    tall = int(canvas.crosshair_end())
    assert (after[:tall, int(left) - 1] == LIGHT.new.rgb()).all()
    widget.show_pointed(None)
    assert np.array_equal(pixels(picture(widget)), before)


@pytest.mark.parametrize("part", ["cache", "mask", "attention"])
def test_a_token_is_pointed_at_by_the_slot_that_holds_it(three: MakeThree, part: str) -> None:
    """In the window's ring token 9 is in slot 0."""
    canvas = canvas_of(getattr(three(view_of(WINDOW, 3)), part))
    assert canvas.pointed_slot(Selection(step=3, token_index=9)) == 0
    assert canvas.pointed_slot(Selection(step=3, token_index=300)) is None


def test_a_head_that_is_pointed_at_is_framed_in_the_atlas(three: MakeThree) -> None:
    widget = three(view_of(PLAIN, 2), (660, 420)).attention
    before = pixels(picture(widget))
    widget.show_pointed(Selection(step=2, layer=3, head=3))
    assert (pixels(picture(widget)) != before).any()
