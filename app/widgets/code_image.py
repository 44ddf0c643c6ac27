"""From 8-bit codes to pixels: one look-up, one image."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from app.theme import Theme

Codes = NDArray[np.uint8]
MASKED, NEVER_WRITTEN, ZERO, LOWEST, HIGHEST, NAN = 0, 1, 2, 3, 254, 255
# Viridis (Smith, van der Walt, Firing 2015; CC0) at eleven even places.
_VIRIDIS = (
    "#440154 #482475 #414487 #355f8d #2a788e #21918c #22a884 #44bf70 #7ad151 #bddf26 #fde725"
).split()


def palette(theme: Theme) -> NDArray[np.uint32]:
    """[256] colour of each code as 0xffRRGGBB."""
    anchors = np.array([_rgb(QColor(name)) for name in _VIRIDIS], dtype=np.float64)
    places = np.linspace(0, len(anchors) - 1, HIGHEST - LOWEST + 1)
    table = np.zeros((256, 3))
    for channel in range(3):
        table[LOWEST : HIGHEST + 1, channel] = np.interp(
            places, np.arange(len(anchors)), anchors[:, channel]
        )
    table[MASKED] = _rgb(theme.paper)
    table[NEVER_WRITTEN] = _rgb(theme.paper)
    table[ZERO] = anchors[0]
    table[NAN] = _rgb(theme.alarm)
    red, green, blue = np.rint(table).astype(np.uint32).T
    return (0xFF000000 | red << 16 | green << 8 | blue).astype(np.uint32)


def pooled(codes: Codes, most_rows: int, most_columns: int) -> Codes:
    """[.., R, C] made no larger than asked by the maximum over neighbours."""
    for axis, most in ((-2, most_rows), (-1, most_columns)):
        size = codes.shape[axis]
        if size > max(1, most):
            starts = np.linspace(0, size, max(1, most), endpoint=False).astype(np.int64)
            codes = np.maximum.reduceat(codes, starts, axis=axis)
    return codes


def image(codes: Codes, colours: NDArray[np.uint32]) -> QImage:
    """An RGB image of [R, C] codes that owns its pixels."""
    pixels = np.ascontiguousarray(colours[codes])
    height, width = pixels.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()


def _rgb(colour: QColor) -> tuple[int, int, int]:
    return colour.red(), colour.green(), colour.blue()
