"""A causal triangle at the left of a mask, with the row that was used and the right one."""

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from app.theme import Theme
from app.widgets import marks
from app.widgets.letters import letters
from core.readouts.mask import MaskReadout

_SIZE_PX = 30
_ELBOW_PX = 8
_NAME_GAP_PX = 9
_MOST_STEPS = 16


def draw(painter: QPainter, readout: MaskReadout, rows: Sequence[QRectF], theme: Theme) -> None:
    """The names of the rows "used" and "expected"; beside them the triangle, if there is room.

    `rows` are the places for the names, which must not meet it; a bracket joins each to its row of
    the triangle.
    """
    size, n = theme.px(_SIZE_PX), len(readout.columns)
    used, right = readout.used_row, readout.right_row
    is_wrong = right is not None and used != right
    texts = [
        name if row is None else f"{name} = row {row}"
        for name, row in (("used", used), ("right", right))
    ]
    if right is None:
        texts[1] = "expected"
    widest = max(letters(text, theme.sans(px=theme.small_px)).width for text in texts)
    free = rows[0].width() - theme.margin_px - size - _NAME_GAP_PX - widest
    has_triangle = free > _ELBOW_PX and n > 1 and (used is not None or right is not None)
    if has_triangle:
        place = QRectF(theme.margin_px, rows[0].top(), size, rows[1].bottom() - rows[0].top())
        _draw_triangle(painter, place, n, {r for r in (used, right) if r is not None}, theme)
    inks = (theme.alarm, theme.text) if is_wrong else (theme.dim, theme.dim)
    for at, row, text, colour in zip(rows, (used, right), texts, inks, strict=True):
        _draw_name(painter, at, text, colour, theme)
        if has_triangle and row is not None:
            width = letters(text, painter.font()).width
            y = rows[0].top() + (rows[1].bottom() - rows[0].top()) * (row + 0.5) / n
            start = QPointF(theme.margin_px + size * (row + 1) / n + 1, y)
            end = QPointF(at.right() - _NAME_GAP_PX - width, at.center().y())
            _draw_bracket(painter, start, end, colour)


def _draw_name(painter: QPainter, at: QRectF, text: str, colour: QColor, theme: Theme) -> None:
    painter.setFont(theme.sans(px=theme.small_px))
    place = at.adjusted(theme.margin_px, 0, -6, 0)
    if letters(text, painter.font()).width > place.width():
        painter.setFont(theme.sans(px=theme.small_px - 1))
    marks.label(painter, place, text, colour, Qt.AlignmentFlag.AlignRight)


def _draw_triangle(painter: QPainter, place: QRectF, n: int, rows: set[int], theme: Theme) -> None:
    each_x, each_y = place.width() / n, place.height() / n
    scale = painter.device().devicePixelRatioF()

    def row(*place: float) -> QRectF:
        """Between whole device pixels: Qt rounds halves otherwise on a widget than in a picture."""
        left, top, width, height = place
        edges = (left, top, left + width, top + height)
        left, top, right, bottom = (math.floor(edge * scale + 0.5) / scale for edge in edges)
        return QRectF(left, top, right - left, bottom - top)

    painter.setPen(Qt.PenStyle.NoPen)
    if n <= _MOST_STEPS:
        painter.setBrush(theme.frame)
        gap = 1.0 if each_y >= 3 else 0.0
        painter.drawRects(
            [
                row(place.left(), place.top() + r * each_y, each_x * (r + 1), each_y - gap)
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
        [row(place.left(), place.top() + r * each_y, each_x * (r + 1), tall) for r in sorted(rows)]
    )


def _draw_bracket(painter: QPainter, start: QPointF, end: QPointF, colour: QColor) -> None:
    """From the end of a row straight on, then to the name."""
    bend = max(start.x(), end.x() - _ELBOW_PX)
    painter.setPen(QPen(colour, 1))
    painter.drawPolyline([start, QPointF(bend, start.y()), end])
