"""What the tests of the views share."""

import pytest
from pytestqt.qtbot import QtBot

from app.theme import LIGHT, Theme
from app.views.attention import AttentionView
from app.views.cache import CacheView
from app.views.mask import MaskView
from app.widgets.slot_panel import share_scroll
from core.readouts.run_view import RunView
from tests.app.views.slots_shown import SIZE, MakeThree, Three, show


@pytest.fixture
def three(qtbot: QtBot) -> MakeThree:
    """The three views of a step, of one width, with one scroll."""
    alive: list[Three] = []

    def make(view: RunView, size: tuple[int, int] = SIZE, theme: Theme = LIGHT) -> Three:
        views = Three(CacheView(theme), MaskView(theme), AttentionView(theme))
        alive.append(views)
        share_scroll(views)
        for widget in views:
            qtbot.addWidget(widget)
            widget.resize(*size)
        show(views, view)
        for widget in views:
            widget.show()
        return views

    return make
