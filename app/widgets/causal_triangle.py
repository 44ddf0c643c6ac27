"""A causal triangle at the left of a mask, with the row that was used and the right one."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from app.theme import Theme
from app.widgets import marks
from core.readouts.mask import MaskReadout

_SIZE_PX = 30
_ELBOW_PX = 8
_MOST_STEPS = 16


def draw(painter: QPainter, readout: MaskReadout, rows: Sequence[QRectF], theme: Theme) -> None:
    """The names of the rows "used" and "expected"; beside them the triangle, if there is room.

    `rows` are the places for the names; a bracket joins each to its row of the triangle.
    """
    size = theme.px(_SIZE_PX)
    has_room = rows[0].width() > size * 3.5
    used, right = readout.used_row, readout.right_row
    is_wrong = right is not None and used != right
    n, names = len(readout.columns), ("used", "right")
    if has_room and n > 1 and (used is not None or right is not None):
        place = QRectF(theme.margin_px, rows[0].top(), size, rows[1].bottom() - rows[0].top())
        _draw_triangle(painter, place, n, {r for r in (used, right) if r is not None}, theme)
    else:
        has_room = False
    for at, row, name in zip(rows, (used, right), names, strict=True):
        colour = theme.alarm if is_wrong and name == "used" else theme.dim
        if is_wrong and name == "right":
            colour = theme.text
        text = {"used": "used", "right": "expected"}[name] if row is None else f"{name} = row {row}"
        _draw_name(painter, at, text, colour, theme)
        if has_room and row is not None:
            width = painter.fontMetrics().horizontalAdvance(text)
            y = rows[0].top() + (rows[1].bottom() - rows[0].top()) * (row + 0.5) / n
            start = QPointF(theme.margin_px + size * (row + 1) / n + 1, y)
            _draw_bracket(painter, start, QPointF(at.right() - 9 - width, at.center().y()), colour)


def _draw_name(painter: QPainter, at: QRectF, text: str, colour: QColor, theme: Theme) -> None:
    painter.setFont(theme.sans(px=theme.small_px))
    place = at.adjusted(theme.margin_px, 0, -6, 0)
    if painter.fontMetrics().horizontalAdvance(text) > place.width():
        painter.setFont(theme.sans(px=theme.small_px - 1))
    marks.label(painter, place, text, colour, Qt.AlignmentFlag.AlignRight)


def _draw_triangle(painter: QPainter, place: QRectF, n: int, rows: set[int], theme: Theme) -> None:
    each_x, each_y = place.width() / n, place.height() / n
    painter.setPen(Qt.PenStyle.NoPen)
    if n <= _MOST_STEPS:
        painter.setBrush(theme.frame)
        gap = 1.0 if each_y >= 3 else 0.0
        painter.drawRects(
            [
                QRectF(place.left(), place.top() + r * each_y, each_x * (r + 1), each_y - gap)
                for r in range(n)
            ]
        )
    else:
        painter.setBrush(theme.frame)
        corners = (place.topLeft(), place.bottomLeft(), place.bottomRight())
        painter.drawPolygon(QPolygonF(corners))
    painter.setBrush(theme.live)
    tall = max(2.0, each_y - (1.0 if each_y >= 3 else 0.0))
    painter.drawRects(
        [
            QRectF(place.left(), place.top() + r * each_y, each_x * (r + 1), tall)
            for r in sorted(rows)
        ]
    )


def _draw_bracket(painter: QPainter, start: QPointF, end: QPointF, colour: QColor) -> None:
    """From the end of a row straight on, then to the name."""
    bend = max(start.x(), end.x() - _ELBOW_PX)
    painter.setPen(QPen(colour, 1))
    painter.drawPolyline([start, QPointF(bend, start.y()), end])
