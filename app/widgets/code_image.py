"""From 8-bit codes to pixels: one look-up, one image."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from app.theme import Theme

Codes = NDArray[np.uint8]
MASKED, NEVER_WRITTEN, ZERO, LOWEST, HIGHEST, NAN = 0, 1, 2, 3, 254, 255
_MASKED_SHARE = 0.3
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
    table[MASKED] = _rgb(masked_tone(theme))
    table[NEVER_WRITTEN] = _rgb(theme.paper)
    table[ZERO] = anchors[0]
    table[NAN] = _rgb(theme.alarm)
    red, green, blue = np.rint(table).astype(np.uint32).T
    return (0xFF000000 | red << 16 | green << 8 | blue).astype(np.uint32)


def masked_tone(theme: Theme) -> QColor:
    """The ground of what is masked, also where there is no room for its hatch."""
    return theme.mixed(theme.dead, _MASKED_SHARE)


def pooled(codes: Codes, most_rows: int, most_columns: int) -> Codes:
    """[.., R, C] made no larger than asked by the maximum over neighbours."""
    # Rows first: they lie one after the other, also where they were transposed to stand there.
    rows = np.ascontiguousarray(np.moveaxis(codes, -2, 0))
    if len(rows) > max(1, most_rows):
        rows = _binned(rows, 0, max(1, most_rows))
    while rows.shape[-1] >= 2 * max(1, most_columns) and rows.shape[-1] % 2 == 0:
        rows = np.maximum(rows[..., ::2], rows[..., 1::2])
    if rows.shape[-1] > max(1, most_columns):
        rows = _binned(rows, -1, max(1, most_columns))
    return np.moveaxis(rows, 0, -2)


def _binned(codes: Codes, axis: int, n_bins: int) -> Codes:
    """The highest of each bin: a gather per place in a bin, several times as fast as reduceat."""
    edges = np.arange(n_bins + 1) * codes.shape[axis] // n_bins
    first, last = edges[:-1], edges[1:] - 1
    highest = codes.take(first, axis)
    for further in range(1, int((last - first).max()) + 1):
        np.maximum(highest, codes.take(np.minimum(first + further, last), axis), out=highest)
    return highest


def image(codes: Codes, colours: NDArray[np.uint32]) -> QImage:
    """An RGB image of [R, C] codes that owns its pixels."""
    pixels = np.ascontiguousarray(colours[codes])
    height, width = pixels.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()


def _rgb(colour: QColor) -> tuple[int, int, int]:
    return colour.red(), colour.green(), colour.blue()
