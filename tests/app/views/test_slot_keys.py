"""Cache, Mask and Attention by keyboard, and as tables."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTableView
from pytestqt.qtbot import QtBot

from app.widgets.slot_panel import SlotPanel
from core.selection import Selection
from tests.app.views.slots_shown import (
    LATE,
    MakeThree,
    canvas_of,
    show,
    slots_in_sight,
)
from tests.core.readouts.runs import PLAIN, view_of, with_fault

# The keyboard


def press(qtbot: QtBot, widget: SlotPanel, *keys: Qt.Key) -> None:
    for key in keys:
        qtbot.keyClick(canvas_of(widget), key)


@pytest.mark.parametrize("part", ["cache", "mask", "attention"])
def test_arrows_move_a_cell_and_enter_chooses_it(qtbot: QtBot, three: MakeThree, part: str) -> None:
    widget = getattr(three(view_of(PLAIN, 2)), part)
    pointed: list[Selection] = []
    widget.pointed.connect(pointed.append)
    press(qtbot, widget, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Left)
    assert [selection.slot for selection in pointed] == [8, 7, 6]  # first where the newest is
    with qtbot.waitSignal(widget.selected) as signal:
        press(qtbot, widget, Qt.Key.Key_Return)
    assert signal.args == [pointed[-1]]


def test_arrows_stop_at_the_ends_and_scroll_where_not_all_is_shown(
    qtbot: QtBot, three: MakeThree
) -> None:
    views = three(view_of(LATE, 2))
    pointed: list[Selection] = []
    views.cache.pointed.connect(pointed.append)
    press(qtbot, views.cache, *(Qt.Key.Key_Left,) * 70)
    assert pointed[-1].slot == 0
    assert slots_in_sight(views.mask)[0] == 0
    press(qtbot, views.cache, *(Qt.Key.Key_Right,) * 70)
    assert pointed[-1].slot == 59
    assert slots_in_sight(views.mask)[-1] == 59


def test_up_and_down_move_between_queries(qtbot: QtBot, three: MakeThree) -> None:
    canvas = canvas_of(three(view_of(PLAIN, 0), (660, 420)).mask)
    press(qtbot, canvas.parentWidget(), Qt.Key.Key_Up, Qt.Key.Key_Up)
    assert "query: token 5" in canvas.accessibleDescription()
    press(qtbot, canvas.parentWidget(), Qt.Key.Key_Down)
    assert "query: token 6" in canvas.accessibleDescription()


@pytest.mark.parametrize("part", ["cache", "mask", "attention"])
def test_escape_lets_go_of_what_was_chosen(qtbot: QtBot, three: MakeThree, part: str) -> None:
    view = view_of(PLAIN, 2, layer=1, head=2, slot=3, token_index=3, position_id=3)
    widget = getattr(three(view), part)
    with qtbot.waitSignal(widget.selected) as signal:
        press(qtbot, widget, Qt.Key.Key_Escape)
    assert signal.args == [Selection(step=2, layer=1, head=2)]


def test_the_cell_moved_to_is_told_to_a_screen_reader(qtbot: QtBot, three: MakeThree) -> None:
    cache = three(view_of(PLAIN, 2)).cache
    press(qtbot, cache, Qt.Key.Key_Left, Qt.Key.Key_Left)
    assert canvas_of(cache).accessibleDescription().startswith("slot 7 · row 7, live, token 7 ")


def cells(view: QTableView) -> list[list[str]]:
    model = view.model()
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def table_of(qtbot: QtBot, widget: SlotPanel) -> QTableView:
    press(qtbot, widget, Qt.Key.Key_T)
    (table,) = widget.findChildren(QTableView)
    assert table.window().isVisible()
    assert not table.window().isModal()
    return table


def test_the_table_of_the_cache_has_a_row_per_slot(qtbot: QtBot, three: MakeThree) -> None:
    view = view_of(with_fault(PLAIN, "pos-restart"), 1)
    found = cells(table_of(qtbot, three(view).cache))
    assert found[7][:3] == ["7", "0", "7"]
    assert found[6][:3] == ["6", "6", "6"]
    assert found[7][5] == "written in this step"
    assert found[8] == ["", "", "", "", "", "never written"]


def test_the_table_of_the_mask_says_what_should_be_seen(qtbot: QtBot, three: MakeThree) -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 1)
    (found,) = cells(table_of(qtbot, three(view).mask))
    assert found == ["seen"] + ["masked, should be seen"] * 7


def test_the_table_of_attention_has_every_weight(qtbot: QtBot, three: MakeThree) -> None:
    view = view_of(PLAIN, 1, layer=2, head=1)
    found = cells(table_of(qtbot, three(view).attention))
    recorded = view.records[1].layers[2].weights[1, -1].tolist()
    assert found[-1][:8] == [repr(weight) for weight in recorded]
    assert found[0][1] == "masked"
    assert found[-1][8] == "not there yet"


def test_an_open_table_follows_the_step(qtbot: QtBot, three: MakeThree) -> None:
    views = three(view_of(PLAIN, 1))
    table = table_of(qtbot, views.cache)
    show(views, view_of(PLAIN, 2))
    assert cells(table)[8][0] == "8"
    assert table.window().windowTitle() == "Cache after step 2"


def test_keys_with_a_modifier_stay_the_window_s(qtbot: QtBot, three: MakeThree) -> None:
    cache = three(view_of(PLAIN, 2)).cache
    with qtbot.assertNotEmitted(cache.pointed):
        QTest.keyClick(canvas_of(cache), Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
