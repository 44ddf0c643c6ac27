"""Where many cells of a mask are wrong and too small for frames: a frame around all of them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from app.theme import Theme
from app.widgets import code_image, marks, mask_cells, regions
from app.widgets.code_image import Codes
from app.widgets.mask_cells import WRONG, Kind

_APART_PX = (26, 14)
_ARM_PX, _FREE_PX = 3.0, 5.0
_MOST_LINES, _MOST_SHARE = 4000, 0.25
_Places = NDArray[np.float64]


def draw(painter: QPainter, codes: Codes, place: QRectF, theme: Theme) -> None:
    """A picture of [R, C] kinds: wrong regions in their frames, with signs where there is room.

    Where frames would be more than the picture, wrong cells are filled.
    """
    is_wrong = np.isin(codes, WRONG)
    lines = list(_edges(codes, is_wrong, place)) if is_wrong.any() else []
    length = sum(line.length() for line in lines)
    is_framed = len(lines) <= _MOST_LINES and length <= _MOST_SHARE * place.width() * place.height()
    table = mask_cells.quiet_colours(theme) if is_framed else mask_cells.colours(theme)
    painter.drawImage(place, code_image.image(codes, table))
    is_masked = (codes == Kind.MASKED) | (is_framed & (codes == Kind.BLIND))
    tone = code_image.masked_tone(theme)
    marks.hatch_all(painter, regions.rectangles(is_masked, place), tone, theme.dead)
    if not lines or not is_framed:
        return
    painter.setPen(QPen(theme.alarm, 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.SquareCap))
    painter.drawLines(lines)
    signs = [line for kind in WRONG for line in _signs(codes, kind, place)]
    if signs:
        painter.drawLines(signs)


def _edges(codes: Codes, is_wrong: NDArray[np.bool_], place: QRectF) -> Iterator[QLineF]:
    """The lines around each region of one wrong kind; inside of the picture's own edge."""
    kinds = np.pad(np.where(is_wrong, codes, 0), 1)
    wide, high = place.width() / codes.shape[1], place.height() / codes.shape[0]
    left, top = place.left(), place.top()
    inner = place.adjusted(1, 1, -1, -1)
    upright = (kinds[1:-1, 1:] != kinds[1:-1, :-1]).T
    for column, first, stop in zip(*regions.runs(upright), strict=True):
        x = min(max(left + column * wide, inner.left()), inner.right())
        yield QLineF(x, top + first * high, x, top + stop * high)
    level = kinds[1:, 1:-1] != kinds[:-1, 1:-1]
    for row, first, stop in zip(*regions.runs(level), strict=True):
        y = min(max(top + row * high, inner.top()), inner.bottom())
        yield QLineF(left + first * wide, y, left + stop * wide, y)


def _signs(codes: Codes, kind: Kind, place: QRectF) -> Iterator[QLineF]:
    """A sign at every place of a wide grid where all around is of the kind."""
    xs, ys = (
        np.arange(apart / 2, size, apart)
        for size, apart in zip((place.width(), place.height()), _APART_PX, strict=True)
    )
    if not len(xs) or not len(ys):
        return
    is_inside = np.ones((len(ys), len(xs)), dtype=np.bool_)
    for dx in (-_FREE_PX, 0, _FREE_PX):
        for dy in (-_FREE_PX, 0, _FREE_PX):
            rows = _cells(ys + dy, place.height(), codes.shape[0])
            columns = _cells(xs + dx, place.width(), codes.shape[1])
            is_inside &= codes[np.ix_(rows, columns)] == kind
    for row, column in np.argwhere(is_inside).tolist():
        x, y = place.left() + float(xs[column]), place.top() + float(ys[row])
        if kind == Kind.ODD:
            yield QLineF(x, y - _ARM_PX, x, y + 1)
            yield QLineF(x, y + _ARM_PX, x, y + _ARM_PX)
            continue
        yield QLineF(x - _ARM_PX, y, x + _ARM_PX, y)
        if kind == Kind.LEAK:
            yield QLineF(x, y - _ARM_PX, x, y + _ARM_PX)


def _cells(at: _Places, size: float, n: int) -> NDArray[np.intp]:
    """The cells in which these places are."""
    return np.clip(at * n // size, 0, n - 1).astype(np.intp)
