"""Cells of the cache: one look for each state of a slot."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen

from app.theme import Theme
from app.widgets import marks
from core.readouts.slot_states import SlotState

_LEGEND_LINE_PX = 16
SINK_PX = 3
STATE_NAMES = {
    SlotState.NEVER_WRITTEN: "never written",
    SlotState.LIVE: "live",
    SlotState.SINK: "live, a sink",
    SlotState.NO_TOKEN: "holds a row of no token",
    SlotState.STALE: "stale: used before, not counted now",
    SlotState.LEFT: "left in this step",
    SlotState.NEW: "written in this step",
    SlotState.FOREIGN: "holds the row of another token",
    SlotState.STRAY: "counted, but holding a row of no token",
    SlotState.UNWRITTEN: "counted, never written",
    SlotState.NAN: "holds what is not a number",
}
SHORT_NAMES = {
    SlotState.NEVER_WRITTEN: "never written",
    SlotState.LIVE: "live",
    SlotState.SINK: "sink",
    SlotState.NO_TOKEN: "no token",
    SlotState.STALE: "stale",
    SlotState.LEFT: "left now",
    SlotState.NEW: "new",
    SlotState.FOREIGN: "other token's row",
    SlotState.STRAY: "stray row",
    SlotState.UNWRITTEN: "counted, never written",
    SlotState.NAN: "not a number",
}
OFF_NAME = "row differs"
WRONG = (SlotState.FOREIGN, SlotState.STRAY, SlotState.UNWRITTEN, SlotState.NAN)


def state_colour(state: SlotState, theme: Theme) -> QColor:
    """The colour of a cell that is too small for more."""
    if state in WRONG:
        return theme.alarm
    if state == SlotState.NEW:
        return theme.new
    if state in (SlotState.LIVE, SlotState.SINK, SlotState.NO_TOKEN):
        return theme.live
    return theme.dead if state in (SlotState.STALE, SlotState.LEFT) else theme.paper


def state_colours(theme: Theme) -> NDArray[np.uint32]:
    """[256] the same as 0xffRRGGBB, by the number of the state."""
    table = np.full(256, theme.paper.rgb(), dtype=np.uint32)
    for state in SlotState:
        table[state] = state_colour(state, theme).rgb()
    return table


def draw_cells(
    painter: QPainter, cells: Mapping[SlotState, Sequence[QRectF]], theme: Theme
) -> None:
    """Cells of the cache, those of one state at once: few calls, however many cells."""
    for state, places in cells.items():
        if places:
            _DRAW[state](painter, places, state, theme)


def draw_new(painter: QPainter, places: Sequence[QRectF], theme: Theme) -> None:
    """Cells written in this step; also the ground of one that is wrong beside."""
    _fill(painter, places, theme.new)
    for place in places:
        marks.glyph(painter, place, "+", theme.paper, theme)


def draw_sinks(painter: QPainter, places: Sequence[QRectF], theme: Theme) -> None:
    """The bar on top of a sink."""
    bars = [QRectF(p.left(), p.top(), p.width(), SINK_PX) for p in places]
    _fill(painter, bars, theme.text)


def _fill(painter: QPainter, places: Sequence[QRectF], colour: QBrush | QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRects(list(places))


def _frames(
    painter: QPainter,
    places: Sequence[QRectF],
    colour: QColor,
    px: float = 1.0,
    style: Qt.PenStyle = Qt.PenStyle.SolidLine,
) -> None:
    painter.setPen(QPen(colour, px, style, Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.MiterJoin))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = px / 2
    painter.drawRects([place.adjusted(half, half, -half, -half) for place in places])


def _never_written(
    painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme
) -> None:
    _frames(painter, places, theme.dead, style=Qt.PenStyle.DotLine)


def _live(painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme) -> None:
    _fill(painter, places, theme.live)
    if state == SlotState.SINK:
        draw_sinks(painter, places, theme)
    if state == SlotState.NO_TOKEN:
        _fill(painter, places, marks.hatching(theme.text))


def _stale(painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme) -> None:
    _fill(painter, places, marks.hatching(theme.dead))
    _frames(painter, places, theme.dead)


def _left(painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme) -> None:
    _frames(painter, places, theme.dead)
    for place in places:
        marks.glyph(painter, place, "×", theme.dim, theme)


def _new(painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme) -> None:
    draw_new(painter, places, theme)


def _foreign(painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme) -> None:
    _fill(painter, places, theme.live)
    draw_alarm(painter, places, theme)


def draw_alarm(painter: QPainter, places: Sequence[QRectF], theme: Theme) -> None:
    """The frame and the corner of a row that is not the right one."""
    _frames(painter, places, theme.alarm, 2)
    for place in places:
        marks.corner(painter, place, theme.alarm)


def _unwritten(painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme) -> None:
    if state == SlotState.STRAY:
        _fill(painter, places, marks.hatching(theme.dead))
    _frames(painter, places, theme.alarm, 2, Qt.PenStyle.DotLine)
    for place in places:
        marks.glyph(painter, place, "!", theme.alarm, theme)


def _nan(painter: QPainter, places: Sequence[QRectF], state: SlotState, theme: Theme) -> None:
    _fill(painter, places, theme.alarm)
    for place in places:
        marks.glyph(painter, place, "N", theme.paper, theme)


_DRAW = {
    SlotState.NEVER_WRITTEN: _never_written,
    SlotState.LIVE: _live,
    SlotState.SINK: _live,
    SlotState.NO_TOKEN: _live,
    SlotState.STALE: _stale,
    SlotState.LEFT: _left,
    SlotState.NEW: _new,
    SlotState.FOREIGN: _foreign,
    SlotState.STRAY: _unwritten,
    SlotState.UNWRITTEN: _unwritten,
    SlotState.NAN: _nan,
}


def draw_off(painter: QPainter, places: Sequence[QRectF], theme: Theme) -> None:
    """The corner of a row that is not what the reference computes."""
    for place in places:
        marks.corner(painter, place, theme.alarm, theme.paper)


def draw_legend(
    painter: QPainter,
    place: QRectF,
    states: Iterable[SlotState],
    theme: Theme,
    *,
    has_off: bool = False,
) -> None:
    """What cells mean, as far as there is room; what is wrong first.

    `has_off`: whether there are rows that are not what the reference computes.
    """
    painter.setFont(theme.sans(px=theme.small_px))
    metrics, x, y = painter.fontMetrics(), place.left(), place.top()
    line_px = max(_LEGEND_LINE_PX, metrics.height())
    down_px = line_px - _LEGEND_LINE_PX + 12
    ordered = sorted(states)
    wrong = [state for state in ordered if state in WRONG]
    others = [state for state in ordered if state not in WRONG]
    for state in (*wrong, *((None,) if has_off else ()), *others):
        name = OFF_NAME if state is None else SHORT_NAMES[state]
        width = 28 + painter.fontMetrics().horizontalAdvance(name)
        if x > place.left() and x + width - 10 > place.right():
            x, y = place.left(), y + line_px
        head, _, rest = name.partition(" ")
        is_broken = bool(rest) and x + width - 10 > place.right()
        if y + line_px * (1 + is_broken) > place.bottom():
            return
        cell = QRectF(x, y + (line_px - 12) / 2, 12, 12)
        draw_cells(painter, {SlotState.LIVE if state is None else state: [cell]}, theme)
        if state is None:
            draw_off(painter, [cell], theme)
        painter.setFont(theme.sans(px=theme.small_px))
        painter.setPen(theme.dim)
        painter.drawText(QPointF(x + 17, y + down_px), head if is_broken else name)
        x += width
        if is_broken:
            x, y = place.left(), y + 2 * line_px
            painter.drawText(QPointF(x + 17, y + down_px - line_px), rest)
