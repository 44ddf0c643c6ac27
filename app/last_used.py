"""Which panel a person used last: the one that commands about a panel act on, and it is seen."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication, QWidget

from app.docks.dock import Dock


class LastUsed(QObject):
    """Follows the focus of the application."""

    def __init__(self, docks: Sequence[Dock], window: QWidget) -> None:
        """Before any is used, it is the window."""
        super().__init__(window)
        self._docks = docks
        self._window = window
        self._dock: Dock | None = None
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus)

    def view(self) -> QWidget:
        """What that panel shows; the window where there is none, or it is closed."""
        dock = self._dock
        return dock.widget() if dock is not None and dock.isVisible() else self._window

    @Slot(QWidget, QWidget)
    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        for dock in self._docks:
            if new is not None and dock.isAncestorOf(new):
                self._dock = dock
                if dock.is_behind and _came_along(old, new):
                    dock.raise_()  # it stood behind a tab: nobody works where nothing is seen


def _came_along(old: QWidget | None, new: QWidget) -> bool:
    """Whether the focus moved inside a window: one that is only activated keeps its tabs."""
    return old is not None and old.window() is new.window()
