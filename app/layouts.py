"""The layouts of the window: chosen, kept one by one, and given back.

Until a person moves a panel or a line between panels, the panels stand as the plan of the layout
wants them in a window of this size, however the window came to it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication, QMainWindow

from app.arranging import arrange, let_bars_follow, set_growth
from app.docks.dock import Dock
from app.layout import LayoutName, Plan, has_low_bars, is_small, of_layout, plan
from app.looks import Looks
from app.preferences import Preferences, layout_version
from app.tab_letters import fit_tabs

SETTLED_MS = 120


class Layouts(QObject):
    """Keeps one arrangement for each layout, and for small and large windows."""

    changed = Signal()
    arranged = Signal()
    arranging = Signal()
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
        self._planned_version = self._version + 1
        """Of an arrangement in which a person closed or opened panels, and moved none."""
        self._key: str | None = None
        self._snapshot = QByteArray()
        self._planned: tuple[QSize, float, frozenset[str]] | None = None
        self._where = self._plan(docks)
        self._is_arranging = False
        self._is_own = False
        self._pressed: tuple[QRect, ...] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLED_MS)
        self._timer.timeout.connect(self.follow_size)
        self._titles = QTimer(self)
        self._titles.setSingleShot(True)
        self._titles.timeout.connect(self._on_moved)
        window.setDockNestingEnabled(True)
        window.installEventFilter(self)
        set_growth(docks)
        for dock in docks:
            window.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
        for dock in docks:
            dock.dockLocationChanged.connect(self._on_placed)
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
        self.arranging.emit()
        self.keep()
        self._key = None
        self._preferences.layout_name = name
        self._looks.use_large_text(is_large=name == "teach")
        self.restore()
        self.changed.emit()

    def reset(self) -> None:
        """Arrange the panels as at the first start; how they stood is forgotten."""
        if self._key is not None:
            self._preferences.keep_arrangement(self._key_now(), QByteArray())
        with self._arranging():
            for dock in self._docks:
                dock.setFloating(False)
        self._carry_out(of_layout(self.name, self._docks))

    def restore(self) -> None:
        """Arrange the panels as a person left them; a layout of another version is left aside."""
        self._key = self._key_now()
        kept = self._preferences.arrangement(self._key)
        self._make_room()
        with self._arranging():
            is_taken = self._window.restoreState(kept, self._version)
            if is_taken:
                self._fold_titles()
                self._window.restoreState(kept, self._version)
                self._fold_titles()
            is_planned = not is_taken and self._window.restoreState(kept, self._planned_version)
        if is_planned:
            self._carry_out(self._docked)
            return
        if not is_taken:
            self.reset()
            return
        self._is_own, self._planned, self._where = True, None, self._plan(self._docked)
        self._snapshot = self._window.saveState(self._version)
        self._timer.start()  # it may be too large for this window: that is known once Qt is done

    def keep(self) -> None:
        """Remember how the panels stand, if a person has arranged them, closed or opened some."""
        version = self._version if self._is_own else self._planned_version
        self._keep(self._window.saveState(version))

    def size_changed(self) -> None:
        """The window has another size: follow once it rests."""
        if self._key is not None:
            self._timer.start()

    @Slot()
    def follow_size(self) -> None:
        """Carry the plan for this size out; what a person arranged stays as long as it fits."""
        self._timer.stop()
        if self._key is None:
            return
        self.arranging.emit()
        key = self._key_now()
        if key != self._key and self._is_own:
            # As they stood before the window squeezed or stretched them.
            self._keep(self._snapshot)
        with self._same_in_front():
            if key != self._key and not self._preferences.arrangement(key).isEmpty():
                self.restore()
            elif key != self._key or not (self._is_own and self._fits()):
                self._follow_plan()
            else:
                self._snapshot = self._window.saveState(self._version)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  (a name of Qt)
        """The lines between panels belong to the window: whoever drags one arranges the panels."""
        if event.type() == QEvent.Type.MouseButtonPress:
            self._pressed = self._places()
        elif event.type() == QEvent.Type.MouseButtonRelease:
            self._is_own |= self._pressed not in (None, self._places())
            self._pressed = None
        return super().eventFilter(watched, event)

    # Carrying a plan out.

    def _follow_plan(self) -> None:
        """What a person closed, opened or made float stays so; what was brought forward, too."""
        if self._planned != self._occasion():
            in_front = self._brought_forward()
            self._carry_out(self._docked)
            for dock in in_front:
                if self._where.is_stacked(dock.id):
                    dock.raise_()

    def _carry_out(self, docks: Sequence[Dock]) -> None:
        """Show these, as many as the layout has or a person opened, where the plan wants them."""
        self._key = self._key_now()
        self._make_room()
        self._where, self._is_own = self._plan(docks), False
        with self._arranging():
            for dock in self._docks:  # first: one with a title needs more height than there is
                dock.fold_title(is_tab=self._where.is_stacked(dock.id))
            arrange(self._window, self._docks, self._where)
            self._fold_titles()
        self._planned = self._occasion()
        self.arranged.emit()
        self._snapshot = self._window.saveState(self._version)

    def _make_room(self) -> None:
        """The bars take their places and heights first: the panels share what they leave."""
        self.bars_lowered.emit(has_low_bars(self._window.size(), self._looks.theme))
        let_bars_follow(self._window)

    def _plan(self, docks: Sequence[Dock]) -> Plan:
        return plan(self.name, docks, self._window.size(), self._looks.theme)

    def _occasion(self) -> tuple[QSize, float, frozenset[str]]:
        """What a plan is made for."""
        docked = frozenset(dock.id for dock in self._docked)
        return self._window.size(), self._looks.theme.scale, docked

    @contextmanager
    def _arranging(self) -> Iterator[None]:
        """What moves meanwhile was not moved by a person."""
        self._is_arranging = True
        try:
            yield
        finally:
            self._is_arranging = False

    @contextmanager
    def _same_in_front(self) -> Iterator[None]:
        """Of panels that stand in one stack before and after, none comes before the one in front.

        An arrangement that was kept has another one there if the person has since looked at that.
        """
        stacks = {dock: self._stack_of(dock) for dock in self._docked if not dock.is_behind}
        yield
        for dock, behind in stacks.items():
            if dock.is_behind and any(not o.is_behind for o in behind & self._stack_of(dock)):
                dock.raise_()

    # How the panels stand.

    @property
    def _docked(self) -> list[Dock]:
        """Panels that take room of the window."""
        return [dock for dock in self._docks if not (dock.isHidden() or dock.isFloating())]

    def _brought_forward(self) -> list[Dock]:
        """Panels in front of a stack in which the plan had another one there."""
        behind = {i for ids in self._where.tabs.values() for i in ids}
        return [dock for dock in self._docked if dock.id in behind and not dock.is_behind]

    def _stack_of(self, dock: Dock) -> set[Dock]:
        """The other panels in its stack."""
        return {o for o in self._window.tabifiedDockWidgets(dock) if isinstance(o, Dock)}

    def _fits(self) -> bool:
        """Whether each panel that is seen has the room that its contents need, and none is cut."""
        seen = [dock for dock in self._docked if not dock.is_behind]
        places = [dock.geometry() for dock in seen]
        return (
            all(dock.widget().height() >= dock.least_px for dock in seen)
            and all(self._window.rect().contains(place) for place in places)
            and not any(a.intersects(b) for n, a in enumerate(places) for b in places[n + 1 :])
        )

    def _places(self) -> tuple[QRect, ...]:
        return tuple(dock.geometry() for dock in self._docks)

    def _keep(self, state: QByteArray) -> None:
        if self._key is not None:
            usual = {dock.id for dock in of_layout(self.name, self._docks)}
            is_theirs = self._is_own or {dock.id for dock in self._docked} != usual
            self._preferences.keep_arrangement(self._key, state if is_theirs else QByteArray())

    def _key_now(self) -> str:
        size = "small" if is_small(self._window.size(), self._looks.theme) else "large"
        return f"{self.name}-{size}"

    @Slot()
    def _on_placed(self) -> None:
        """A panel has come to another place; one that is made float and comes back has not."""
        dock = self.sender()
        is_back = isinstance(dock, Dock) and dock.is_turning
        self._is_own |= not self._is_arranging and not is_back
        self._titles.start()

    @Slot()
    def _on_moved(self) -> None:
        """Panels were moved, shown or hidden; one that has come back has no place kept for it."""
        self._fold_titles()
        is_dragged = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if self._timer.isActive() or is_dragged or self._key is None:
            return
        planned = self._planned[2] if self._planned else frozenset()
        if not self._is_own and not {dock.id for dock in self._docked} <= planned:
            self._follow_plan()
        self._snapshot = self._window.saveState(self._version)

    def _fold_titles(self) -> None:
        """A panel in a stack has its name on a tab, and there it is not cut."""
        self._titles.stop()
        for dock in self._docks:
            is_tab = not dock.isFloating() and bool(self._window.tabifiedDockWidgets(dock))
            dock.fold_title(is_tab=is_tab)
        fit_tabs(self._window, self._looks.theme)
