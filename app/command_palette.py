"""All commands in one list, found by their words."""

import re
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.command_lines import KEYS, NAME, CommandLines

WIDTH_PX, HEIGHT_PX = 520, 356
TOP_PX = 90
ACTION = Qt.ItemDataRole.UserRole
NONE_FOUND = "no command of that name"
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_NO_MATCH = 3


class CommandPalette(QFrame):
    """Type words of a command; Enter does the chosen one, Esc leaves. One that is off says why."""

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
        self._list.setItemDelegate(CommandLines(self._list))
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.itemClicked.connect(self._do)
        self._none = QLabel(NONE_FOUND)
        self._none.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._actions = tuple(commands)
        column = QVBoxLayout(self)
        column.addWidget(self._search)
        column.addWidget(self._list, 1)
        column.addWidget(self._none, 1)
        self._filter("")

    @property
    def shown(self) -> tuple[str, ...]:
        """The lines that the search leaves."""
        return tuple(item.text() for item in self._items())

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
        item = QListWidgetItem(_line(action), self._list)
        item.setData(ACTION, action)
        item.setData(NAME, f"{_name(action)}{_reason(action)}")
        item.setData(KEYS, _keys(action))
        item.setToolTip(action.toolTip())
        if not action.isEnabled():
            item.setFlags(Qt.ItemFlag.NoItemFlags)

    def _items(self) -> list[QListWidgetItem]:
        return [self._list.item(row) for row in range(self._list.count())]

    @Slot(str)
    def _filter(self, text: str) -> None:
        """Leave what matches, the best first; the same rank stays in the order of the menus."""
        words = text.casefold().split()
        ranks = [_rank(words, action) for action in self._actions]
        order = sorted(range(len(ranks)), key=lambda row: ranks[row])
        self._list.clear()
        for row in order:
            if ranks[row] < _NO_MATCH:
                self._add(self._actions[row])
        items = self._items()
        self._list.setVisible(bool(items))
        self._none.setVisible(not items)
        possible = [row for row, item in enumerate(items) if item.flags()]
        self._list.setCurrentRow(possible[0] if possible else -1)

    @Slot(QListWidgetItem)
    def _do(self, item: QListWidgetItem | None) -> None:
        action = None if item is None else item.data(ACTION)
        if isinstance(action, QAction) and action.isEnabled():
            self.close()
            action.trigger()


def _line(action: QAction) -> str:
    """Name and keys; of one that is off the reason too."""
    keys = _keys(action)
    return _name(action) + (f"   {keys}" if keys else "") + _reason(action)


def _keys(action: QAction) -> str:
    keys = (key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts())
    return ", ".join(keys)


def _reason(action: QAction) -> str:
    """Why it is off; nothing where it is on."""
    reason = action.toolTip().partition("Not now: ")[2]
    return "" if action.isEnabled() else f"   ({reason})"


def _name(action: QAction) -> str:
    return str(action.data() or action.text())


def _rank(words: Sequence[str], action: QAction) -> int:
    """Whole words of the name, parts of it, or else of what it says of itself."""
    name = _name(action).casefold()
    if set(words) <= set(re.findall(r"\w+", name)):
        return 0
    if all(word in name for word in words):
        return 1
    searched = f"{_line(action)} {action.toolTip()}".casefold()
    return 2 if all(word in searched for word in words) else _NO_MATCH
