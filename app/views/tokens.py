"""The text on one grid: this run, the right next tokens, and the clean run."""

from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QResizeEvent, QWheelEvent

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Hit
from app.widgets.cell_canvas import CellCanvas
from app.widgets.data_table import TableData
from app.widgets.kept_part import KeptPart
from app.widgets.panel import CanvasPanel
from app.widgets.slot_ruler import SlotRuler
from app.widgets.token_columns import Place, TokenColumns
from app.widgets.token_pictures import CLEAN, RIGHT, Heights, TokenColumn, TokenPictures
from app.widgets.token_words import tip_of, told
from core.readouts.tokens import TokenRow, TokensReadout
from core.selection import Selection

NAMES = ("this run", "right next", "clean run")
NOTE, MORE = "illustration", "…"
BLANK = "the text appears here, token by token"
_HEADER_PX, _LEAST_ROW_PX, _MOST_ROW_PX, _MORE_PX = 18, 17, 23, 14
_ROW_PX = (_LEAST_ROW_PX, _MOST_ROW_PX)
_TURNS_A_COLUMN = 40
_POINTED_ALPHA = 34


class TokensView(CanvasPanel):
    """Shows a `TokensReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _TokensCanvas(theme))


class _TokensCanvas(CellCanvas):
    def __init__(self, theme: Theme) -> None:
        least, most = (theme.px(_HEADER_PX) + 3 * theme.px(px) + 2 for px in _ROW_PX)
        super().__init__(theme, "Tokens", least, most)
        self.readout: TokensReadout | None = None
        self._columns = TokenColumns(theme)
        self._first: int | None = None
        self._turned = 0.0
        self._pictures = TokenPictures(theme, self._columns.advance)
        self._gutter = KeptPart(theme.paper)

    def show_readout(self, readout: TokensReadout | None) -> None:
        """Another step scrolls to its newest token; another selection does not."""
        before = self.readout
        if readout is None or before is None or readout.step != before.step:
            self._first = None
        self._columns.take(0 if readout is None else readout.n_columns, self._texts)
        super().show_readout(readout)

    def _texts(self, column: int) -> list[str]:
        """All that stands in a column."""
        if self.readout is None:
            return []
        rows = _rows(self.readout)
        return [cell.text for row in rows if (cell := row.at(column)) is not None]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the newest column in sight."""
        super().resizeEvent(event)
        self._first = None

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Turn to earlier or later columns."""
        self._turned += event.angleDelta().y() or -event.angleDelta().x()
        n_columns = int(self._turned / _TURNS_A_COLUMN)
        self._turned -= n_columns * _TURNS_A_COLUMN
        self._scroll_to(self._first_shown() - n_columns)

    def _scroll_to(self, first: int) -> None:
        self._first = min(max(0, first), self._first_that_shows_the_end())
        self.refresh()

    # Where things stand

    def _gutter_px(self) -> float:
        return max(SlotRuler(self.width(), 1).gutter_px, self.theme.px(82))

    def _header_px(self) -> int:
        return self.theme.px(_HEADER_PX)

    def _row_px(self) -> int:
        """One of two heights: rows do not move with the lines of the sentence below them."""
        free = (self.height() - self._header_px() - 2) // 3
        least, most = (self.theme.px(px) for px in _ROW_PX)
        return most if free >= most else max(1, min(least, free))

    def _heights(self) -> Heights:
        return Heights(self.height(), self._header_px(), self._row_px())

    def _top(self, row: int) -> float:
        return self._heights().top(row)

    def _n_columns(self) -> int:
        return self._columns.n_columns

    def _room_px(self) -> float:
        return self.width() - self._gutter_px() - self.theme.margin_px

    def _first_that_shows_the_end(self) -> int:
        return self._columns.first_before(self._n_columns() - 1, self._room_px())

    def _first_shown(self) -> int:
        return self._first_that_shows_the_end() if self._first is None else self._first

    def _shown(self) -> list[Place]:
        """What is in sight, with room for a sign where more comes after it."""
        first, left, right = self._first_shown(), self._gutter_px(), self.width()
        shown = self._columns.shown(first, left, right)
        if shown and shown[-1][0] < self._n_columns() - 1:
            return self._columns.shown(first, left, right - self.theme.px(_MORE_PX))
        return shown

    def _column_at(self, x: float) -> int | None:
        for column, left, width in self._shown():
            if left <= x < left + width:
                return column
        return None

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        shown = self._shown()
        self._draw_gutter(painter, shown)
        rows, chosen = _rows(readout), readout.selection
        heights, scale = self._heights(), self.devicePixelRatioF()
        now = range(0) if readout.read_now is None else _closed(readout.read_now)
        for column, left, width in shown:
            run, right, clean = (row.at(column) for row in rows)
            cells = (run, right, clean)
            is_chosen = column == chosen.token_index
            look = TokenColumn(column, width, cells, is_now=column in now, is_chosen=is_chosen)
            self._pictures.draw(painter, left, look, heights, scale)
        self._draw_more(painter, readout, shown)
        self._draw_third_row_note(painter, readout, shown)

    def _draw_more(self, painter: QPainter, readout: TokensReadout, shown: list[Place]) -> None:
        """A sign in each row that goes on beyond the right edge."""
        theme, end = self.theme, shown[-1][0] + 1 if shown else 0
        width = theme.px(_MORE_PX)
        painter.setFont(theme.mono())
        for number, row in enumerate(_rows(readout)):
            if row.end > end:
                place = QRectF(self.width() - width, self._top(number), width, self._row_px())
                marks.label(painter, place, MORE, theme.dim)

    def _draw_gutter(self, painter: QPainter, shown: list[Place]) -> None:
        """The names of the rows, and how many columns are out of sight."""
        first = shown[0][0] if shown else 0
        words = "token" if first == 0 else f"‹ {first} more"
        gutter_px, heights = self._gutter_px(), self._heights()
        size, scale = QSize(int(gutter_px), heights.all_px), self.devicePixelRatioF()

        def draw(inner: QPainter) -> None:
            theme, height = self.theme, heights.header_px
            inner.setFont(theme.mono(px=theme.small_px - 1))
            place = QRectF(theme.margin_px, 1, gutter_px - theme.margin_px - 6, height - 5)
            marks.label(inner, place, words, theme.dim, Qt.AlignmentFlag.AlignRight)
            for number, name in enumerate(NAMES):
                top = heights.top(number)
                marks.gutter_name(inner, theme, top, heights.row_px, gutter_px, name)

        picture = self._gutter.picture(size, scale, (words, heights), draw)
        painter.drawPixmap(0, 0, picture)

    def _draw_third_row_note(
        self, painter: QPainter, readout: TokensReadout, shown: list[Place]
    ) -> None:
        """What the third row is: an illustration, said where there is room, or nothing."""
        theme, top, height = self.theme, self._top(CLEAN), self._row_px()
        painter.setFont(theme.sans(px=theme.small_px))
        if not readout.clean.end:
            place = QRectF(self._gutter_px() + 4, top, self.width() - self._gutter_px(), height)
            words = readout.clean_note
            marks.label(painter, place, words, theme.dim, Qt.AlignmentFlag.AlignLeft)
            return
        left = self._note_left(readout, shown)
        place = QRectF(left, top, self.width() - left, height)
        if QFontMetricsF(painter.font()).horizontalAdvance(NOTE) <= place.width():
            marks.label(painter, place, NOTE, theme.dim, Qt.AlignmentFlag.AlignLeft)

    def _note_left(self, readout: TokensReadout, shown: list[Place]) -> float:
        """Where a note after the last token of the third row begins."""
        ends = [left + px for column, left, px in shown if column < readout.clean.end]
        return (ends[-1] if ends else self._gutter_px()) + 6

    def draw_over(self, painter: QPainter) -> None:
        """The token that is pointed at, in all three rows."""
        pointed = self.pointed_at
        if pointed is None or pointed.token_index is None:
            return
        for column, left, width in self._shown():
            if column == pointed.token_index:
                shade = QColor(self.theme.new)
                shade.setAlpha(_POINTED_ALPHA)
                painter.fillRect(QRectF(left, 0, width, self._top(3)), shade)
                for x in (left - 1, left + width):
                    painter.fillRect(QRectF(x, 0, 1, self._top(3)), self.theme.new)

    # Mouse, keys, table

    def hit(self, at: QPointF) -> Hit | None:
        readout, column = self.readout, self._column_at(at.x())
        if readout is None or column is None or at.y() > self._top(3):
            return None
        row = max(0, int((at.y() - self._header_px()) // self._row_px()))
        cell = _rows(readout)[min(row, CLEAN)].at(column)
        selection = replace(readout.selection, token_index=column, slot=None, position_id=None)
        tip = f"token {column}" if cell is None else tip_of(cell, is_right=row == RIGHT)
        if row >= CLEAN and cell is not None:
            tip += f"\n{NAMES[CLEAN]}: {NOTE}"
        return Hit(tip, selection)

    def grid(self) -> tuple[int, int]:
        return (len(NAMES), self._n_columns()) if self._n_columns() else (0, 0)

    def start(self) -> tuple[int, int]:
        chosen = None if self.readout is None else self.readout.selection.token_index
        last = self._n_columns() - 1
        return 0, last if chosen is None else min(chosen, last)

    def middle(self, row: int, column: int) -> QPointF:
        places = {c: left + width / 2 for c, left, width in self._shown()}
        if column not in places:
            is_before = column < self._first_shown()
            first = self._columns.first_before(column, self._room_px())
            self._scroll_to(column if is_before else first)
            places = {c: left + width / 2 for c, left, width in self._shown()}
        return QPointF(places.get(column, self._gutter_px()), self._top(row) + self._row_px() / 2)

    def unpinned(self) -> Selection | None:
        chosen = None if self.readout is None else self.readout.selection
        if chosen is None or chosen.token_index is None:
            return None
        return replace(chosen, token_index=None, slot=None, position_id=None)

    def table(self) -> TableData:
        readout = self.readout
        if readout is None:
            return super().table()
        rows = _rows(readout)
        return TableData(
            "Tokens",
            tuple(f"token {column}" for column in range(readout.n_columns)),
            (*NAMES[:CLEAN], f"{NAMES[CLEAN]} ({NOTE})"),
            lambda row, column: told(rows[row].at(column)),
        )


def _rows(readout: TokensReadout) -> tuple[TokenRow, ...]:
    return readout.run, readout.right, readout.clean


def _closed(ends: tuple[int, int]) -> range:
    return range(ends[0], ends[1] + 1)
