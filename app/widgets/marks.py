"""Cells, glyphs and hatches, each with one meaning in all views."""

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen, QPolygonF

from app.theme import Theme
from app.widgets.letters import letters, shortened

GLYPH_PX = 10
FRAME_PX = 6
_HATCH_ALPHA = 150
_MOST_CELLS = 1000
_PATTERN_PX, _TILE_PATTERNS = 8, 8
"""The patterns of Qt repeat after so many device pixels."""
_SLICE_PX = 64
"""Device pixels. Qt (6.11) hands what is 96 high or more, and no plain fill, to other threads: to
wake them and to wait for them takes far longer than to fill it."""


def fill(painter: QPainter, cell: QRectF, colour: QColor) -> None:
    """A plain cell."""
    painter.fillRect(cell, colour)


def outline(
    painter: QPainter,
    cell: QRectF,
    colour: QColor,
    *,
    px: float = 1.0,
    style: Qt.PenStyle = Qt.PenStyle.SolidLine,
) -> None:
    """A frame inside the cell's edge."""
    painter.setPen(frame_pen(colour.rgba(), px, style))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = px / 2
    painter.drawRect(cell.adjusted(half, half, -half, -half))


@lru_cache(256)
def frame_pen(rgba: int, px: float, style: Qt.PenStyle) -> QPen:
    """The pen of a frame with sharp corners; whoever changes it changes a copy."""
    colour = QColor.fromRgba(rgba)
    return QPen(colour, px, style, Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.MiterJoin)


def hatching(colour: QColor) -> QBrush:
    """Slanted lines, half see-through."""
    return _hatching(colour.rgb())


@lru_cache(64)
def _hatching(rgb: int) -> QBrush:
    faint = QColor(rgb)
    faint.setAlpha(_HATCH_ALPHA)
    return QBrush(faint, Qt.BrushStyle.BDiagPattern)


def hatch(painter: QPainter, cell: QRectF, colour: QColor) -> None:
    """Slanted lines over a cell."""
    painter.fillRect(cell, hatching(colour))


def hatch_all(painter: QPainter, cells: list[QRectF], ground: QColor, colour: QColor) -> None:
    """Cells of a ground with slanted lines; none where they are too many to be told apart."""
    _fill_all(painter, cells, ground, hatching(colour))


def dot_all(painter: QPainter, cells: list[QRectF], ground: QColor, colour: QColor) -> None:
    """Likewise with dots."""
    _fill_all(painter, cells, ground, QBrush(colour, Qt.BrushStyle.Dense7Pattern))


def _fill_all(painter: QPainter, cells: list[QRectF], ground: QColor, brush: QBrush) -> None:
    if cells and len(cells) <= _MOST_CELLS:
        scale = painter.device().devicePixelRatioF()
        painter.save()  # Qt (6.11) puts letters in the wrong place after a picture as brush
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(_tile(ground.rgb(), brush.color().rgba(), brush.style(), scale))
        painter.drawRects([part for cell in cells for part in slices(cell, scale)])
        painter.restore()


@lru_cache(64)
def _tile(ground: int, rgba: int, style: Qt.BrushStyle, scale: float) -> QBrush:
    """A pattern on its ground as a picture: Qt fills with that several times as fast."""
    side = _PATTERN_PX * round(_TILE_PATTERNS * scale)
    tile = QImage(side, side, QImage.Format.Format_RGB32)
    tile.fill(ground)
    painter = QPainter(tile)
    painter.fillRect(tile.rect(), QBrush(QColor.fromRgba(rgba), style))
    painter.end()
    tile.setDevicePixelRatio(scale)
    return QBrush(tile)


def slices(place: QRectF, scale: float) -> list[QRectF]:
    """A place cut into low ones, at whole pixels: together they are filled sooner than it is."""
    each = max(1.0, _SLICE_PX // scale)
    if place.height() <= each:
        return [place]
    n_whole = int((place.height() - 1) // each)
    left, top, width = place.left(), place.top(), place.width()
    cut = [QRectF(left, top + n * each, width, each) for n in range(n_whole)]
    rest = QRectF(left, top + n_whole * each, width, place.height() - n_whole * each)
    return [*cut, rest]


def shade(painter: QPainter, place: QRectF, colour: QColor) -> None:
    """Fill in a colour that lets through, or is mixed with, what is there."""
    for part in slices(place, painter.device().devicePixelRatioF()):
        painter.fillRect(part, colour)


def glyph(painter: QPainter, cell: QRectF, sign: str, colour: QColor, theme: Theme) -> None:
    """A sign in the middle of a cell, where there is room for it."""
    if min(cell.width(), cell.height()) < GLYPH_PX:
        return
    px = int(min(theme.mono_px, cell.height() - 1, cell.width() + 2))
    painter.setFont(theme.mono(px=px, is_bold=True))
    painter.setPen(colour)
    painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, sign)


def corner(painter: QPainter, cell: QRectF, colour: QColor, halo: QColor | None = None) -> None:
    """A triangle in the upper right corner, with a rim that sets it off any ground."""
    size = min(8.0, cell.width() / 2, cell.height() / 2)
    right, top = cell.right(), cell.top()
    painter.setPen(Qt.PenStyle.NoPen if halo is None else QPen(halo, 1))
    painter.setBrush(colour)
    painter.drawPolygon(
        QPolygonF([QPointF(right - size, top), QPointF(right, top), QPointF(right, top + size)])
    )


def chosen(painter: QPainter, cell: QRectF, theme: Theme) -> None:
    """The frame of what is selected: two pixels with a halo of paper."""
    outline(painter, cell.adjusted(-2, -2, 2, 2), theme.paper, px=4)
    outline(painter, cell.adjusted(-1, -1, 1, 1), theme.new, px=2)


def label(
    painter: QPainter,
    place: QRectF,
    text: str,
    colour: QColor,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignCenter,
) -> None:
    """Text in the painter's font, shortened where it does not fit."""
    font = painter.font()
    shown = letters(text, font)
    left, top, width, height = place.left(), place.top(), place.width(), place.height()
    if shown.width > width:
        shown = letters(shortened(text, font, int(width)), font)
    if align != Qt.AlignmentFlag.AlignLeft:
        free = width - shown.width
        left += free if align == Qt.AlignmentFlag.AlignRight else free / 2
    painter.setPen(colour)
    painter.drawStaticText(QPointF(left, top + (height - shown.height) / 2), shown.layout)


def gutter_name(
    painter: QPainter, theme: Theme, top: float, height: float, width: float, text: str
) -> None:
    """The name of a row, right-aligned at the left edge."""
    painter.setFont(theme.sans(px=theme.small_px))
    place = QRectF(theme.margin_px, top, width - theme.margin_px - 6, height)
    label(painter, place, text, theme.dim, Qt.AlignmentFlag.AlignRight)
