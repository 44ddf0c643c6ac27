"""The run as a line: error of every step against both thresholds, and the step looked at."""

import math
from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Canvas, Hit
from app.widgets.panel import CanvasPanel
from app.widgets.slot_ruler import GUTTER_PX
from core.readouts.timeline import TimelinePoint, TimelineReadout

STRIP_PX, NUMBERS_PX, TOP_PX = 14, 13, 6
BLANK = "every step appears here, with its distance from the right logits"
_WIDEST_PX = 36.0
_RIGHT_PX = 92
_NUMBERS_FROM_HEIGHT = 70
_THRESHOLD_NAMES_FROM_PX = 32
_LOWEST_ERROR = 1e-16


class TimelineView(CanvasPanel):
    """Shows a `TimelineReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _TimelineCanvas(theme))


class _TimelineCanvas(Canvas):
    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Timeline", 44, 110)
        self._readout: TimelineReadout | None = None

    def show_readout(self, readout: TimelineReadout | None) -> None:
        self._readout = readout
        self.update()

    def draw(self, painter: QPainter) -> None:
        readout = self._readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        plot = _Plot(readout, QRectF(GUTTER_PX, TOP_PX, self._plot_width(), self._plot_height()))
        self._draw_play_head(painter, readout, plot)
        self._draw_thresholds(painter, readout, plot)
        for point in readout.points:
            self._draw_point(painter, plot, point)
        self._draw_strip(painter, readout, plot)
        self._draw_axis(painter, plot)
        if self.height() >= _NUMBERS_FROM_HEIGHT:
            self._draw_numbers(painter, readout, plot)

    def hit(self, at: QPointF) -> Hit | None:
        readout = self._readout
        if readout is None:
            return None
        plot = _Plot(readout, QRectF(GUTTER_PX, TOP_PX, self._plot_width(), self._plot_height()))
        step = int((at.x() - GUTTER_PX) // plot.step_px)
        if at.x() < GUTTER_PX or step >= len(readout.points):
            return None
        point = readout.points[step]
        return Hit("\n".join(_tip(point, readout.capacity)), replace(readout.selection, step=step))

    def _plot_width(self) -> float:
        return max(1.0, self.width() - GUTTER_PX - _RIGHT_PX)

    def _plot_height(self) -> float:
        numbers = NUMBERS_PX if self.height() >= _NUMBERS_FROM_HEIGHT else 0
        return max(8.0, self.height() - TOP_PX - STRIP_PX - numbers - 4)

    def _draw_play_head(self, painter: QPainter, readout: TimelineReadout, plot: "_Plot") -> None:
        x = plot.x(readout.current)
        width = max(3.0, plot.step_px)
        band = QRectF(x - width / 2, 0, width, self.height())
        painter.fillRect(band, self.theme.raised)
        painter.fillRect(QRectF(x - width / 2, 0, width, 3), self.theme.new)

    def _draw_thresholds(self, painter: QPainter, readout: TimelineReadout, plot: "_Plot") -> None:
        """Up to the lower line right, above the upper one wrong; in between rounding."""
        theme = self.theme
        last: dict[str, float] = {}
        for point in readout.points:
            for name, value in (("right", point.band), ("wrong", point.wrong_above)):
                if value is not None:
                    style = Qt.PenStyle.SolidLine if name == "wrong" else Qt.PenStyle.DashLine
                    painter.setPen(QPen(theme.dead, 1, style))
                    half = plot.step_px / 2
                    x, y = plot.x(point.step), plot.y(value)
                    painter.drawLine(QPointF(x - half, y), QPointF(x + half, y))
                    last[name] = y
        if "wrong" not in last or plot.place.height() < _THRESHOLD_NAMES_FROM_PX:
            return
        painter.setFont(theme.sans(px=theme.small_px))
        right = plot.place.left() + len(readout.points) * plot.step_px + 6
        upper = min(max(last["wrong"], plot.place.top() + 8), plot.place.bottom() - 18)
        for text, y in (("wrong above", upper - 7), ("right below", max(last["right"], upper) + 7)):
            place = QRectF(right, y - 7, self.width() - right - 2, 14)
            if y + 7 <= plot.place.bottom():
                marks.label(painter, place, text, theme.dim, Qt.AlignmentFlag.AlignLeft)

    def _draw_point(self, painter: QPainter, plot: "_Plot", point: TimelinePoint) -> None:
        theme, x = self.theme, plot.x(point.step)
        if point.logits is None:
            return
        y = plot.place.top() if point.max_abs_error is None else plot.y(point.max_abs_error)
        colour = theme.alarm if point.logits == "wrong" else theme.new
        painter.setPen(QPen(colour, 1))
        painter.drawLine(QPointF(x, plot.place.bottom()), QPointF(x, y))
        size = min(5.0, max(2.0, plot.step_px - 1))
        box = QRectF(x - size / 2, y - size / 2, size, size)
        if point.is_finite:
            painter.fillRect(box, colour)
        else:
            marks.glyph(painter, QRectF(x - 7, y, 14, 14), "N", theme.alarm, theme)

    def _draw_strip(self, painter: QPainter, readout: TimelineReadout, plot: "_Plot") -> None:
        """A sign per step: right, rounding, wrong, pending."""
        theme, top = self.theme, plot.place.bottom() + 2
        marks.gutter_name(painter, theme, top, STRIP_PX, GUTTER_PX, "verdict")
        if plot.step_px < marks.GLYPH_PX:
            self._draw_narrow_strip(painter, readout, plot, top)
            return
        for point in readout.points:
            cell = QRectF(plot.x(point.step) - plot.step_px / 2, top, plot.step_px, STRIP_PX)
            sign, colour = _sign(point, theme)
            painter.setFont(theme.sans(px=theme.small_px, is_bold=True))
            painter.setPen(colour)
            painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, sign)
            if point.step == readout.first_wrong:
                marks.outline(painter, cell.adjusted(1, 0, -1, 0), theme.alarm)

    def _draw_narrow_strip(
        self, painter: QPainter, readout: TimelineReadout, plot: "_Plot", top: float
    ) -> None:
        """No room for signs: a tall mark where a step is wrong, a low one where it is not."""
        for point in readout.points:
            _, colour = _sign(point, self.theme)
            height = STRIP_PX - 3 if point.is_wrong else 3
            left = plot.x(point.step) - plot.step_px / 2
            cell = QRectF(left, top + STRIP_PX - height, max(1.0, plot.step_px), height)
            painter.fillRect(cell, colour)

    def _draw_axis(self, painter: QPainter, plot: "_Plot") -> None:
        theme = self.theme
        painter.setPen(QPen(theme.frame, 1))
        painter.drawLine(plot.place.bottomLeft(), plot.place.bottomRight())
        if plot.place.height() < 26:
            marks.gutter_name(painter, theme, plot.place.top(), 14, GUTTER_PX, "error")
            return
        painter.setFont(theme.mono(px=theme.small_px - 1))
        for exponent, y in plot.ticks():
            top = min(y, plot.place.bottom() - 5) - 7
            place = QRectF(theme.margin_px, top, GUTTER_PX - theme.margin_px - 6, 14)
            marks.label(painter, place, _power(exponent), theme.dim, Qt.AlignmentFlag.AlignRight)

    def _draw_numbers(self, painter: QPainter, readout: TimelineReadout, plot: "_Plot") -> None:
        theme, top = self.theme, plot.place.bottom() + STRIP_PX + 2
        marks.gutter_name(painter, theme, top, NUMBERS_PX, GUTTER_PX, "step")
        painter.setFont(theme.mono(px=theme.small_px - 1))
        room = painter.fontMetrics().horizontalAdvance(str(readout.points[-1].step)) + 6
        every = next(e for e in _intervals() if e * plot.step_px >= room)
        for step in range(0, len(readout.points), every):
            place = QRectF(plot.x(step) - room, top, 2 * room, NUMBERS_PX)
            is_current = step == readout.current
            marks.label(painter, place, str(step), theme.text if is_current else theme.dim)


class _Plot:
    """Where steps and errors stand."""

    def __init__(self, readout: TimelineReadout, place: QRectF) -> None:
        self.place = place
        self.step_px = min(_WIDEST_PX, place.width() / len(readout.points))
        values = [v for p in readout.points for v in (p.max_abs_error, p.band, p.wrong_above) if v]
        low = min((math.log10(max(v, _LOWEST_ERROR)) for v in values), default=-6.0)
        high = max((math.log10(max(v, _LOWEST_ERROR)) for v in values), default=0.0)
        self._low, self._high = math.floor(low), math.ceil(max(high, low + 1))

    def x(self, step: int) -> float:
        """Middle of a step."""
        return self.place.left() + (step + 0.5) * self.step_px

    def y(self, error: float) -> float:
        """Height of an error on a logarithmic scale; an exact zero stands at the bottom."""
        if error <= _LOWEST_ERROR:
            return self.place.bottom()
        share = (math.log10(error) - self._low) / (self._high - self._low)
        return self.place.bottom() - min(1.0, max(0.0, share)) * self.place.height()

    def ticks(self) -> Iterator[tuple[int, float]]:
        """Powers of ten that have room, with their heights."""
        n = self._high - self._low
        every = max(1, math.ceil(n * 15 / self.place.height()))
        for exponent in range(self._low, self._high + 1, every):
            yield exponent, self.y(10.0**exponent)


def _intervals() -> Iterator[int]:
    scale = 1
    while True:
        for factor in (1, 2, 5):
            yield factor * scale
        scale *= 10


def _power(exponent: int) -> str:
    return f"{10**exponent:g}" if 0 <= exponent <= 3 else f"1e{exponent}"


def _sign(point: TimelinePoint, theme: Theme) -> tuple[str, QColor]:
    if point.is_pending:
        return "…", theme.dim
    if point.is_wrong:
        return "✕", theme.alarm
    return ("≈", theme.new) if point.logits == "rounding" else ("✓", theme.dim)


def _tip(point: TimelinePoint, capacity: int) -> Iterator[str]:
    yield f"step {point.step} · {point.phase.replace('_', ' ')} · {point.outcome}"
    yield f"cache length {point.length} of {capacity}"
    if point.is_pending:
        yield "verdict pending"
        return
    yield f"policy {point.policy} · mechanism {point.mechanism}"
    if point.logits is not None:
        yield f"logits {point.logits}"
        yield f"largest error {point.max_abs_error!r}" if point.is_finite else "not finite"
        yield f"right up to {point.band!r}, wrong above {point.wrong_above!r}"
    if point.difference is not None:
        yield f"first difference: {point.difference}"
