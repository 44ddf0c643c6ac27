"""Everything can be reached, done and read without a mouse."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QApplication,
    QListWidget,
    QPushButton,
    QTextEdit,
    QTreeWidget,
    QWidget,
)

from app.docks.dock import Dock
from app.widgets.canvas import Canvas
from tests.app.desk import Desk

MOST_TABS = 80
BOX_PX = 9
"""From the left edge of a row to within its box."""


def spoken(widget: QWidget, part: QAccessible.Text = QAccessible.Text.Name) -> str:
    """What a screen reader says of a widget."""
    interface = QAccessible.queryAccessibleInterface(widget)
    assert interface is not None
    return interface.text(part)


def press(desk: Desk, key: Qt.Key) -> None:
    """A key where the keyboard is."""
    desk.qtbot.keyClick(QApplication.focusWidget() or desk.window, key)


def tab_to(desk: Desk, name: str) -> QWidget:
    """Go from control to control until one of this name has the keyboard."""
    for _ in range(MOST_TABS):
        press(desk, Qt.Key.Key_Tab)
        reached = QApplication.focusWidget()
        if reached is not None and spoken(reached) == name:
            return reached
    raise AssertionError(f"no control {name!r} is reached by Tab")


def test_a_fault_is_ticked_its_verdict_read_a_step_made_and_an_answer_opened(sit_down, start_run):
    desk = sit_down(start_run)
    search = tab_to(desk, "Search faults")
    desk.qtbot.keyClicks(search, "row 0 causal")
    listed = tab_to(desk, "Faults")
    assert isinstance(listed, QListWidget)
    press(desk, Qt.Key.Key_Home)
    while listed.currentItem() is not desk.row_of("mask-top-left"):
        press(desk, Qt.Key.Key_Down)
    desk.do(lambda: press(desk, Qt.Key.Key_Space))
    assert desk.window.faults.ids == ("mask-top-left",)
    assert desk.step == 1
    tab_to(desk, "Search faults")
    press(desk, Qt.Key.Key_Tab)
    assert spoken(QApplication.focusWidget()) == "Faults that are on"
    press(desk, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is listed

    strip = tab_to(desk, spoken(desk.content("diagnosis")))
    verdict = spoken(strip, QAccessible.Text.Description)
    assert "step 1: " in verdict
    assert "token 7 sees token 0, expected 0–7" in verdict or "visible" in verdict

    desk.do(lambda: press(desk, Qt.Key.Key_F10))
    assert desk.step == 2
    desk.do(lambda: press(desk, Qt.Key.Key_F8))
    assert desk.step == 1

    lesson = desk.window.dock("lesson")
    while not is_an_answer(QApplication.focusWidget()):
        press(desk, Qt.Key.Key_Tab)
    assert not lesson.is_behind
    answer = QApplication.focusWidget()
    n_before = n_texts(lesson)
    press(desk, Qt.Key.Key_Return)
    assert spoken(answer, QAccessible.Text.Description) == "open"
    desk.qtbot.waitUntil(lambda: n_texts(lesson) == n_before + 1)


def press_box(desk: Desk, fault_id: str, inside: QListWidget) -> None:
    """Click the box of a fault in one of the lists, and wait for what follows."""
    rows = [inside.item(row) for row in range(inside.count())]
    item = next(row for row in rows if row.toolTip().startswith(f"{fault_id}\n"))
    inside.scrollToItem(item)
    row = inside.visualItemRect(item)
    at = QPoint(row.left() + BOX_PX, row.center().y())
    viewport = inside.viewport()
    desk.do(lambda: desk.qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at))


def test_after_a_click_on_a_box_the_keys_step_again(sit_down, start_run):
    desk = sit_down(start_run)
    press_box(desk, "mask-top-left", desk.faults_list)
    assert desk.step == 1
    desk.do(lambda: press(desk, Qt.Key.Key_Right))
    assert desk.step == 2
    desk.do(lambda: press(desk, Qt.Key.Key_Left))
    desk.do(lambda: press(desk, Qt.Key.Key_Space))
    desk.control.player.pause()
    assert desk.window.faults.ids == ("mask-top-left",)
    assert desk.step > 1

    lists = desk.window.faults.findChildren(QListWidget)
    on = next(each for each in lists if spoken(each) == "Faults that are on")
    press_box(desk, "mask-top-left", on)
    assert desk.window.faults.ids == ()
    assert QApplication.focusWidget() is desk.window


def test_a_tick_by_key_and_a_click_on_a_name_leave_the_keys_to_the_list(sit_down, start_run):
    desk = sit_down(start_run)
    listed = desk.faults_list
    listed.setFocus()
    desk.do(lambda: press(desk, Qt.Key.Key_Space))
    assert listed.hasFocus()
    row = listed.visualItemRect(desk.row_of("pos-restart"))
    desk.qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=row.center())
    assert listed.hasFocus()


def test_after_a_click_on_a_run_the_keys_step_again(sit_down, start_run):
    desk = sit_down(start_run)
    desk.tick("mask-top-left")
    runs = desk.window.dock("runs")
    runs.raise_()
    listed = desk.the(QTreeWidget, runs)
    desk.qtbot.waitUntil(lambda: listed.topLevelItemCount() == 2)
    at = listed.visualItemRect(listed.topLevelItem(0)).center()
    viewport = listed.viewport()
    desk.do(lambda: desk.qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at))
    desk.do(lambda: press(desk, Qt.Key.Key_Home))
    assert desk.step == 0


def is_an_answer(widget: QWidget | None) -> bool:
    """Whether it is the title of a part of a lesson that is closed."""
    if not isinstance(widget, QPushButton):
        return False
    return spoken(widget, QAccessible.Text.Description) == "closed"


def n_texts(lesson: Dock) -> int:
    """Texts that can be read in the lesson."""
    return sum(text.isVisible() for text in lesson.findChildren(QTextEdit))


def test_what_tab_reaches_has_a_name_and_is_seen(sit_down, start_run):
    desk = sit_down(start_run)
    stops = []
    for _ in range(MOST_TABS):
        press(desk, Qt.Key.Key_Tab)
        reached = QApplication.focusWidget()
        if reached is None or reached in stops:
            break
        stops.append(reached)
        dock = dock_of(reached)
        assert dock is None or not dock.is_behind, reached
    unnamed = [stop for stop in stops if not spoken(stop) and stop is not desk.window]
    assert [f"{type(stop).__name__} in {dock_of(stop)}" for stop in unnamed] == []
    assert len(stops) > 25


def dock_of(widget: QWidget) -> Dock | None:
    """The panel that a control is in."""
    parent = widget.parentWidget()
    while parent is not None and not isinstance(parent, Dock):
        parent = parent.parentWidget()
    return parent


def test_every_canvas_is_named_and_says_in_words_what_it_shows(sit_down, start_run):
    desk = sit_down(start_run)
    desk.tick("store-row-zero")
    for dock in desk.window.readout_docks:
        dock.raise_()
    desk.do(desk.control.situation_changed.emit)
    shown = [canvas for canvas in desk.window.findChildren(Canvas) if canvas.isVisible()]
    silent = [type(c).__name__ for c in shown if not (spoken(c) and c.accessibleDescription())]
    assert silent == []
    assert len(shown) >= 8


@pytest.mark.parametrize("dock_id", ["tokens", "cache", "mask", "attention", "next-token"])
def test_arrows_move_t_shows_a_table_and_escape_lets_go(sit_down, start_run, dock_id):
    desk = sit_down(start_run)
    canvas = desk.the(Canvas, desk.content(dock_id))
    canvas.setFocus(Qt.FocusReason.TabFocusReason)
    said = canvas.accessibleDescription()
    press(desk, Qt.Key.Key_Left)
    press(desk, Qt.Key.Key_Left)
    assert canvas.accessibleDescription() != said
    before = set(QApplication.topLevelWidgets())
    press(desk, Qt.Key.Key_T)
    tables = [top for top in set(QApplication.topLevelWidgets()) - before if top.isVisible()]
    assert len(tables) == 1
    tables[0].close()
    desk.window.activateWindow()
    press(desk, Qt.Key.Key_Escape)
    assert desk.step == 3
