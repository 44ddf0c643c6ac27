"""Cells of the cache: one look for each state of a slot."""

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from app.theme import Theme
from app.widgets import marks
from core.readouts.slot_states import SlotState

_LEGEND_LINE_PX = 16
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
    SlotState.UNWRITTEN: "counted, but never written",
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
    SlotState.UNWRITTEN: "counted, unwritten",
}


def state_colour(state: SlotState, theme: Theme) -> QColor:
    """The colour of a cell that is too small for more."""
    if state in (SlotState.FOREIGN, SlotState.STRAY, SlotState.UNWRITTEN):
        return theme.alarm
    if state == SlotState.NEW:
        return theme.new
    if state in (SlotState.LIVE, SlotState.SINK, SlotState.NO_TOKEN):
        return theme.live
    return theme.dead if state in (SlotState.STALE, SlotState.LEFT) else theme.paper


def draw_state(
    painter: QPainter, cell: QRectF, state: SlotState, theme: Theme, *, is_new: bool = False
) -> None:
    """A cell of the cache."""
    match state:
        case SlotState.NEVER_WRITTEN:
            marks.outline(painter, cell, theme.dead, style=Qt.PenStyle.DotLine)
        case SlotState.LIVE | SlotState.SINK:
            marks.fill(painter, cell, theme.live)
            if state == SlotState.SINK:
                painter.fillRect(QRectF(cell.left(), cell.top(), cell.width(), 3), theme.text)
        case SlotState.NO_TOKEN:
            marks.fill(painter, cell, theme.live)
            marks.hatch(painter, cell, theme.text)
        case SlotState.STALE:
            marks.hatch(painter, cell, theme.dead)
            marks.outline(painter, cell, theme.dead)
        case SlotState.LEFT:
            marks.outline(painter, cell, theme.dead)
            marks.glyph(painter, cell, "×", theme.dim, theme)
        case SlotState.NEW:
            marks.fill(painter, cell, theme.new)
            marks.glyph(painter, cell, "+", theme.paper, theme)
        case _:
            _draw_wrong_state(painter, cell, state, theme, is_new=is_new)


def _draw_wrong_state(
    painter: QPainter, cell: QRectF, state: SlotState, theme: Theme, *, is_new: bool
) -> None:
    if state == SlotState.FOREIGN:
        marks.fill(painter, cell, theme.new if is_new else theme.live)
        if is_new:
            marks.glyph(painter, cell, "+", theme.paper, theme)
        marks.outline(painter, cell, theme.alarm, px=2)
        marks.corner(painter, cell, theme.alarm)
        return
    if state == SlotState.STRAY:
        marks.hatch(painter, cell, theme.dead)
    marks.outline(painter, cell, theme.alarm, px=2, style=Qt.PenStyle.DotLine)
    marks.glyph(painter, cell, "!", theme.alarm, theme)


def draw_legend(
    painter: QPainter, place: QRectF, states: Iterable[SlotState], theme: Theme
) -> None:
    """What cells mean, as far as there is room."""
    painter.setFont(theme.sans(px=theme.small_px))
    x, y = place.left(), place.top()
    for state in sorted(states):
        name = SHORT_NAMES[state]
        width = 28 + painter.fontMetrics().horizontalAdvance(name)
        if x > place.left() and x + width - 10 > place.right():
            x, y = place.left(), y + _LEGEND_LINE_PX
        if y + _LEGEND_LINE_PX > place.bottom():
            return
        draw_state(painter, QRectF(x, y + 2, 12, 12), state, theme)
        painter.setFont(theme.sans(px=theme.small_px))
        painter.setPen(theme.dim)
        painter.drawText(QPointF(x + 17, y + 12), name)
        x += width
