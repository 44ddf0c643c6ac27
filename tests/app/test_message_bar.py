"""One line above the panels."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app.message_bar import MessageBar
from app.notice import Notice, Offer
from app.theme import LIGHT


@pytest.fixture
def window(qtbot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(800, 600)
    made.show()
    return made


@pytest.fixture
def bar(window) -> MessageBar:
    return MessageBar(LIGHT, window)


def button(bar: MessageBar, text: str) -> QPushButton:
    return next(found for found in bar.findChildren(QPushButton) if found.text() == text)


def test_the_newest_notice_is_shown(bar):
    bar.show_notice(Notice("first"))
    bar.show_notice(Notice("second"))
    assert (bar.text, bar.isVisible()) == ("second", True)
    bar.clear_notice()
    assert (bar.text, bar.isVisible()) == ("", False)


def test_the_same_fault_again_is_counted(bar):
    for _ in range(3):
        bar.show_notice(Notice("it broke", "trace"))
    assert bar.text == "it broke  (3 times)"


def test_a_report_has_the_details_and_the_versions(bar):
    bar.show_notice(Notice("it broke", "Traceback of it"))
    button(bar, "Copy report").click()
    report = QApplication.clipboard().text()
    assert "it broke" in report
    assert "Traceback of it" in report
    assert "torch" in report


def test_an_offer_is_taken_once_and_the_line_goes(bar):
    taken: list[int] = []
    bar.show_notice(Notice("hidden here", offer=Offer("Show it", lambda: taken.append(1))))
    button(bar, "Show it").click()
    assert (taken, bar.isVisible()) == ([1], False)


def test_a_notice_without_details_has_no_report(bar):
    bar.show_notice(Notice("a choice"))
    assert not button(bar, "Copy report").isVisible()


def test_a_long_line_wraps_and_keeps_its_corner(bar):
    bar.show_notice(Notice("short"))
    bar.place(790, 590)
    low = bar.geometry()
    bar.show_notice(Notice("a long line " * 20))
    bar.place(790, 590)
    assert bar.height() > low.height()
    assert (bar.geometry().right(), bar.geometry().bottom()) == (low.right(), low.bottom())


def test_a_short_line_takes_the_place_beside_the_words_of_the_strip(bar):
    bar.show_notice(Notice("short"))
    strip = QRect(0, 400, 800, 26)
    assert bar.place_in_row(strip, 200, may_cover=False)
    assert bar.geometry().left() >= 200
    assert strip.adjusted(0, -6, 0, 6).contains(bar.geometry())


def test_where_the_words_are_long_the_line_covers_the_whole_strip(bar):
    bar.show_notice(Notice("a line of some length, longer than what the words leave"))
    strip = QRect(0, 400, 800, 26)
    assert bar.place_in_row(strip, 700, may_cover=True)
    assert bar.geometry().left() < 10
    assert bar.height() >= strip.height()


def test_words_that_may_not_be_covered_have_the_row_for_themselves(bar):
    bar.show_notice(Notice("a line of some length, longer than what the words leave"))
    assert not bar.place_in_row(QRect(0, 400, 800, 26), 700, may_cover=False)


def test_a_message_of_many_lines_becomes_wider_to_stay_below_what_it_may_not_cover(bar):
    bar.show_notice(Notice("a long line " * 20))
    bar.place(790, 590)
    narrow = bar.geometry()
    bar.place(790, 590, narrow.top() + 1)
    assert bar.width() > narrow.width()
    assert bar.y() > narrow.top()


def test_a_line_that_is_too_long_for_the_strip_has_no_place_there(bar):
    bar.show_notice(Notice("a long line " * 20))
    assert not bar.place_in_row(QRect(0, 400, 800, 26), 0, may_cover=True)


def test_the_keys_go_back_to_the_window_once_an_offer_is_taken(qtbot, window):
    window.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    bar = MessageBar(LIGHT, window)
    with qtbot.waitActive(window):
        window.activateWindow()
    bar.show_notice(Notice("hidden here", offer=Offer("Show it", lambda: None)))
    field = QPushButton("another control", window)
    field.show()
    button(bar, "Show it").setFocus()
    button(bar, "Show it").click()
    assert QApplication.focusWidget() is window
