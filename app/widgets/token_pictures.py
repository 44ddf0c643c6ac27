"""Columns of the three rows of tokens: each is drawn once, and put down wherever it stands."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from app.theme import Theme
from app.widgets import marks
from core.readouts.tokens import TokenCell

RIGHT, CLEAN = 1, 2
"""Numbers of the row of right tokens and of that of the clean run; this run is the first."""
_ROOMY_ROW_PX = 20
_MOST_KEPT = 400
_FED_ALPHA = 90


@dataclass(frozen=True, slots=True)
class TokenColumn:
    """All that decides how a column looks in a canvas of a height.

    Attributes:
        number: its token index.
        width: in logical pixels.
        cells: of the three rows; None: nothing is drawn there.
        is_now: whether the step read it.
        is_chosen: whether it is looked at.
    """

    number: int
    width: float
    cells: tuple[TokenCell | None, TokenCell | None, TokenCell | None]
    is_now: bool
    is_chosen: bool

    @property
    def is_forced(self) -> bool:
        """Whether this run had no choice, so that another right token means nothing."""
        run = self.cells[0]
        return run is not None and (run.is_forced or run.rank is not None)


@dataclass(frozen=True, slots=True)
class Heights:
    """Of the canvas, of the line of numbers at its top, and of each row below, in pixels."""

    all_px: int
    header_px: int
    row_px: int

    def top(self, row: int) -> float:
        """Where a row begins."""
        return float(self.header_px + row * self.row_px)


class TokenPictures:
    """Keeps the pictures of columns for one theme; they are let go where heights change."""

    def __init__(self, theme: Theme, advance: Callable[[str], float]) -> None:
        """Takes what measures a text."""
        self._theme, self._advance = theme, advance
        self._kept: dict[TokenColumn, QPixmap] = {}
        self._kept_for: tuple[Heights, float] | None = None
        self._fed = QColor(theme.live)  # solid, and quieter than a live slot
        self._fed.setAlpha(_FED_ALPHA)

    def draw(
        self, painter: QPainter, left: float, look: TokenColumn, heights: Heights, scale: float
    ) -> None:
        """Draw a column; from its kept picture where a logical pixel is so many whole ones."""
        if scale != int(scale):
            painter.save()
            painter.translate(left, 0)
            self._draw(painter, look, heights)
            painter.restore()
            return
        if self._kept_for != (heights, scale) or len(self._kept) >= _MOST_KEPT:
            self._kept, self._kept_for = {}, (heights, scale)
        kept = self._kept.get(look)
        if kept is None:
            kept = QPixmap(round(look.width * scale), round(heights.all_px * scale))
            kept.setDevicePixelRatio(scale)
            kept.fill(self._theme.paper)
            inner = QPainter(kept)
            self._draw(inner, look, heights)
            inner.end()
            self._kept[look] = kept
        painter.drawPixmap(int(left), 0, kept)

    def _draw(self, painter: QPainter, look: TokenColumn, heights: Heights) -> None:
        """The number of a column, a bar if the step read it, and its tokens."""
        theme, height, width = self._theme, heights.header_px, look.width
        painter.setFont(theme.mono(px=theme.small_px - 1))
        if painter.fontMetrics().horizontalAdvance(str(look.number)) <= width:
            box = QRectF(0, 1, width, height - 5)
            marks.label(painter, box, str(look.number), theme.text if look.is_now else theme.dim)
        if look.is_now:
            painter.fillRect(QRectF(0, height - 3, width, 2), theme.new)
        painter.setFont(theme.mono())
        for row, cell in enumerate(look.cells):
            if cell is not None:
                place = QRectF(0, heights.top(row), width, heights.row_px)
                self._draw_cell(painter, place, cell, look, row)

    def _draw_cell(
        self, painter: QPainter, place: QRectF, cell: TokenCell, look: TokenColumn, row: int
    ) -> None:
        theme = self._theme
        inset = 2 if place.height() >= theme.px(_ROOMY_ROW_PX) else 1
        box = place.adjusted(1, inset, -1, -inset)
        if cell.state == "read":
            painter.fillRect(box, theme.raised if row == CLEAN else self._fed)
        is_quiet = row == CLEAN or (row == RIGHT and look.is_forced)
        is_alarm = cell.is_wrong or cell.missed is not None
        colour = theme.alarm if is_alarm else theme.dim if is_quiet else theme.text
        if cell.state == "pending":
            marks.hatch(painter, box, theme.dead)
            return
        if self._advance(cell.text) > box.width():
            marks.label(painter, box, cell.text, colour)
        else:
            painter.setPen(colour)
            letters = box.adjusted(0, 0, 0, -2)  # a line may stand below them
            painter.drawText(letters, Qt.AlignmentFlag.AlignCenter, cell.text)
        if row == RIGHT:
            marks.outline(painter, box, theme.frame if is_quiet else theme.text)
        else:
            self._draw_kind(painter, box, cell, theme.dim if row == CLEAN else theme.new)
        if is_alarm:
            marks.outline(painter, box, theme.alarm)
        if look.is_chosen:
            marks.chosen(painter, box.adjusted(1, 0, -1, 0), theme)

    def _draw_kind(self, painter: QPainter, box: QRectF, cell: TokenCell, colour: QColor) -> None:
        """Dotted line: not the best; solid: to be read next; struck through: refused."""
        theme, y = self._theme, box.bottom() - 1
        line = (QPointF(box.left() + 2, y), QPointF(box.right() - 2, y))
        if cell.is_forced or cell.rank is not None:
            painter.setPen(QPen(theme.text, 2, Qt.PenStyle.DotLine))
            painter.drawLine(*line)
        elif cell.state == "next":
            painter.setPen(QPen(colour, 2))
            painter.drawLine(*line)
        elif cell.state == "refused":
            painter.setPen(QPen(theme.dim, 1))
            middle = box.center().y()
            painter.drawLine(QPointF(box.left() + 1, middle), QPointF(box.right() - 1, middle))
