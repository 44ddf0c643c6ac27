"""A single row of numbers as bars from a zero line."""

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from app.theme import Theme
from core.readouts.tensor_sheet import TensorSheet

_LEAST_HEIGHT_PX, _LEAST_COLUMN_PX = 16, 2


def draw_bars(painter: QPainter, place: QRectF, sheet: TensorSheet, theme: Theme) -> None:
    """The row of a sheet, on the scale of its colours; nothing where there is too little room."""
    width = place.width() / max(1, sheet.columns.n)
    if place.height() < _LEAST_HEIGHT_PX or width < _LEAST_COLUMN_PX:
        return
    has_signs = sheet.kind == "signed"
    scale = (sheet.scale or 1.0) if has_signs else 1.0
    zero = place.center().y() if has_signs else place.bottom()
    reach = place.height() / 2 if has_signs else place.height()
    shares = np.clip(np.nan_to_num(sheet.values[0] / scale), -1.0, 1.0)
    heights: list[float] = (shares * reach).tolist()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.dead)
    gap = 1.0 if width >= 2 * _LEAST_COLUMN_PX else 0.0
    bars = [
        QRectF(place.left() + n * width, min(zero, zero - tall), width - gap, abs(tall))
        for n, tall in enumerate(heights)
    ]
    painter.drawRects(bars)
    painter.fillRect(QRectF(place.left(), zero - 0.5, place.width(), 1), theme.dim)
