"""What may come next: each token with a bar of the engine's, beside a hollow one of the right.

More than 300 lines: rows, bars and what they answer to share one geometry.
"""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPen

from app.theme import USUAL_PX, Theme
from app.widgets import marks
from app.widgets.canvas import Hit
from app.widgets.cell_canvas import CellCanvas
from app.widgets.data_table import TableData
from app.widgets.kept_part import KeptPart
from app.widgets.letters import letters
from app.widgets.panel import CanvasPanel
from core.readouts.next_token import NextTokenReadout, NextTokenRow, role_words, share_words
from core.selection import Selection

BLANK = "the tokens that may come next appear here, with both probabilities"
_LEAST_ROW_PX, _MOST_ROW_PX = 16, 26
_HEAD_PX, _TEXT_PX, _NUMBER_PX, _LEAST_BAR_PX = 18, 92, 48, 30
_SOURCE_GAP_PX = 6
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the parts of a row stand."""

    text: float
    bars: float
    bar_px: float
    numbers: float
    number_px: float


class NextTokenView(CanvasPanel):
    """Shows a `NextTokenReadout`; `forced` tells a token that is to be read next instead."""

    forced = Signal(object)

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        canvas = _NextTokenCanvas(theme)
        super().__init__(theme, canvas)
        self._list = canvas
        canvas.forced.connect(self.forced)

    def offer_forcing(self) -> None:
        """Somebody listens to `forced`: say how a token is forced."""
        self._list.is_forcing_offered = True


class _NextTokenCanvas(CellCanvas):
    forced = Signal(object)

    def __init__(self, theme: Theme) -> None:
        height = theme.px(_HEAD_PX) + 3 * theme.px(_LEAST_ROW_PX)
        good = theme.px(_HEAD_PX) + 7 * theme.px(_MOST_ROW_PX)
        super().__init__(theme, "Next token", height, good)
        self.readout: NextTokenReadout | None = None
        self.is_forcing_offered = False
        self._head = KeptPart(theme.paper)
        self._fitting: tuple[int, NextTokenReadout, tuple[NextTokenRow, ...]] | None = None

    # Where things stand

    def _head_px(self) -> int:
        return self.theme.px(_HEAD_PX)

    def _rows(self) -> tuple[NextTokenRow, ...]:
        """As many as there is room for: never without what was chosen, right, or read."""
        readout = self.readout
        if readout is None:
            return ()
        free = self.height() - self._head_px() - 2
        n = max(1, int(free // self.theme.px(_LEAST_ROW_PX)))
        if len(readout.rows) <= n:
            return readout.rows
        if self._fitting is None or self._fitting[:2] != (n, readout):
            kept = {row.token_id for row in sorted(readout.rows, key=_weight, reverse=True)[:n]}
            rows = tuple(row for row in readout.rows if row.token_id in kept)
            self._fitting = (n, readout, rows)
        return self._fitting[2]

    def _row_px(self) -> float:
        free = self.height() - self._head_px() - 2
        each = int(free // max(1, len(self._rows())))
        return min(self.theme.px(_MOST_ROW_PX), max(1, each))

    def _columns(self) -> _Columns:
        theme, width = self.theme, self.width()
        number = theme.px(_NUMBER_PX)
        numbers = width - theme.margin_px - 2 * number
        text = theme.margin_px + 2
        room = numbers - text - theme.px(_LEAST_BAR_PX) - 12
        bars = text + min(theme.px(_TEXT_PX), max(24, room)) + 6
        longest = numbers - bars - 4
        if self._is_source_told:
            words = letters(self._source_words(), theme.sans(px=theme.small_px)).width
            longest -= words + _SOURCE_GAP_PX
        return _Columns(text, bars, max(theme.px(_LEAST_BAR_PX), longest), numbers, number)

    @property
    def _is_source_told(self) -> bool:
        """Whether one of the rows is read next though the engine did not choose it."""
        readout = self.readout
        return readout is not None and readout.how not in (None, "greedy")

    def _source_words(self) -> str:
        how = (self.readout and self.readout.how) or ""
        return {"prompt": "the prompt's next"}.get(how, how)

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None or not readout.rows:
            self.draw_blank(painter, BLANK if readout is None else readout.sentence)
            return
        columns, each = self._columns(), self._row_px()
        size, scale = QSize(self.width(), self._head_px()), self.devicePixelRatioF()
        head = self._head.picture(size, scale, columns, lambda p: self._draw_head(p, columns))
        painter.drawPixmap(0, 0, head)
        for number, row in enumerate(self._rows()):
            line = QRectF(0, self._head_px() + number * each, self.width(), each)
            self._draw_row(painter, columns, readout, row, line)

    def says_all(self) -> bool:
        return self.readout is not None and not self.readout.rows

    def _draw_head(self, painter: QPainter, columns: _Columns) -> None:
        """The names of both columns, each with the look of its bars."""
        theme, height = self.theme, self._head_px()
        painter.setFont(theme.sans(px=theme.small_px - 1))
        place = QRectF(columns.text, 0, columns.bars - columns.text, height)
        marks.label(painter, place, "token", theme.dim, Qt.AlignmentFlag.AlignLeft)
        for number, words in enumerate(("engine", "right")):
            left = columns.numbers + number * columns.number_px
            place = QRectF(left, 0, columns.number_px - 4, height)
            marks.label(painter, place, words, theme.dim, Qt.AlignmentFlag.AlignRight)
            side = 7
            advance = letters(words, painter.font()).width
            box = QRectF(place.right() - advance - side - 4, (height - side) / 2, side, side)
            if number == 0:
                painter.fillRect(box, theme.new)
            else:
                marks.outline(painter, box, theme.text)

    def _draw_row(
        self,
        painter: QPainter,
        columns: _Columns,
        readout: NextTokenReadout,
        row: NextTokenRow,
        line: QRectF,
    ) -> None:
        theme, top, height = self.theme, line.top(), line.height()
        is_wrong = row.is_engine_choice and readout.is_wrong_choice
        colour = theme.alarm if is_wrong else theme.new
        self._draw_text(painter, columns, row, line, is_wrong=is_wrong)
        room = columns.bar_px
        bar = (height - 5) / 2
        if row.engine > 0:
            width = max(1.0, room * row.engine)
            painter.fillRect(QRectF(columns.bars, top + 2, width, bar), colour)
        if row.reference is not None and row.reference > 0:
            width = max(2.0, room * row.reference)
            place = QRectF(columns.bars, top + 2 + bar, width, bar)
            marks.outline(painter, place, theme.text)
        self._draw_source(painter, columns, row, line)
        self._draw_numbers(painter, columns, readout, row, line, colour)

    def _draw_text(
        self,
        painter: QPainter,
        columns: _Columns,
        row: NextTokenRow,
        line: QRectF,
        *,
        is_wrong: bool,
    ) -> None:
        """As in the tokens: the engine's choice underlined, the right one outlined."""
        theme, top, height = self.theme, line.top(), line.height()
        room = columns.bars - columns.text - 6
        least_px = min(USUAL_PX[-1], theme.mono_px)
        for px in range(theme.mono_px, least_px - 1, -1):  # smaller, rather than cut
            painter.setFont(theme.mono(px=px, is_bold=row.is_engine_choice))
            if letters(row.text, painter.font()).width + 8.0 <= room:
                break
        width = min(room, letters(row.text, painter.font()).width + 8.0)
        box = QRectF(columns.text, top + 2, max(14.0, width), height - 4)
        ink = theme.alarm if is_wrong else theme.text
        marks.label(painter, box, row.text, ink)
        if row.is_reference_choice:
            marks.outline(painter, box, theme.text)
        if row.is_engine_choice:
            y = box.bottom() - 1
            painter.setPen(QPen(theme.alarm if is_wrong else theme.new, 2))
            painter.drawLine(QPointF(box.left() + 2, y), QPointF(box.right() - 2, y))

    def _draw_source(
        self,
        painter: QPainter,
        columns: _Columns,
        row: NextTokenRow,
        line: QRectF,
    ) -> None:
        """Where the token read next was not the engine's best: a dotted line, and why."""
        if not (row.is_read_next and self._is_source_told):
            return
        theme, top, height = self.theme, line.top(), line.height()
        left = columns.bars + columns.bar_px + _SOURCE_GAP_PX - 2
        room = columns.numbers - 2 - left
        painter.setFont(theme.sans(px=theme.small_px))
        words = self._source_words()
        if letters(words, painter.font()).width <= room:
            place = QRectF(left, top, room, height)
            marks.label(painter, place, words, theme.text, Qt.AlignmentFlag.AlignLeft)
        painter.setPen(QPen(theme.text, 1, Qt.PenStyle.DotLine))
        y = top + height - 1
        painter.drawLine(QPointF(columns.text, y), QPointF(columns.bars - 6, y))

    def _draw_numbers(
        self,
        painter: QPainter,
        columns: _Columns,
        readout: NextTokenReadout,
        row: NextTokenRow,
        line: QRectF,
        colour: QColor,
    ) -> None:
        theme = self.theme
        is_none = readout.state == "no reference"
        right = "–" if row.reference is None and is_none else share_words(row.reference)
        inks = (colour if row.is_engine_choice else theme.dim, theme.dim)
        for number, words in enumerate((share_words(row.engine), right)):
            is_best = row.is_reference_choice if number else row.is_engine_choice
            left = columns.numbers + number * columns.number_px
            place = QRectF(left, line.top(), columns.number_px - 4, line.height())
            painter.setFont(theme.mono(px=theme.small_px, is_bold=is_best))
            ink = theme.text if number and is_best else inks[number]
            marks.label(painter, place, words, ink, Qt.AlignmentFlag.AlignRight)

    def draw_over(self, painter: QPainter) -> None:
        """The row that the keyboard is at."""
        if self.place is not None and self.hasFocus():
            top = self._head_px() + self.place[0] * self._row_px()
            box = QRectF(2, top, self.width() - 4, self._row_px())
            marks.outline(painter, box, self.theme.new)

    # Mouse, keys, table

    def _row_at(self, at: QPointF) -> NextTokenRow | None:
        number = int((at.y() - self._head_px()) // self._row_px())
        rows = self._rows()
        return rows[number] if at.y() >= self._head_px() and number < len(rows) else None

    def hit(self, at: QPointF) -> Hit | None:
        row = None if self.readout is None else self._row_at(at)
        return None if row is None else Hit("\n".join(self._tip(row)), None)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Ask for this token to be read next."""
        row = None if self.readout is None else self._row_at(event.position())
        if row is not None and event.button() == Qt.MouseButton.LeftButton:
            self.forced.emit(row.token_id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter asks for the token of the row."""
        rows = self._rows()
        if event.key() in _ENTER and self.place is not None and self.place[0] < len(rows):
            self.forced.emit(rows[self.place[0]].token_id)
            return
        super().keyPressEvent(event)

    def grid(self) -> tuple[int, int]:
        return len(self._rows()), 1

    def middle(self, row: int, column: int) -> QPointF:
        return QPointF(self.width() / 2, self._head_px() + (row + 0.5) * self._row_px())

    def unpinned(self) -> Selection | None:
        return None

    def table(self) -> TableData:
        readout = self.readout
        if readout is None:
            return super().table()
        rows = readout.rows
        return TableData(
            "Next token",
            ("engine", "right", ""),
            tuple(f"‘{row.text}’" for row in rows),
            lambda row, column: (
                f"{rows[row].engine!r}",
                "…" if rows[row].reference is None else f"{rows[row].reference!r}",
                ", ".join(role_words(readout, rows[row])),
            )[column],
        )

    def _tip(self, row: NextTokenRow) -> list[str]:
        readout = self.readout
        lines = [f"‘{row.text}’ · id {row.token_id}", f"engine {row.engine!r}"]
        if row.reference is not None:
            lines.append(f"right {row.reference!r}")
        if readout is not None:
            lines += role_words(readout, row)
        if self.is_forcing_offered:
            lines.append("double-click: read this token next, in a run that branches off here")
        return lines


def _weight(row: NextTokenRow) -> tuple[bool, float]:
    """What is shown first where there is not room for all."""
    is_needed = row.is_engine_choice or row.is_reference_choice or row.is_read_next
    return is_needed, max(row.engine, row.reference or 0.0)
