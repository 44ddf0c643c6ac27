"""The layouts of the window: chosen, kept one by one, and given back."""

from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QMainWindow

from app.arranging import arrange, let_bars_follow, set_growth
from app.docks.dock import Dock
from app.layout import LayoutName, Plan, has_low_bars, is_small, plan
from app.looks import Looks
from app.preferences import Preferences, layout_version

SETTLED_MS = 120


class Layouts(QObject):
    """Keeps one arrangement for each layout, and for small and large windows."""

    changed = Signal()
    bars_lowered = Signal(bool)

    def __init__(
        self, window: QMainWindow, docks: Sequence[Dock], looks: Looks, preferences: Preferences
    ) -> None:
        """Takes what is arranged."""
        super().__init__(window)
        self._window = window
        self._docks = docks
        self._looks = looks
        self._preferences = preferences
        self._version = layout_version(dock.id for dock in docks)
        self._key: str | None = None
        self._snapshot = QByteArray()
        self._scale = looks.theme.scale
        self._stacked: frozenset[str] = frozenset()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLED_MS)
        self._timer.timeout.connect(self.follow_size)
        self._titles = QTimer(self)
        self._titles.setSingleShot(True)
        self._titles.timeout.connect(self._on_moved)
        window.setDockNestingEnabled(True)
        set_growth(docks)
        for dock in docks:
            window.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
        for dock in docks:
            dock.dockLocationChanged.connect(self._titles.start)
            dock.topLevelChanged.connect(self._titles.start)
            dock.visibilityChanged.connect(self._titles.start)

    @property
    def name(self) -> LayoutName:
        """The layout that is shown."""
        return self._preferences.layout_name

    def choose(self, name: LayoutName) -> None:
        """Show another layout, as it was left."""
        if name == self.name:
            return
        self.keep()
        self._key = None
        self._preferences.layout_name = name
        self._looks.use_large_text(is_large=name == "teach")
        self.restore()
        self.changed.emit()

    def reset(self) -> None:
        """Arrange the panels as at the first start."""
        self._key, self._scale = self._key_now(), self._looks.theme.scale
        self._make_room()
        where = self._plan()
        self._stacked = self._stacked_now()
        for dock in self._docks:  # first: a panel with a title needs more height than there is
            dock.fold_title(is_tab=where.is_stacked(dock.id))
        arrange(self._window, self._docks, where)
        self._fold_titles()

    def restore(self) -> None:
        """Arrange the panels as they were left; a layout of another version is left aside."""
        key = self._key_now()
        self._make_room()
        kept = self._preferences.arrangement(key)
        if self._window.restoreState(kept, self._version):
            self._fold_titles()
            self._window.restoreState(kept, self._version)
        else:
            self.reset()
        self._key, self._scale = key, self._looks.theme.scale
        self._stacked = self._stacked_now()
        self._fold_titles()
        self._snapshot = self._window.saveState(self._version)

    def keep(self) -> None:
        """Remember how the panels stand."""
        if self._key is not None:
            self._preferences.keep_arrangement(self._key, self._window.saveState(self._version))

    def size_changed(self) -> None:
        """The window has another size: follow once it rests."""
        if self._key is not None:
            self._timer.start()

    @Slot()
    def follow_size(self) -> None:
        """Another arrangement where the window became small or large; other sizes else."""
        self._timer.stop()
        if self._key is None:
            return
        if self._key_now() != self._key:
            # As they stood before the window squeezed or stretched them.
            self._preferences.keep_arrangement(self._key, self._snapshot)
            self.restore()
        elif self._scale != self._looks.theme.scale or self._stacked != self._stacked_now():
            hidden = [dock for dock in self._docks if dock.isHidden()]
            self.reset()
            for dock in hidden:
                dock.hide()

    def _make_room(self) -> None:
        """The bars take their places and heights first: the panels share what they leave."""
        self.bars_lowered.emit(has_low_bars(self._window.size(), self._looks.theme))
        let_bars_follow(self._window)

    def _plan(self) -> Plan:
        return plan(self.name, self._docks, self._window.size(), self._looks.theme)

    def _stacked_now(self) -> frozenset[str]:
        """Panels that have to stand behind one another in a window of this size."""
        where = self._plan()
        return frozenset(dock.id for dock in self._docks if where.is_stacked(dock.id))

    def _key_now(self) -> str:
        size = "small" if is_small(self._window.size(), self._looks.theme) else "large"
        return f"{self.name}-{size}"

    @Slot()
    def _on_moved(self) -> None:
        """Panels were moved, shown or hidden."""
        self._fold_titles()
        if not self._timer.isActive():
            self._snapshot = self._window.saveState(self._version)

    def _fold_titles(self) -> None:
        """A panel in a stack has its name on a tab."""
        self._titles.stop()
        for dock in self._docks:
            is_tab = not dock.isFloating() and bool(self._window.tabifiedDockWidgets(dock))
            dock.fold_title(is_tab=is_tab)
