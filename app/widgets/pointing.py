"""What is drawn over a view where something is pointed at, by the mouse or the keys."""

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from app.theme import Theme
from app.widgets import marks

_ALPHA = 34
_LEAST_PX = 2.0
_NOTE_PX = 17


def draw_crosshair(painter: QPainter, column: QRectF, theme: Theme) -> None:
    """A shade over a column with a line at each side, so that it runs on in the view below."""
    column.setWidth(max(_LEAST_PX, column.width()))
    shade = QColor(theme.new)
    shade.setAlpha(_ALPHA)
    marks.shade(painter, column, shade)
    for x in (column.left() - 1, column.right()):
        painter.fillRect(QRectF(x, column.top(), 1, column.height()), theme.new)


def draw_note(painter: QPainter, canvas: QRect, note: str, theme: Theme) -> None:
    """What is in the cell that the keys moved to, in a line at the bottom."""
    tall = theme.px(_NOTE_PX)
    place = QRectF(0, canvas.height() - tall, canvas.width(), tall)
    painter.fillRect(place, theme.raised)
    painter.setFont(theme.sans(px=theme.small_px))
    inner = place.adjusted(theme.margin_px, 0, -theme.margin_px, 0)
    marks.label(painter, inner, note, theme.text, Qt.AlignmentFlag.AlignLeft)
