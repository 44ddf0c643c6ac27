"""The quiet line."""

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QMainWindow

from app.status_line import StatusLine, place
from app.theme import DARK, LIGHT

WORK = "Tokens computed"


@pytest.fixture
def bar(qtbot) -> StatusLine:
    made = StatusLine(LIGHT)
    qtbot.addWidget(made)
    made.resize(900, 24)
    made.show()
    return made


def test_it_says_what_it_is_told(bar):
    bar.show_pointed("token 3 'is'")
    bar.show_work("tokens computed: 12")
    bar.show_engine("torch 1 · cpu")
    bar.dress(DARK)
    assert bar.pointed_words == "token 3 'is'"
    assert bar.work_words == "tokens computed: 12"
    assert bar.engine_words == "torch 1 · cpu"


def test_what_is_done_at_once_shows_no_progress(bar, qtbot):
    bar.show_busy(is_busy=True)
    bar.show_busy(is_busy=False)
    assert not bar.is_progress_shown
    bar.show_busy(is_busy=True)
    qtbot.waitUntil(lambda: bar.is_progress_shown)
    bar.show_busy(is_busy=True)
    assert bar.is_progress_shown
    bar.show_busy(is_busy=False)
    assert not bar.is_progress_shown


def test_words_that_have_no_place_yet_are_not_seen_at_all(bar):
    work = next(each for each in bar.findChildren(QLabel) if each.accessibleName() == WORK)
    blank = work.grab().toImage()
    work.setFixedWidth(work.width())
    bar.show_work("tokens computed: 10 with this cache, 34 without one")
    assert work.grab().toImage() == blank
    work.setFixedWidth(400)
    assert work.grab().toImage() != QImage(blank.scaled(work.size()))


def test_beside_the_menus_it_is_as_high_as_they_are(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.menuBar().addMenu("File")
    window.resize(900, 300)
    window.show()
    line = StatusLine(LIGHT)
    line.show_work("tokens computed: 10")
    place(line, window, is_low=True)
    window.resize(901, 300)
    menu = window.menuBar().actionGeometry(window.menuBar().actions()[0])
    qtbot.waitUntil(lambda: line.height() == menu.height())
    assert line.y() == menu.y()
