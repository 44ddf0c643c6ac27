"""The arrangement of the panels at the first start."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QSizePolicy

from app.docks.dock import Dock, ReadoutDock

LOW_WINDOW_PX = 760
SIDE_PX = 300
RIGHT_PX = 330
SETUP_PX = 244
LOW_BOTTOM_PX = 84
NO_LIMIT_PX = 16_777_215

_AREA = Qt.DockWidgetArea.TopDockWidgetArea
_KEEPS, _TAKES = QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Expanding
_ACROSS, _DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


def set_growth(panels: Sequence[Dock], docks: Sequence[ReadoutDock]) -> None:
    """What a larger window gives goes to the docks without a height of their own."""
    for dock in panels:
        dock.setSizePolicy(_KEEPS, _TAKES)
    panels[0].setSizePolicy(_KEEPS, _KEEPS)
    for dock in docks:
        dock.setSizePolicy(_TAKES, _TAKES if dock.spec.height_px is None else _KEEPS)


def arrange(window: QMainWindow, panels: Sequence[Dock], docks: Sequence[ReadoutDock]) -> None:
    """Panels at the left, readouts beside them from top to bottom and at the right, and one below.

    There is no central widget: one dock area is the whole window. In a low window the panels at
    the left stand behind one another.
    """
    window.setDockNestingEnabled(True)
    centre, right, bottom = (_of_area(docks, area) for area in ("centre", "right", "bottom"))
    for dock in (*panels, *docks):
        window.addDockWidget(_AREA, dock)
        dock.setFloating(False)
        dock.show()
    _work_out(window)  # a dock that is shown after it was given its place is given it too late
    _split(window, [panels[0], *bottom], _DOWN)
    _split(window, [panels[0], *centre[:1]], _ACROSS)
    _split(window, [*centre[:1], *right[:1]], _ACROSS)
    _split(window, centre, _DOWN)
    _split(window, right, _DOWN)
    _tabify(window, docks)
    is_low = window.height() < LOW_WINDOW_PX
    if is_low:
        window.tabifyDockWidget(panels[0], panels[1])
    else:
        _split(window, panels, _DOWN)
    panels[0].raise_()
    heights: dict[Dock, int] = {d: d.spec.height_px for d in docks if d.spec.height_px}
    heights[panels[0]] = SETUP_PX
    _size(window, dict.fromkeys(bottom, LOW_BOTTOM_PX) if is_low else heights)
    columns = [panels[0], *centre[:1], *right[:1]]
    sides = [SIDE_PX, RIGHT_PX if right else 0]
    widths = [SIDE_PX, window.width() - sum(sides), RIGHT_PX][: len(columns)]
    window.resizeDocks(columns, widths, _ACROSS)


def _of_area(docks: Sequence[ReadoutDock], area: str) -> list[ReadoutDock]:
    """Docks with a place of their own there, from top to bottom."""
    return [dock for dock in docks if dock.spec.area == area and dock.spec.tab_of is None]


def _tabify(window: QMainWindow, docks: Sequence[ReadoutDock]) -> None:
    """Those that stand behind another; the one in front stays in front."""
    by_id = {dock.spec.id: dock for dock in docks}
    for dock in docks:
        if dock.spec.tab_of is not None:
            window.tabifyDockWidget(by_id[dock.spec.tab_of], dock)
            by_id[dock.spec.tab_of].raise_()


def _split(window: QMainWindow, docks: Sequence[QDockWidget], way: Qt.Orientation) -> None:
    """Each of the docks beside, or below, the one before it."""
    for earlier, later in pairwise(docks):
        window.splitDockWidget(earlier, later, way)


def _size(window: QMainWindow, heights: Mapping[Dock, int]) -> None:
    """Give docks a size that they keep until someone moves a border; others take the rest.

    resizeDocks knows no neighbours outside the innermost split, so the docks are held at their
    sizes while the layout is worked out once.
    """
    for dock, height_px in heights.items():
        dock.setFixedHeight(height_px)
    _work_out(window)
    for dock in heights:
        dock.setMinimumHeight(0)
        dock.setMaximumHeight(NO_LIMIT_PX)
    _work_out(window)


def _work_out(window: QMainWindow) -> None:
    layout = window.layout()
    if layout is not None:
        layout.activate()
