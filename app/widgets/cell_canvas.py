"""A canvas of cells: its picture is kept, keys move through the cells, and T gives a table."""

from typing import Any

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPixmap

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Canvas
from app.widgets.data_table import DataTable, TableData
from core.selection import Selection

_MOVES = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


class CellCanvas(Canvas):
    """Sub-classes draw in `draw`, and over that picture, cheaply, in `draw_over`."""

    moves_cells = True
    """Whether arrows, Enter and Escape are the canvas's own; else they stay the window's."""

    def __init__(self, theme: Theme, name: str, least_height: int, good_height: int) -> None:
        """Empty at first."""
        super().__init__(theme, name, least_height, good_height)
        self.readout: Any = None
        self._picture: QPixmap | None = None
        self.place: tuple[int, int] | None = None
        self._note = ""
        self._table: DataTable | None = None

    def show_readout(self, readout: Any) -> None:  # noqa: ANN401  (each draws one kind; None: none)
        """Keep it, and draw it anew."""
        self.readout = readout
        if self._table is not None and self._table.isVisible() and readout is not None:
            self._table.show_data(self.table())
        self.refresh()

    def refresh(self) -> None:
        """The kept picture is out of date."""
        self._picture = None
        self.update()

    def kept_picture(self) -> QPixmap | None:
        """The picture; None: it is out of date."""
        return self._picture

    def keep_picture(self, picture: QPixmap | None) -> None:
        """The picture is still right."""
        self._picture = picture

    # What sub-classes answer

    def grid(self) -> tuple[int, int]:
        """Rows and columns of cells that the keyboard moves through."""
        return 0, 0

    def start(self) -> tuple[int, int]:
        """The cell at which the keyboard begins."""
        return 0, 0

    def middle(self, row: int, column: int) -> QPointF:
        """Where the middle of a cell is; it is brought into sight."""
        return QPointF()

    def unpinned(self) -> Selection | None:
        """What is looked at after Escape; None: nothing was pinned."""
        return None

    def table(self) -> TableData:
        """What is drawn, as a table."""
        return TableData(self.accessibleName(), (), (), lambda row, column: "")

    def draw_over(self, painter: QPainter) -> None:
        """What changes with each move of the mouse."""

    # Drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        """The kept picture, and over it what is pointed at."""
        scale = self.devicePixelRatioF()
        if self._picture is None or self._picture.size() != self.size() * scale:
            self._picture = QPixmap(self.size() * scale)
            self._picture.setDevicePixelRatio(scale)
            inner = QPainter(self._picture)
            inner.fillRect(self.rect(), self.theme.paper)
            inner.setFont(self.theme.mono(px=self.theme.small_px))
            self.draw(inner)
            inner.end()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        if self.readout is not None:
            self.draw_over(painter)
            self._draw_note(painter)
        self.draw_ring(painter)
        painter.end()

    def _draw_note(self, painter: QPainter) -> None:
        """What the keyboard is at, in a line at the bottom."""
        if not self._note:
            return
        theme = self.theme
        painter.setFont(theme.sans(px=theme.small_px))
        metrics = painter.fontMetrics()
        width = min(self.width() - 8.0, metrics.horizontalAdvance(self._note) + 12.0)
        height = metrics.height() + 4.0
        box = QRectF(self.width() - width - 4, self.height() - height - 3, width, height)
        painter.fillRect(box, theme.paper)
        marks.outline(painter, box, theme.new)
        marks.label(painter, box.adjusted(5, 0, -5, 0), self._note, theme.text)

    # Keys

    def event(self, event: QEvent) -> bool:
        """Keys that move through the cells are not the window's while the keyboard is here."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.modifiers() in _PLAIN
            and self._is_own(event.key())
        ):
            event.accept()
            return True
        return super().event(event)

    def _is_own(self, key: int) -> bool:
        if key == Qt.Key.Key_T:
            return True
        return self.moves_cells and key in (*_MOVES, *_ENTER, Qt.Key.Key_Escape)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move, Enter chooses, Escape lets go, T shows a table."""
        key = Qt.Key(event.key())
        if self.readout is None or event.modifiers() not in _PLAIN:
            super().keyPressEvent(event)
        elif key in _MOVES:
            self.move_by(*_MOVES[key])
        elif key in _ENTER:
            self._pin()
        elif key == Qt.Key.Key_Escape:
            self._let_go()
        elif key == Qt.Key.Key_T:
            self.show_table()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What the keys pointed at is not pointed at any more."""
        if self.place is not None:
            self.place, self._note = None, ""
            self.tell_pointed(None)
        super().focusOutEvent(event)

    def show_table(self) -> None:
        """The same data as a table, in a window that blocks nothing."""
        if self._table is None:
            self._table = DataTable(self.theme, self.window())
        self._table.show_data(self.table())
        self._table.show()

    def move_by(self, rows: int, columns: int) -> None:
        """Point at the next cell; the first key points at the one that is looked at."""
        n_rows, n_columns = self.grid()
        if not n_rows or not n_columns:
            return
        row, column = self.place or self.start()
        if self.place is not None:
            row, column = row + rows, column + columns
        self.place = (min(max(0, row), n_rows - 1), min(max(0, column), n_columns - 1))
        found = self.hit(self.middle(*self.place))
        if found is not None:
            self._note = found.tip.replace("\n", " · ")
            self.setAccessibleDescription(self._note)
            self.show_pointed(found.selection)
            self.tell_pointed(found.selection)
            self.update()

    def _pin(self) -> None:
        if self.place is None:
            return
        found = self.hit(self.middle(*self.place))
        if found is not None and found.selection is not None:
            self.picked.emit(found.selection)

    def _let_go(self) -> None:
        self.place, self._note = None, ""
        self.show_pointed(None)
        self.tell_pointed(None)
        free = self.unpinned()
        if free is not None:
            self.picked.emit(free)
