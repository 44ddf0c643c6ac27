"""Cells of a mask: what it did with a row, and what it should have done."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from app.theme import Theme
from app.widgets import code_image, marks
from app.widgets.slot_ruler import SlotRuler
from core.arrays import distinct


class Kind(IntEnum):
    """What a cell is. Where several share a pixel, the highest is seen."""

    NOT_READ = 0
    UNEXPECTED = 1
    EXPECTED = 2
    MASKED = 3
    SEEN = 4
    ODD = 5
    """Seen, but not the row that the ledger claims."""
    BLIND = 6
    """Masked, and should be seen."""
    LEAK = 7
    """Seen, and should not be."""


WRONG = (Kind.ODD, Kind.BLIND, Kind.LEAK)
_SIGNS = {Kind.ODD: "!", Kind.BLIND: "−", Kind.LEAK: "+"}


def colours(theme: Theme) -> NDArray[np.uint32]:
    """[256] the colour of each kind where cells are too small for more, as 0xffRRGGBB."""
    table = np.full(256, theme.paper.rgb(), dtype=np.uint32)
    table[Kind.EXPECTED] = theme.text.rgb()
    table[Kind.MASKED] = code_image.masked_tone(theme).rgb()
    table[Kind.SEEN] = theme.live.rgb()
    table[list(WRONG)] = theme.alarm.rgb()
    return table


def quiet_colours(theme: Theme) -> NDArray[np.uint32]:
    """Likewise where a frame says what is wrong: only seen, or masked."""
    table = colours(theme)
    table[list(WRONG)] = table[Kind.SEEN]
    table[Kind.BLIND] = table[Kind.MASKED]
    return table


def draw_row(
    painter: QPainter,
    ruler: SlotRuler,
    kinds: NDArray[np.uint8],
    top: float,
    height: float,
    theme: Theme,
) -> None:
    """A row of [columns shown] kinds; the cells of one kind at once."""
    for kind in distinct(kinds):
        places = np.flatnonzero(kinds == kind) + ruler.first
        cells = [ruler.cell(column, top, height) for column in places.tolist()]
        if kind in (Kind.UNEXPECTED, Kind.EXPECTED):
            _draw_expected(painter, cells, theme, is_seen=kind == Kind.EXPECTED)
        elif kind != Kind.NOT_READ:
            _draw_used(painter, cells, Kind(kind), theme)


def _draw_used(painter: QPainter, cells: list[QRectF], kind: Kind, theme: Theme) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    is_hidden = kind in (Kind.MASKED, Kind.BLIND)
    painter.setBrush(marks.hatching(theme.dead) if is_hidden else theme.live)
    painter.drawRects(cells)
    if kind == Kind.SEEN:
        return
    is_wrong = kind != Kind.MASKED
    px = 2.0 if is_wrong and cells[0].height() > 8 else 1.0
    _frame(painter, cells, QPen(theme.alarm if is_wrong else theme.frame, px))
    if is_wrong:
        for cell in cells:
            marks.glyph(painter, cell, _SIGNS[kind], theme.alarm, theme)


def _draw_expected(painter: QPainter, cells: list[QRectF], theme: Theme, *, is_seen: bool) -> None:
    """Hollow, with a block inside where the row should be seen."""
    _frame(painter, cells, QPen(theme.text, 1))
    if is_seen:
        inset = min(cells[0].width(), cells[0].height()) / 3
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.text)
        painter.drawRects([cell.adjusted(inset, inset, -inset, -inset) for cell in cells])


def _frame(painter: QPainter, cells: list[QRectF], pen: QPen) -> None:
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = pen.widthF() / 2
    painter.drawRects([cell.adjusted(half, half, -half, -half) for cell in cells])
