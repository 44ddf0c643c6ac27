"""The code dock: which seam is shown, in which form, and what is marked."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QComboBox, QTabBar, QToolButton
from pytestqt.qtbot import QtBot

from app.theme import DARK, LIGHT, Theme
from app.views.code import BLANK, CodeView
from app.widgets.code_lines import ShownLine, broken
from app.widgets.code_text import CodeText
from app.widgets.python_style import Span
from app.widgets.value_list import ValueList
from core.readouts.code import code_readout
from core.readouts.run_view import RunView
from tests.core.readouts.runs import FULL, PLAIN, pending_view_of, view_of, with_fault

NARROW, WIDE = (330, 220), (760, 220)
POS_RESTART = with_fault(PLAIN, "pos-restart")
MakeView = Callable[..., CodeView]


@pytest.fixture
def shown(qtbot: QtBot) -> MakeView:
    """The dock's view at a size; it lives as long as the test."""
    alive: list[CodeView] = []

    def make(
        view: RunView | None, size: tuple[int, int] = NARROW, theme: Theme = LIGHT
    ) -> CodeView:
        widget = CodeView(theme)
        alive.append(widget)
        qtbot.addWidget(widget)
        widget.resize(*size)
        if view is not None:
            widget.show_readout(code_readout(view))
        widget.show()
        return widget

    return make


def texts(widget: CodeView) -> list[str]:
    """Lines of the panes that are seen, each pane as one text."""
    return [pane.toPlainText() for pane in widget.findChildren(CodeText) if pane.isVisible()]


def values(widget: CodeView) -> ValueList:
    (found,) = widget.findChildren(ValueList)
    return found


def has_colour(image: QImage, colour: QColor) -> bool:
    wanted = colour.rgb()
    return any(
        image.pixel(x, y) == wanted for y in range(image.height()) for x in range(image.width())
    )


def test_the_start_run_with_positions_from_0_reads_as_promised(shown: MakeView) -> None:
    widget = shown(view_of(POS_RESTART, 1))
    first, *rest = values(widget).values
    assert (first.name, first.text, first.expected, first.is_wrong) == (
        "position_ids",
        "[0]",
        "[7]",
        True,
    )
    assert ("past_len", "7") in [(value.name, value.text) for value in rest]
    assert values(widget).n_lines * values(widget).line_px == values(widget).height()
    (text,) = texts(widget)
    assert "    return np.arange(n_new)\n    return np.arange(past_len, past_len" in text


def test_all_of_it_can_be_read_at_the_usual_size_without_a_scroll_bar(shown: MakeView) -> None:
    widget = shown(view_of(POS_RESTART, 1))
    pane = next(pane for pane in widget.findChildren(CodeText) if pane.isVisible())
    assert not pane.verticalScrollBar().isVisible()
    assert not pane.horizontalScrollBar().isVisible()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_wrong_is_marked_in_alarm_and_nothing_else_is(
    shown: MakeView, theme: Theme
) -> None:
    assert has_colour(shown(view_of(POS_RESTART, 1), theme=theme).grab().toImage(), theme.alarm)
    assert not has_colour(shown(view_of(PLAIN, 1), theme=theme).grab().toImage(), theme.alarm)


def test_before_the_verdict_no_value_is_in_alarm(shown: MakeView) -> None:
    widget = shown(pending_view_of(POS_RESTART, 1))
    assert not has_colour(values(widget).grab().toImage(), LIGHT.alarm)


def test_a_narrow_dock_shows_one_pane_and_a_wide_one_two(shown: MakeView) -> None:
    assert len(texts(shown(view_of(POS_RESTART, 1), NARROW))) == 1
    left, right = texts(shown(view_of(POS_RESTART, 1), WIDE))
    assert "return np.arange(n_new)" in left
    assert "past_len + n_new" in right


def test_a_dock_that_grows_wide_puts_the_functions_beside_each_other(
    qtbot: QtBot, shown: MakeView
) -> None:
    widget = shown(view_of(POS_RESTART, 1), NARROW)
    widget.resize(*WIDE)
    qtbot.waitUntil(lambda: len(texts(widget)) == 2)
    widget.resize(*NARROW)
    qtbot.waitUntil(lambda: len(texts(widget)) == 1)


def test_a_single_function_has_one_pane_however_wide(shown: MakeView) -> None:
    (text,) = texts(shown(view_of(PLAIN, 1), WIDE))
    assert "def position_ids(" in text


def test_a_list_leads_to_each_seam_the_faulty_one_first(shown: MakeView) -> None:
    widget = shown(view_of(with_fault(PLAIN, "mask-top-left"), 1))
    (seams,) = widget.findChildren(QComboBox)
    assert seams.itemText(0) == "✕ causal_mask"
    seams.setCurrentIndex(seams.findData("past_len"))
    assert widget.seam == "past_len"
    assert "def past_len(" in texts(widget)[0]


def test_several_faults_have_a_tab_each(shown: MakeView) -> None:
    widget = shown(view_of(with_fault(PLAIN, "both-bugs"), 1))
    (tabs,) = widget.findChildren(QTabBar)
    assert [tabs.tabText(tab) for tab in range(tabs.count())] == ["position_ids", "causal_mask"]
    assert widget.seam == "position_ids"
    tabs.setCurrentIndex(1)
    assert widget.seam == "causal_mask"
    assert "np.tri(" in texts(widget)[0]


def test_beside_the_tabs_a_list_leads_to_the_other_seams(shown: MakeView) -> None:
    widget = shown(view_of(with_fault(PLAIN, "both-bugs"), 1))
    (seams,), (tabs,) = widget.findChildren(QComboBox), widget.findChildren(QTabBar)
    assert seams.currentIndex() == -1
    seams.setCurrentIndex(seams.findData("kv_view"))
    assert widget.seam == "kv_view"
    tabs.setCurrentIndex(1)
    assert widget.seam == "causal_mask"
    assert seams.currentIndex() == -1


def test_the_changed_lines_are_in_sight_however_low_the_dock(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown(view_of(with_fault(PLAIN, "mask-top-left"), 1), (330, 130))
    pane = next(pane for pane in widget.findChildren(CodeText) if pane.isVisible())

    def first_line_seen() -> str:
        cursor = pane.cursorForPosition(pane.viewport().rect().topLeft())
        return cursor.block().text()

    qtbot.waitUntil(lambda: "runs:" not in first_line_seen())
    seen = has_colour(pane.grab().toImage(), LIGHT.alarm)
    assert seen


def test_the_seam_chosen_stays_from_step_to_step_until_the_faults_change(shown: MakeView) -> None:
    widget = shown(view_of(POS_RESTART, 1))
    (seams,) = widget.findChildren(QComboBox)
    seams.setCurrentIndex(seams.findData("kv_view"))
    widget.show_readout(code_readout(view_of(POS_RESTART, 2)))
    assert widget.seam == "kv_view"
    widget.show_readout(code_readout(view_of(with_fault(PLAIN, "mask-top-left"), 1)))
    assert widget.seam == "causal_mask"


def test_a_refused_step_says_why_there_are_no_values(shown: MakeView) -> None:
    widget = shown(view_of(FULL, 6))
    assert values(widget).values == ()
    assert "nothing was computed in this step" in widget.accessibleDescription()
    assert values(widget).n_lines == 1


def test_whole_docstrings_can_be_asked_for(shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1), (330, 500))
    assert "Invariant:" not in texts(widget)[0]
    (docs,) = (each for each in widget.findChildren(QToolButton) if each.text() == "Docs")
    docs.click()
    assert "Invariant:" in texts(widget)[0]


def test_code_is_copied_with_the_lines_of_its_file(qtbot: QtBot, shown: MakeView) -> None:
    """However they are broken to fit."""
    widget = shown(view_of(POS_RESTART, 1), (260, 220))
    pane = next(pane for pane in widget.findChildren(CodeText) if pane.isVisible())
    qtbot.waitUntil(lambda: "(past_len, past_len + n_new)" not in pane.toPlainText())
    pane.selectAll()
    qtbot.keyClick(pane, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QApplication.clipboard().text()
    assert "\n    return np.arange(past_len, past_len + n_new)" in copied


@pytest.mark.parametrize("n_columns", range(16, 60))
def test_a_broken_line_loses_no_blank_wherever_it_is_broken(n_columns: int) -> None:
    text = "    return np.arange(past_len, past_len + n_new)"
    first, *others = broken(ShownLine((Span(text),)), n_columns)
    assert first.text + "".join(part.text.lstrip() for part in others) == text


def test_a_value_is_told_in_full_where_the_mouse_rests(shown: MakeView) -> None:
    found = values(shown(view_of(POS_RESTART, 1))).hit(QPointF(20, 8))
    assert found is not None
    assert found.tip == "position_ids = [0]\nexpected [7]"


def test_a_cleared_view_says_what_will_be_there(shown: MakeView) -> None:
    widget = shown(view_of(POS_RESTART, 1))
    widget.clear()
    assert texts(widget) == []
    assert widget.seam is None
    assert widget.accessibleDescription() == BLANK


def test_a_screen_reader_gets_names_and_the_sentence(shown: MakeView) -> None:
    widget = shown(view_of(POS_RESTART, 1))
    readout = code_readout(view_of(POS_RESTART, 1))
    assert widget.accessibleName() == "Code"
    assert widget.accessibleDescription() == readout.section("position_ids").sentence
    for kind in (QComboBox, CodeText, ValueList):
        assert all(each.accessibleName() for each in widget.findChildren(kind))
