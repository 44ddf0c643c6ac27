"""All commands in one list, found by their words."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

WIDTH_PX, HEIGHT_PX = 520, 340
TOP_PX = 90
ACTION = Qt.ItemDataRole.UserRole
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class CommandPalette(QFrame):
    """Type a part of a command; Enter does it, Esc leaves. One that is off says why."""

    def __init__(self, commands: Sequence[QAction], parent: QWidget) -> None:
        """Takes the commands in the order of the menus."""
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName("Commands")
        self._search = QLineEdit()
        self._search.setPlaceholderText("Search commands")
        self._search.setAccessibleName("Search commands")
        self._search.textChanged.connect(self._filter)
        self._search.installEventFilter(self)
        self._list = QListWidget()
        self._list.setAccessibleName("Commands")
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.itemClicked.connect(self._do)
        for action in commands:
            self._add(action)
        column = QVBoxLayout(self)
        column.addWidget(self._search)
        column.addWidget(self._list, 1)
        self._filter("")

    @property
    def shown(self) -> tuple[str, ...]:
        """The lines that the search leaves."""
        return tuple(item.text() for item in self._items() if not item.isHidden())

    def open_over(self, window: QWidget) -> None:
        """Show in the upper middle of a window."""
        scale = self.fontMetrics().height() / 15
        width, height = round(WIDTH_PX * scale), round(HEIGHT_PX * scale)
        left = (window.width() - width) // 2
        corner = window.mapToGlobal(window.rect().topLeft())
        self.setGeometry(corner.x() + left, corner.y() + TOP_PX, width, height)
        self.show()
        self._search.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  (a name of Qt)
        """Arrows move in the list while the search has the keyboard."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in _MOVES:
                self._list.event(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._do(self._list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _add(self, action: QAction) -> None:
        keys = [key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts()]
        words = str(action.data() or action.text())
        reason = action.toolTip().partition("Not now: ")[2]
        line = words + (f"   {', '.join(keys)}" if keys else "")
        item = QListWidgetItem(line if action.isEnabled() else f"{line}   ({reason})", self._list)
        item.setData(ACTION, action)
        item.setToolTip(action.toolTip())
        if not action.isEnabled():
            item.setFlags(Qt.ItemFlag.NoItemFlags)

    def _items(self) -> list[QListWidgetItem]:
        return [self._list.item(row) for row in range(self._list.count())]

    @Slot(str)
    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for item in self._items():
            searched = f"{item.text()} {item.toolTip()}".casefold()
            item.setHidden(not all(word in searched for word in words))
        possible = [i for i in self._items() if not i.isHidden() and i.flags()]
        self._list.setCurrentRow(self._list.row(possible[0]) if possible else -1)

    @Slot(QListWidgetItem)
    def _do(self, item: QListWidgetItem | None) -> None:
        action = None if item is None else item.data(ACTION)
        if isinstance(action, QAction) and action.isEnabled():
            self.close()
            action.trigger()
