"""The names of panels that stand behind one another."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QStyle, QTabBar, QTabWidget

from app.tab_letters import fit_tabs
from app.theme import LIGHT, apply_theme

NAMES = ("Next token", "Inspector", "Code", "Lesson")


@pytest.fixture
def theme():
    """Large letters, for as long as the test takes."""
    large = LIGHT.sized(percent=150)
    apply_theme(QApplication.instance(), large)
    yield large
    apply_theme(QApplication.instance(), LIGHT)


@pytest.fixture
def window(qtbot, theme) -> QMainWindow:
    made = QMainWindow()
    qtbot.addWidget(made)
    made.setDocumentMode(True)
    made.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
    docks = [QDockWidget(name) for name in NAMES]
    for dock in docks:
        made.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
    for dock in docks[1:]:
        made.tabifyDockWidget(docks[0], dock)
    return made


def tabs_at(qtbot, window: QMainWindow, width: int) -> QTabBar:
    window.resize(width, 200)
    window.show()
    (tabs,) = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    qtbot.waitUntil(lambda: tabs.isVisible() and tabs.width() == width)
    return tabs


def test_names_that_would_be_cut_have_smaller_letters(qtbot, window, theme):
    tabs = tabs_at(qtbot, window, 310)
    fit_tabs(window, theme)
    space = tabs.style().pixelMetric(QStyle.PixelMetric.PM_TabBarTabHSpace, None, tabs)
    qtbot.waitUntil(
        lambda: all(
            tabs.tabRect(i).width() >= tabs.fontMetrics().horizontalAdvance(name) + space
            for i, name in enumerate(NAMES)
        )
    )


def test_names_that_have_room_keep_the_usual_letters(qtbot, window, theme):
    tabs = tabs_at(qtbot, window, 310)
    fit_tabs(window, theme)
    tabs = tabs_at(qtbot, window, 700)
    fit_tabs(window, theme)
    assert tabs.font().pixelSize() == theme.small_px + 1
