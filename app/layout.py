"""The arrangement of the panels at the first start."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

from app.docks.dock import Dock, ReadoutDock

LOW_WINDOW_PX = 760
SIDE_PX = 300
BOTTOM_PX = 132
LOW_BOTTOM_PX = 84

_LEFT = Qt.DockWidgetArea.LeftDockWidgetArea
_CENTRE = Qt.DockWidgetArea.RightDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea


def arrange(window: QMainWindow, panels: Sequence[Dock], docks: Sequence[ReadoutDock]) -> None:
    """Panels at the left, readouts beside them from top to bottom, the timeline below all.

    There is no central widget: the docks share the whole window. In a low window the panels at
    the left stand behind one another.
    """
    for corner in (Qt.Corner.BottomLeftCorner, Qt.Corner.BottomRightCorner):
        window.setCorner(corner, _BOTTOM)
    centre = [dock for dock in docks if dock.spec.area == "centre"]
    bottom = [dock for dock in docks if dock.spec.area == "bottom"]
    _stand(window, _LEFT, panels)
    _stand(window, _CENTRE, centre)
    _stand(window, _BOTTOM, bottom)
    is_low = window.height() < LOW_WINDOW_PX
    if is_low:
        window.tabifyDockWidget(panels[0], panels[1])
        panels[0].raise_()
    _share(window, panels, centre, bottom, LOW_BOTTOM_PX if is_low else BOTTOM_PX)


def _stand(window: QMainWindow, area: Qt.DockWidgetArea, docks: Sequence[QDockWidget]) -> None:
    """Put the docks into an area, from top to bottom."""
    for dock in docks:
        window.removeDockWidget(dock)
        dock.setFloating(False)
        window.addDockWidget(area, dock, Qt.Orientation.Vertical)
        dock.show()


def _share(
    window: QMainWindow,
    panels: Sequence[Dock],
    centre: Sequence[ReadoutDock],
    bottom: Sequence[ReadoutDock],
    bottom_px: int,
) -> None:
    rest_px = max(1, window.width() - SIDE_PX)
    if centre:
        window.resizeDocks([panels[0], centre[0]], [SIDE_PX, rest_px], Qt.Orientation.Horizontal)
        window.resizeDocks(
            list(centre), [100 * dock.spec.share for dock in centre], Qt.Orientation.Vertical
        )
    if bottom:
        window.resizeDocks(list(bottom), [bottom_px] * len(bottom), Qt.Orientation.Vertical)
