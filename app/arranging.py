"""Puts panels where a plan wants them.

Moving the panels of a window one by one leaves Qt (6.11) with tab bars of stacks that are gone and
with heights that do not add up. So the plan is carried out once, with bare panels of the same names
in a window that nobody sees, and the real window takes over its state as it takes a saved one.
"""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QSizePolicy, QTabWidget, QToolBar, QWidget

from app.docks.dock import Dock
from app.layout import Plan

_AREA = Qt.DockWidgetArea.TopDockWidgetArea
_KEEPS, _TAKES = QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Expanding
_ACROSS, _DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


def set_growth(docks: Sequence[Dock]) -> None:
    """What a larger window gives goes to the docks without a height of their own."""
    for dock in docks:
        across = _KEEPS if dock.area in ("left", "right") else _TAKES
        dock.setSizePolicy(across, _TAKES if dock.height_px is None else _KEEPS)


def arrange(window: QMainWindow, docks: Sequence[Dock], where: Plan) -> None:
    """Carry a plan out: columns above, and below them what spans the window.

    There is no central widget: one dock area is the whole window. A panel that floats and has no
    place in the plan goes on floating.
    """
    for dock in docks:
        if dock.id in where.ids:
            dock.setFloating(False)
    state = _state(window, docks, where)
    for _ in range(2):  # the second time the tab bars are there, and sizes come out as they were
        window.restoreState(state)


def let_bars_follow(window: QMainWindow) -> None:
    """Give the bars the heights of their letters now: the panels share what they leave."""
    for _ in range(2):  # contents first, then what holds them
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    layout = window.layout()
    if layout is not None:
        layout.activate()


def _state(window: QMainWindow, docks: Sequence[Dock], where: Plan) -> QByteArray:
    """The state of a window with these panels in these places."""
    bare = _bare_window(window)
    panels = {dock.id: _bare_panel(dock, where) for dock in docks}
    placed = [i for column in where.columns for i in column] + list(where.bottom)
    for dock_id in placed:
        bare.addDockWidget(_AREA, panels[dock_id])
    _split(bare, [panels[where.columns[0][0]], *(panels[i] for i in where.bottom)], _DOWN)
    _split(bare, [panels[column[0]] for column in where.columns], _ACROSS)
    for column in where.columns:
        _split(bare, [panels[i] for i in column], _DOWN)
    for front, behind in where.tabs.items():
        for dock_id in behind:
            bare.tabifyDockWidget(panels[front], panels[dock_id])
        panels[front].raise_()
    for dock in docks:
        if dock.id not in where.ids:
            bare.addDockWidget(_AREA, panels[dock.id])
            _set_aside(panels[dock.id], dock)
    bare.show()
    state = bare.saveState()
    bare.hide()
    bare.deleteLater()
    return state


def _bare_window(window: QMainWindow) -> QMainWindow:
    """A window with bars of the same names and heights, never on the screen."""
    bare = QMainWindow()
    bare.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    bare.setDockNestingEnabled(True)
    bare.setDocumentMode(window.documentMode())
    bare.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
    bare.setMenuWidget(_filler(window.menuBar()))
    for bar in window.findChildren(QToolBar):
        twin = QToolBar()
        twin.setObjectName(bar.objectName())
        inner = twin.layout()
        if inner is not None:
            inner.setContentsMargins(0, 0, 0, 0)
        twin.addWidget(_filler(bar))
        bare.addToolBar(twin)
        bare.addToolBarBreak()
    if not window.statusBar().isHidden():
        bare.statusBar().setFixedHeight(window.statusBar().sizeHint().height())
    bare.resize(window.size())
    return bare


def _filler(bar: QWidget) -> QWidget:
    made = QWidget()
    made.setFixedHeight(bar.height() if bar.isVisible() else bar.sizeHint().height())
    return made


def _bare_panel(dock: Dock, where: Plan) -> QDockWidget:
    """An empty panel of the same name, held at the size that the plan gives it."""
    panel = QDockWidget()
    panel.setObjectName(dock.objectName())
    panel.setTitleBarWidget(QWidget())
    panel.setWidget(QWidget())
    panel.setSizePolicy(_TAKES, _TAKES)
    if dock.id in where.heights:
        panel.setFixedHeight(where.heights[dock.id])
    width_px = where.width_of(dock.id)
    if width_px is not None:
        panel.setFixedWidth(width_px)
    return panel


def _set_aside(panel: QDockWidget, dock: Dock) -> None:
    """A panel without a place is hidden, or floats where it floated."""
    if dock.isFloating():
        panel.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        panel.setFloating(True)
        panel.setGeometry(dock.geometry())
    panel.setVisible(dock.isFloating() and not dock.isHidden())


def _split(window: QMainWindow, docks: Sequence[QDockWidget], way: Qt.Orientation) -> None:
    """Each of the docks beside, or below, the one before it."""
    for earlier, later in pairwise(docks):
        window.splitDockWidget(earlier, later, way)
