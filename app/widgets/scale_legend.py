"""The scale of an attention image, and what is no value in it."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from app.theme import Theme
from app.widgets import code_image, marks

_BAR_PX, _LEAST_BAR_PX, _LINE_PX = 90, 24, 14


def draw(
    painter: QPainter, at: QPointF, right: float, colours: NDArray[np.uint32], theme: Theme
) -> None:
    """The colours from 0 to 1, as far as they fit before `right`, then the signs that do.

    All in one line, whose middle begins at a place.
    """
    painter.setFont(theme.sans(px=theme.small_px))
    left, top, digit_px = at.x(), at.y() - _LINE_PX / 2, float(theme.px(10))
    scale = np.arange(code_image.LOWEST, code_image.HIGHEST + 1, dtype=np.uint8)[None]
    bar_px = min(_BAR_PX, right - left - 2 * digit_px - 5)
    if bar_px < _LEAST_BAR_PX:
        return
    bar = QRectF(left + digit_px + 2, top + 2, bar_px, 10)
    marks.label(painter, QRectF(left, top, digit_px, _LINE_PX), "0", theme.dim)
    painter.drawImage(bar, code_image.image(scale, colours))
    marks.label(painter, QRectF(bar.right() + 3, top, digit_px, _LINE_PX), "1", theme.dim)
    left = bar.right() + digit_px + 12
    for name in ("masked", "never written"):
        width = painter.fontMetrics().horizontalAdvance(name) + 4
        if left + 18 + width > right:
            return
        box = QRectF(left, top + 2, 12, 10)
        if name == "masked":
            marks.fill(painter, box, code_image.masked_tone(theme))
            marks.hatch(painter, box, theme.dead)
            marks.outline(painter, box, theme.frame)
        else:
            marks.outline(painter, box, theme.dead, style=Qt.PenStyle.DotLine)
        marks.label(painter, QRectF(left + 16, top, width, _LINE_PX), name, theme.dim)
        left += 16 + width + 12
