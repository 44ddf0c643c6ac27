"""The arrangement of the real panels: reset gives back the one of the first start."""

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QRect, Qt

from app.docks.registry import DOCKS
from app.draft import Draft
from app.layout import SETUP_PX
from app.main_window import MainWindow
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import LIGHT
from tests.app.fakes import FakeBackend


@pytest.fixture
def open_window(qtbot, tmp_path) -> Iterator[Callable[[int, int], MainWindow]]:
    """Opens a window of a size for the first time."""
    opened: list[MainWindow] = []

    def make(width: int, height: int) -> MainWindow:
        control = RunControl(FakeBackend, Draft("learned", "ab"))
        window = MainWindow(control, DOCKS, LIGHT, Preferences(tmp_path / f"{width}.ini"))
        qtbot.addWidget(window)
        opened.append(window)
        window.resize(width, height)
        with qtbot.waitExposed(window):
            window.show()
        qtbot.waitUntil(lambda: window.panels[0].height() == SETUP_PX)
        return window

    yield make
    for window in opened:
        window.close()
        assert window.control.close(5000)


def places(window: MainWindow) -> list[QRect]:
    return [dock.geometry() for dock in (*window.panels, *window.readout_docks)]


def close_some(window: MainWindow) -> None:
    for dock in window.readout_docks[:3]:
        dock.close()


def close_all(window: MainWindow) -> None:
    for dock in (*window.panels, *window.readout_docks):
        dock.close()


def float_some(window: MainWindow) -> None:
    for dock in window.readout_docks[1:4]:
        dock.setFloating(True)


def move_some(window: MainWindow) -> None:
    window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, window.readout_docks[0])
    window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, window.panels[0])
    window.tabifyDockWidget(window.readout_docks[1], window.readout_docks[3])


def change_nothing(window: MainWindow) -> None:
    """As it is."""


CHANGES = (change_nothing, close_some, close_all, float_some, move_some)


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("size", [(1440, 900), (1280, 800)])
def test_reset_gives_each_panel_the_place_of_the_first_start(size, change, open_window, qtbot):
    window = open_window(*size)
    at_start = places(window)
    change(window)
    for _ in range(2):
        window.reset_layout()
        qtbot.waitUntil(lambda: places(window) == at_start)
        assert all(dock.isVisible() for dock in (*window.panels, *window.readout_docks))
