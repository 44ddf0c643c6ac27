"""The text on one grid: this run, the right next tokens, and the clean run."""

from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QWheelEvent

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Canvas, Hit
from app.widgets.panel import CanvasPanel
from app.widgets.slot_ruler import GUTTER_PX
from core.readouts.tokens import TokenCell, TokensReadout

HEADER_PX = 19
_LEAST_ROW_PX, _MOST_ROW_PX = 17, 22
NAMES = ("this run", "right next", "clean run")
RIGHT, CLEAN = 1, 2
NOTES = {"clean run": "illustration"}
BLANK = "the text appears here, token by token"
_PAD_PX, _LEAST_PX, _MOST_PX = 8, 18, 120
_TURNS_A_COLUMN = 40


class TokensView(CanvasPanel):
    """Shows a `TokensReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _TokensCanvas(theme))


class _TokensCanvas(Canvas):
    def __init__(self, theme: Theme) -> None:
        super().__init__(
            theme, "Tokens", HEADER_PX + 3 * _LEAST_ROW_PX + 2, HEADER_PX + 3 * _MOST_ROW_PX + 2
        )
        self._readout: TokensReadout | None = None
        self._widths: list[float] = []
        self._first = 0
        self._turned = 0

    def show_readout(self, readout: TokensReadout | None) -> None:
        self._readout = readout
        self._widths = [] if readout is None else self._column_widths(readout)
        self._first = self._first_that_shows_the_end()
        self.update()

    def resizeEvent(self, event: object) -> None:
        """Keep the newest column in sight."""
        self._first = self._first_that_shows_the_end()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Turn to earlier or later columns."""
        self._turned += event.angleDelta().y() or -event.angleDelta().x()
        n_columns = int(self._turned / _TURNS_A_COLUMN)
        self._turned -= n_columns * _TURNS_A_COLUMN
        self._first = min(max(0, self._first - n_columns), self._first_that_shows_the_end())
        self.update()

    def draw(self, painter: QPainter) -> None:
        readout = self._readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        self._draw_now(painter, readout)
        for row, (name, cells) in enumerate(zip(NAMES, _rows(readout), strict=True)):
            top = HEADER_PX + row * self._row_px()
            marks.gutter_name(painter, self.theme, top, self._row_px(), GUTTER_PX, name)
            for cell in cells:
                place = self._place(cell.token_index, row)
                if place is not None:
                    self._draw_cell(painter, place, cell, row)
        self._draw_pending(painter, readout)
        self._draw_notes(painter, readout)
        self._draw_numbers(painter, readout)

    def hit(self, at: QPointF) -> Hit | None:
        readout, column = self._readout, self._column_at(at.x())
        if readout is None or column is None or at.y() > HEADER_PX + 3 * self._row_px():
            return None
        row = max(0, int((at.y() - HEADER_PX) // self._row_px()))
        cells = {cell.token_index: cell for cell in _rows(readout)[row]}
        selection = replace(readout.selection, token_index=column, slot=None, position_id=None)
        if column in cells:
            return Hit(_tip(NAMES[row], cells[column]), selection)
        return Hit(f"token {column}", selection)

    def _column_widths(self, readout: TokensReadout) -> list[float]:
        metrics = QFontMetricsF(self.theme.mono())
        number = metrics.horizontalAdvance(str(readout.n_columns)) + 4
        widths = [max(float(_LEAST_PX), number)] * readout.n_columns
        for row in _rows(readout):
            for cell in row:
                needed = metrics.horizontalAdvance(cell.text) + _PAD_PX
                widths[cell.token_index] = min(_MOST_PX, max(widths[cell.token_index], needed))
        return widths

    def _first_that_shows_the_end(self) -> int:
        free = self.width() - GUTTER_PX - self.theme.margin_px
        for column in range(len(self._widths) - 1, -1, -1):
            free -= self._widths[column]
            if free < 0:
                return min(column + 1, len(self._widths) - 1)
        return 0

    def _left(self, column: int) -> float:
        return GUTTER_PX + sum(self._widths[self._first : column])

    def _row_px(self) -> int:
        return min(_MOST_ROW_PX, (self.height() - HEADER_PX - 2) // 3)

    def _place(self, column: int, row: int) -> QRectF | None:
        if column < self._first:
            return None
        left = self._left(column)
        if left + self._widths[column] > self.width():
            return None
        return QRectF(left, HEADER_PX + row * self._row_px(), self._widths[column], self._row_px())

    def _column_at(self, x: float) -> int | None:
        left = float(GUTTER_PX)
        for column in range(self._first, len(self._widths)):
            left += self._widths[column]
            if GUTTER_PX <= x < left:
                return column
        return None

    def _draw_now(self, painter: QPainter, readout: TokensReadout) -> None:
        """The columns that the step read: a bar above them."""
        if readout.read_now is None:
            return
        first, last = readout.read_now
        places = [self._place(column, 0) for column in range(max(first, self._first), last + 1)]
        seen = [place for place in places if place is not None]
        if seen:
            bar = QRectF(
                seen[0].left() + 1, HEADER_PX - 3, seen[-1].right() - seen[0].left() - 2, 2
            )
            painter.fillRect(bar, self.theme.new)

    def _draw_cell(self, painter: QPainter, place: QRectF, cell: TokenCell, row: int) -> None:
        theme = self.theme
        box = place.adjusted(1, 2, -1, -2)
        if cell.state == "read":
            marks.fill(painter, box, theme.raised)
        colour = theme.alarm if cell.is_wrong else theme.dim if row == CLEAN else theme.text
        painter.setFont(theme.mono())
        marks.label(painter, box, cell.text, colour)
        if row == RIGHT:
            marks.outline(painter, box, theme.text)
        else:
            self._draw_kind(painter, box, cell, theme.dim if row == CLEAN else theme.new)
        if cell.is_wrong:
            marks.outline(painter, box, theme.alarm)
        if self._readout and cell.token_index == self._readout.selection.token_index:
            marks.chosen(painter, box.adjusted(1, 0, -1, 0), theme)

    def _draw_kind(self, painter: QPainter, box: QRectF, cell: TokenCell, colour: QColor) -> None:
        """Forced: dotted line; to be read next: solid line; refused: struck through."""
        theme = self.theme
        y = box.bottom() - 1
        if cell.is_forced:
            painter.setPen(QPen(theme.text, 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(box.left() + 2, y), QPointF(box.right() - 2, y))
        elif cell.state == "next":
            painter.setPen(QPen(colour, 2))
            painter.drawLine(QPointF(box.left() + 2, y), QPointF(box.right() - 2, y))
        elif cell.state == "refused":
            painter.setPen(QPen(theme.dim, 1))
            middle = box.center().y()
            painter.drawLine(QPointF(box.left() + 1, middle), QPointF(box.right() - 1, middle))

    def _draw_pending(self, painter: QPainter, readout: TokensReadout) -> None:
        for column in readout.pending:
            place = self._place(column, RIGHT) if column < len(self._widths) else None
            if place is not None:
                painter.setFont(self.theme.mono())
                marks.label(painter, place, "…", self.theme.dim)

    def _draw_notes(self, painter: QPainter, readout: TokensReadout) -> None:
        """What the third row is: an illustration, or nothing, without a fault."""
        top = HEADER_PX + CLEAN * self._row_px()
        painter.setFont(self.theme.sans(px=self.theme.small_px))
        if not readout.clean:
            place = QRectF(GUTTER_PX + 4, top, self.width() - GUTTER_PX - 8, self._row_px())
            text = "no fault is on: the same as this run"
            marks.label(painter, place, text, self.theme.dim, Qt.AlignmentFlag.AlignLeft)
            return
        right = self._left(len(self._widths)) + 8
        place = QRectF(right, top, self.width() - right - self.theme.margin_px, self._row_px())
        if painter.fontMetrics().horizontalAdvance(NOTES["clean run"]) <= place.width():
            note = NOTES["clean run"]
            marks.label(painter, place, note, self.theme.dim, Qt.AlignmentFlag.AlignLeft)

    def _draw_numbers(self, painter: QPainter, readout: TokensReadout) -> None:
        theme = self.theme
        painter.setFont(theme.mono(px=theme.small_px - 1))
        marks.label(
            painter,
            QRectF(theme.margin_px, 2, GUTTER_PX - theme.margin_px - 6, HEADER_PX - 6),
            "token" if self._first == 0 else f"‹ {self._first} more",
            theme.dim,
            Qt.AlignmentFlag.AlignRight,
        )
        for column in range(self._first, readout.n_columns):
            place = self._place(column, 0)
            if place is None:
                break
            header = QRectF(place.left(), 2, place.width(), HEADER_PX - 6)
            if painter.fontMetrics().horizontalAdvance(str(column)) <= header.width():
                marks.label(painter, header, str(column), theme.dim)


def _rows(readout: TokensReadout) -> tuple[tuple[TokenCell, ...], ...]:
    return readout.run, readout.right, readout.clean


def _tip(row: str, cell: TokenCell) -> str:
    if row == NAMES[RIGHT]:
        how = f"right after step {cell.step}"
    elif cell.state == "read":
        how = f"read in step {cell.step}"
    elif cell.state == "refused":
        how = f"refused in step {cell.step}"
    else:
        how = f"chosen in step {cell.step}, not read yet"
    source = "prompt" if cell.is_prompt else "forced" if cell.is_forced else ""
    lines = [f"‘{cell.text}’ · id {cell.token_id}", f"token {cell.token_index}", how, source]
    if cell.is_wrong:
        lines.append("not the right token")
    return "\n".join(line for line in lines if line)
