"""A canvas that keeps its picture; keys move through what it shows, and T gives a table of it."""

from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPixmap

from app.theme import Theme
from app.widgets import pointing
from app.widgets.canvas import Canvas, Hit
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


class KeptCanvas(Canvas):
    """Sub-classes draw in `draw`, and over that picture, cheaply, in `draw_over`."""

    moves_cells = True
    """Whether arrows, Enter and Escape are the canvas's own; else they stay the window's."""
    is_kept_at_once = False
    """Whether the first painting makes the picture already; else the second one does, as most
    pictures are out of date before they are painted again."""

    def __init__(self, theme: Theme, name: str, least_height: int, good_height: int) -> None:
        """Empty at first."""
        super().__init__(theme, name, least_height, good_height)
        self.readout: Any = None
        self.place: tuple[int, int] | None = None
        self._picture: QPixmap | None = None
        self._was_painted = False
        self._note = ""
        self._table: DataTable | None = None

    def show_readout(self, readout: Any) -> None:  # noqa: ANN401  (each draws one kind; None: none)
        """Keep it, and draw it anew."""
        self.readout = readout
        if self._table is not None and self._table.isVisible() and readout is not None:
            self._table.show_data(self.table())
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """The kept picture is out of date."""
        self._picture, self._was_painted = None, False
        self.ask_for_paint()

    def ask_for_paint(self) -> None:
        """All of it is to be painted anew, and what lies on it."""
        self.update()

    def kept_picture(self) -> QPixmap | None:
        """The picture; None: it is out of date."""
        return self._picture

    def keep_picture(self, picture: QPixmap | None) -> None:
        """The picture is still right."""
        self._picture = picture

    # What sub-classes answer

    def move_by(self, rows: int, columns: int) -> None:
        """Go to the next cell by key: keep it in `place`, and `point_there`."""

    def at_place(self, row: int, column: int) -> Hit | None:
        """What is in a cell, which is brought into sight; None: nothing is there."""
        return None

    def unpinned(self) -> Selection | None:
        """What is looked at after Escape; None: nothing was pinned."""
        return None

    def table(self) -> TableData:
        """What is drawn, as a table."""
        return TableData(self.accessibleName(), (), (), lambda row, column: "")

    def draw_over(self, painter: QPainter) -> None:
        """What changes with each move of the mouse; there is a readout."""

    # Drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        """What is drawn, from its picture if there is one, and over it what changes more often."""
        painter = QPainter(self)
        try:
            if self._is_to_be_kept():
                painter.drawPixmap(0, 0, self._made_picture())
            else:
                painter.save()
                self._draw_all(painter)
                painter.restore()
            self._was_painted = True
            if self.readout is not None:
                self.draw_over(painter)
                if self._note:
                    pointing.draw_note(painter, self.rect(), self._note, self.theme)
            self.draw_ring(painter)
        finally:
            painter.end()  # a painter that outlives what it paints on ends the program

    def _is_to_be_kept(self) -> bool:
        """Only at scale 1 Qt (6.11) paints on a widget just what it paints in a picture.

        At others hatches begin elsewhere, and edges may be rounded otherwise.
        """
        is_other_scale = self.devicePixelRatioF() != 1
        return self.is_kept_at_once or self._was_painted or is_other_scale

    def _made_picture(self) -> QPixmap:
        """The kept picture, or a new one if it is out of date."""
        scale = self.devicePixelRatioF()
        size = self.size() * scale
        if self._picture is None or self._picture.size() != size:
            picture = QPixmap(size)
            picture.setDevicePixelRatio(scale)
            painter = QPainter(picture)
            try:
                self._draw_all(painter)
            finally:
                painter.end()
            self._picture = picture
        return self._picture

    def _draw_all(self, painter: QPainter) -> None:
        painter.fillRect(self.rect(), self.theme.paper)
        painter.setFont(self.theme.mono(px=self.theme.small_px))
        self.draw(painter)

    # Keys

    def owns(self, key: QKeyEvent) -> bool:
        """Keys that move through the cells are not the window's while the keyboard is here."""
        if key.modifiers() not in _PLAIN:
            return False
        moves = (*_MOVES, *_ENTER, Qt.Key.Key_Escape)
        return key.key() == Qt.Key.Key_T or (self.moves_cells and key.key() in moves)

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
            self._leave()
            self.tell_pointed(None)
        super().focusOutEvent(event)

    def show_table(self) -> None:
        """The same data as a table, in a window that blocks nothing."""
        if self._table is None:
            self._table = DataTable(self.theme, self.window())
        self._table.show_data(self.table())
        self._table.show()

    def point_there(self) -> None:
        """Say what the keys are at, here and to all views."""
        found = None if self.place is None else self.at_place(*self.place)
        if found is not None:
            self._note = found.tip.replace("\n", ", ")
            self.setAccessibleDescription(self._note)
            self.show_pointed(found.selection)
            self.tell_pointed(found.selection)
            self.update()

    def pin(self, selection: Selection) -> None:
        """Choose what the keys are at."""
        self.picked.emit(selection)

    def _pin(self) -> None:
        found = None if self.place is None else self.at_place(*self.place)
        if found is not None and found.selection is not None:
            self.pin(found.selection)

    def _leave(self) -> None:
        self.place, self._note = None, ""

    def _let_go(self) -> None:
        self._leave()
        self.show_pointed(None)
        self.tell_pointed(None)
        free = self.unpinned()
        if free is not None:
            self.picked.emit(free)
