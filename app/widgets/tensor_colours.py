"""Numbers of a tensor as 8-bit codes, and the colour of each code."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from app.theme import Theme
from app.widgets import code_image
from app.widgets.code_image import Codes
from core.readouts.tensor_sheet import Kind, TensorSheet

Numbers = NDArray[np.floating]
LOWEST, ZERO, HIGHEST, NAN = 0, 127, 254, 255
# CET-D1 (Kovesi 2015; CC-BY 4.0) at eleven even places: negative, nothing, positive.
_NEGATIVE = "#2151db #666ee0 #8e8ce5 #b0ace9 #d1cdee".split()
_POSITIVE = "#f1c8bd #eca18f #e17860 #d24b34 #c00206".split()
_MIDDLE = "#f0edec"
_MIDDLE_ON_DARK = "#2a2e34"
_N_SIDE = len(_NEGATIVE)


def colours(theme: Theme, kind: Kind) -> NDArray[np.uint32]:
    """[256] colour of each code as 0xffRRGGBB."""
    if kind == "weights":
        return code_image.palette(theme)
    if kind == "mask":
        return _packed(np.array([_rgb(theme.paper)] * 128 + [_rgb(theme.live)] * 128, dtype=float))
    anchors = [_rgb(QColor(name)) for name in (*_NEGATIVE, _MIDDLE, *_POSITIVE)]
    if theme.name == "dark":
        anchors = _on_dark(anchors)
    places = np.linspace(0, len(anchors) - 1, HIGHEST - LOWEST + 1)
    table = np.zeros((256, 3))
    for channel in range(3):
        given = [anchor[channel] for anchor in anchors]
        table[: HIGHEST + 1, channel] = np.interp(places, np.arange(len(anchors)), given)
    table[NAN] = _rgb(theme.alarm)
    return _packed(table)


def image_codes(sheet: TensorSheet, most_rows: int, most_columns: int) -> Codes:
    """The codes of a sheet, made no larger than asked. What is loudest stays to be seen."""
    if sheet.kind == "weights":
        codes = codes_of(sheet.values, sheet.kind, sheet.scale)
        if sheet.is_masked is not None:
            codes = np.where(sheet.is_masked, code_image.MASKED, codes).astype(np.uint8)
        return code_image.pooled(codes, most_rows, most_columns)
    return codes_of(pooled(sheet.values, most_rows, most_columns), sheet.kind, sheet.scale)


def codes_of(values: Numbers, kind: Kind, scale: float) -> Codes:
    """[R, C] the code of each number; of weights those of `code_image`, with a square root."""
    numbers = values.astype(np.float64)
    is_bad = ~np.isfinite(numbers)
    numbers = np.where(is_bad, 0.0, numbers)
    if kind == "weights":
        span = code_image.HIGHEST - code_image.LOWEST
        codes = code_image.LOWEST + np.rint(np.sqrt(np.clip(numbers, 0, 1)) * span)
        codes = np.where(numbers == 0.0, code_image.ZERO, codes)
        return np.where(is_bad, code_image.NAN, codes).astype(np.uint8)
    if kind == "mask":
        return np.where(numbers > 0, HIGHEST, LOWEST).astype(np.uint8)
    share = numbers / scale if scale > 0 else numbers
    codes = np.rint(ZERO + np.clip(share, -1, 1) * (HIGHEST - ZERO))
    return np.where(is_bad, NAN, codes).astype(np.uint8)


def pooled(values: Numbers, most_rows: int, most_columns: int) -> Numbers:
    """[.., ..] made no larger than asked: of neighbours the one of largest magnitude, NaN first."""
    for axis, most in ((0, most_rows), (1, most_columns)):
        size = values.shape[axis]
        if size > max(1, most):
            starts = np.linspace(0, size, max(1, most), endpoint=False).astype(np.int64)
            high = np.maximum.reduceat(values, starts, axis=axis)
            low = np.minimum.reduceat(values, starts, axis=axis)
            values = np.where(high >= -low, high, low)
    return values


def _on_dark(anchors: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The same ends, by way of a dark middle: nothing is as quiet as the ground."""
    middle = _rgb(QColor(_MIDDLE_ON_DARK))
    ends = (anchors[1], anchors[-3])
    low = np.linspace(ends[0], middle, _N_SIDE, endpoint=False)
    high = np.linspace(middle, ends[1], _N_SIDE + 1)
    return [(int(red), int(green), int(blue)) for red, green, blue in (*low, *high)]


def _packed(table: NDArray[np.float64]) -> NDArray[np.uint32]:
    red, green, blue = np.rint(table).astype(np.uint32).T
    return (0xFF000000 | red << 16 | green << 8 | blue).astype(np.uint32)


def _rgb(colour: QColor) -> tuple[int, int, int]:
    return colour.red(), colour.green(), colour.blue()
