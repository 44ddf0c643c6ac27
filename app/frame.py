"""Tool bars and menus around the panels."""

from collections.abc import Iterable

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QMenu, QTabBar, QToolBar, QWidget

from app.action_set import ActionSet
from app.docks.dock import Dock
from app.files import Files
from app.layout import BORDER_PX


def add_bar(window: QMainWindow, name: str, content: QWidget) -> None:
    """A row of its own under the menus."""
    bar = QToolBar(name)
    bar.addWidget(content)
    bar.setObjectName(f"bar-{name.lower()}")
    bar.setMovable(False)
    inner = bar.layout()
    if inner is not None:
        inner.setContentsMargins(0, 0, 0, 0)
    bar.toggleViewAction().setVisible(False)
    window.addToolBar(bar)
    window.addToolBarBreak()


def add_menus(
    window: QMainWindow, actions: ActionSet, docks: Iterable[Dock], files: Files
) -> dict[str, QMenu]:
    """Every command in its menu, recent traces, and the panels to show or hide."""
    menus = actions.fill(window.menuBar())
    window.addActions(list(actions.actions.values()))
    menus["Window"].addSeparator()
    menus["Window"].addActions(panel_actions(docks))
    recent = QMenu("Open recent", menus["File"])
    recent.setToolTipsVisible(True)
    recent.aboutToShow.connect(lambda: files.fill_recent(recent))
    menus["File"].insertMenu(actions.actions["save"], recent)
    return menus


def panel_actions(docks: Iterable[Dock]) -> list[QAction]:
    """Show or hide each panel."""
    made = [dock.toggleViewAction() for dock in docks]
    for action in made:
        action.setData(f"Panel: {action.text()}")
        action.setToolTip(f"Show or hide the panel {action.text()}")
    return made


def rows_of_tabs(window: QMainWindow, top_px: int) -> list[tuple[QRect, int]]:
    """The row of tabs that begins at a height, and up to where its tabs stand: one at most.

    The lines between panels are no part of it.
    """
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    rows: list[tuple[QRect, int]] = []
    for tabs in window.findChildren(QTabBar, options=direct):
        place = tabs.geometry()
        is_below = 0 <= place.top() - top_px <= 2 * BORDER_PX
        if tabs.isVisible() and tabs.count() and is_below:
            height_px = place.bottom() + 1 - top_px - 2 * BORDER_PX
            row = QRect(0, top_px + BORDER_PX, window.width(), height_px)
            tabs_px = place.left() + tabs.tabRect(tabs.count() - 1).right() + 1
            rows.append((row, tabs_px + 2 * BORDER_PX))
    return rows[:1]
