"""The quiet line."""

import pytest

from app.status_line import StatusLine
from app.theme import DARK, LIGHT


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
