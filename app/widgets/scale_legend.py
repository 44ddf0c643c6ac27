"""The scale of an attention image, and what is no value in it."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from app.theme import Theme
from app.widgets import code_image, marks

_BAR_PX = 90


def draw(
    painter: QPainter, at: QPointF, right: float, colours: NDArray[np.uint32], theme: Theme
) -> None:
    """The colours from 0 to 1, then the signs that fit before `right`."""
    painter.setFont(theme.sans(px=theme.small_px))
    left, top = at.x(), at.y()
    scale = np.arange(code_image.LOWEST, code_image.HIGHEST + 1, dtype=np.uint8)[None]
    bar = QRectF(left + 12, top + 2, _BAR_PX, 10)
    marks.label(painter, QRectF(left, top, 10, 14), "0", theme.dim)
    painter.drawImage(bar, code_image.image(scale, colours))
    marks.label(painter, QRectF(bar.right() + 3, top, 10, 14), "1", theme.dim)
    left = bar.right() + 22
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
        marks.label(painter, QRectF(left + 16, top, width, 14), name, theme.dim)
        left += 16 + width + 12
