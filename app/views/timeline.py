"""The run as a line: error of every step against both thresholds, and the step looked at.

More than 300 lines: each step is a point, a stem, a sign and a number, drawn for all steps at once.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Hit
from app.widgets.data_table import TableData
from app.widgets.error_plot import ErrorPlot
from app.widgets.narrow_timeline import draw_curve, draw_strip, timeline_numbers
from app.widgets.panel import CanvasPanel
from app.widgets.step_arrays import StepArrays
from app.widgets.step_canvas import StepCanvas
from app.widgets.step_ruler import StepRuler
from app.widgets.timeline_words import TABLE_COLUMNS, tip_of
from core.readouts.timeline import TimelinePoint, TimelineReadout

BLANK = "every step appears here, with its distance from the right logits"
_TOP_PX = 5
_NUMBERS_FROM_HEIGHT, _PHASES_FROM_HEIGHT = 70, 92
_LIMIT_NAMES_FROM_PX = 28
_NARROW_PX = 3
_GLYPH_PX = 14
_LOWEST_PX = 5
"""A number of the scale stands at least so far above its lower end."""
_BLANK_SHARE = 0.2
"""Of the height of a line, above its digits."""
Numbers = NDArray[np.float64]
"""[steps, 4] as `timeline_numbers` has them."""


class TimelineView(CanvasPanel):
    """Shows a `TimelineReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _TimelineCanvas(theme))


class _TimelineCanvas(StepCanvas):
    moves_cells = False  # arrows stay the window's: they go along the steps from everywhere

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Timeline", theme.px(40), theme.px(118))
        self.readout: TimelineReadout | None = None
        self._numbers = StepArrays[TimelinePoint](timeline_numbers)
        self._known_plot: tuple[Sequence[TimelinePoint], QSize, ErrorPlot] | None = None

    def steps(self) -> Sequence[TimelinePoint]:
        return () if self.readout is None else self.readout.points

    # Where rows stand, from the top: phases, the plot, verdicts, numbers.

    def _has_phases(self) -> bool:
        return self.height() >= self.theme.px(_PHASES_FROM_HEIGHT)

    def _has_numbers(self) -> bool:
        return self.height() >= self.theme.px(_NUMBERS_FROM_HEIGHT)

    def _plot(self) -> ErrorPlot:
        """Where errors stand: the same until the run or the canvas grows."""
        steps, size = self.steps(), self.size()
        known = self._known_plot
        if known is None or known[0] is not steps or known[1] != size:
            self._known_plot = known = (steps, size, self._new_plot())
        return known[2]

    def _new_plot(self) -> ErrorPlot:
        ruler, line = self.ruler(), self.line_px
        top = _TOP_PX + (line + 3 if self._has_phases() else 0)
        below = line * (2 if self._has_numbers() else 1) + 4
        height = max(8.0, self.height() - top - below)
        place = QRectF(ruler.gutter_px, top, ruler.room_px, height)
        logs = self._numbers.of(self.steps())[:, 1:]
        known = logs[:, 2][np.isfinite(logs[:, 2])]
        limit = float(known[-1]) if known.size else math.nan
        return ErrorPlot(place, ruler, logs, limit_log=limit, above_px=float(line))

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        plot = self._plot()
        if self._has_phases():
            self._draw_phases(painter, readout, plot.ruler)
        if plot.ruler.step_px < _NARROW_PX:
            draw_curve(painter, self.theme, plot, self._numbers.of(readout.points))
        else:
            numbers = self._numbers.of(readout.points)
            self._draw_limits(painter, readout, plot, numbers)
            self._draw_points(painter, readout, plot, numbers)
        self._draw_limit_names(painter, readout, plot)
        self._draw_strip(painter, readout, plot)
        self._draw_axis(painter, plot)
        if self._has_numbers():
            self.draw_numbers(painter, self._numbers_top(plot))

    def _draw_phases(self, painter: QPainter, readout: TimelineReadout, ruler: StepRuler) -> None:
        """A line over the steps of one phase after the other, with its name where it fits."""
        theme, line = self.theme, self.line_px
        marks.gutter_name(painter, theme, _TOP_PX - 1, line, ruler.gutter_px, "phase")
        painter.setFont(theme.sans(px=theme.small_px - 1))
        for phase, group in groupby(readout.points, key=lambda point: point.phase):
            points = list(group)
            left, right = ruler.left(points[0].step), ruler.left(points[-1].step + 1)
            place = QRectF(left, _TOP_PX - 1, right - left - 1, line)
            if place.width() < 2:
                continue
            painter.fillRect(QRectF(left, place.bottom() - 2, place.width(), 1), theme.dead)
            words = phase.replace("_", " ")
            if painter.fontMetrics().horizontalAdvance(words) <= place.width():
                marks.label(painter, place.adjusted(0, 0, 0, -3), words, theme.dim)

    def _draw_limits(
        self, painter: QPainter, readout: TimelineReadout, plot: ErrorPlot, numbers: Numbers
    ) -> None:
        """Up to the lower line right, above the upper one wrong; in between rounding."""
        theme, ruler = self.theme, plot.ruler
        for values, logs, style in (
            ([point.band for point in readout.points], numbers[:, 2], Qt.PenStyle.DashLine),
            ([point.wrong_above for point in readout.points], numbers[:, 3], Qt.PenStyle.SolidLine),
        ):
            ys = plot.ys_of_logs(logs).tolist()
            ends = [i for i in range(1, len(values)) if values[i] != values[i - 1]]
            painter.setPen(QPen(theme.dead, 1, style))
            painter.drawLines(
                [
                    QLineF(ruler.left(first), ys[first], ruler.left(end), ys[first])
                    for first, end in pairwise((0, *ends, len(values)))
                    if values[first] is not None
                ]
            )

    def _draw_limit_names(
        self, painter: QPainter, readout: TimelineReadout, plot: ErrorPlot
    ) -> None:
        """Beside the newest step that has limits."""
        newest = next((p for p in reversed(readout.points) if p.band is not None), None)
        if newest is None or plot.place.height() < _LIMIT_NAMES_FROM_PX:
            return
        right, wrong = plot.y(newest.band or 0.0), plot.y(newest.wrong_above or 0.0)
        theme, line = self.theme, self.line_px
        painter.setFont(theme.sans(px=theme.small_px - 1))
        left, place = plot.ruler.end + 8, plot.place
        upper = min(max(wrong, place.top() + line), place.bottom() - line)
        lower = max(right, upper)
        for text, top in (("wrong above", upper - line), ("right below", lower)):
            box = QRectF(left, top, self.width() - left - 2, line)
            marks.label(painter, box, text, theme.dim, Qt.AlignmentFlag.AlignLeft)

    def _draw_points(
        self, painter: QPainter, readout: TimelineReadout, plot: ErrorPlot, numbers: Numbers
    ) -> None:
        """The errors of all steps: most are a stem and a head, drawn at once."""
        place, ruler = plot.place, plot.ruler
        size, bottom = min(5.0, max(2.0, ruler.step_px - 1)), place.bottom()
        parts: dict[bool, list[QRectF]] = {False: [], True: []}
        for point, y in zip(readout.points, plot.ys_of_logs(numbers[:, 1]).tolist(), strict=True):
            if point.logits is None or not point.is_finite or point.max_abs_error is None:
                self._draw_other(painter, plot, point)
                continue
            x = ruler.middle(point.step)
            stem = QRectF(x - 0.5, y, 1, bottom - y)
            head = QRectF(x - size / 2, y - size / 2, size, size)
            parts[point.logits == "wrong"] += (stem, head)
        painter.setPen(Qt.PenStyle.NoPen)
        for is_wrong, rects in parts.items():
            painter.setBrush(self.theme.alarm if is_wrong else self.theme.new)
            painter.drawRects(rects)

    def _draw_other(self, painter: QPainter, plot: ErrorPlot, point: TimelinePoint) -> None:
        """A step that has no error: not judged yet, nothing read, or logits that are no numbers."""
        theme, place, ruler = self.theme, plot.place, plot.ruler
        x, top = ruler.middle(point.step), place.top()
        if point.is_pending:
            box = QRectF(ruler.left(point.step), top, ruler.step_px, place.height())
            marks.hatch(painter, box, theme.frame)
        elif point.logits is None:
            if point.is_refused:
                self._draw_refusal(painter, x, place, point)
        else:
            stem = QRectF(x - 0.5, top + _GLYPH_PX, 1, place.height() - _GLYPH_PX)
            painter.fillRect(stem, theme.alarm if point.logits == "wrong" else theme.new)
            sign = QRectF(x - _GLYPH_PX / 2, top, _GLYPH_PX, _GLYPH_PX)
            marks.glyph(painter, sign, "N", theme.alarm, theme)

    def _draw_refusal(
        self, painter: QPainter, x: float, place: QRectF, point: TimelinePoint
    ) -> None:
        """Nothing was read: a ring with a bar, in alarm where it should have been read."""
        colour = self.theme.alarm if point.is_wrong else self.theme.dim
        painter.setPen(QPen(colour, 1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = min(5.0, place.height() / 4)
        at = QPointF(x, place.bottom() - radius - 3)
        painter.drawEllipse(at, radius, radius)
        reach = radius * 0.7
        painter.drawLine(at + QPointF(-reach, reach), at + QPointF(reach, -reach))

    def _draw_strip(self, painter: QPainter, readout: TimelineReadout, plot: ErrorPlot) -> None:
        """A sign per step: right, rounding, wrong, pending; where narrow, a mark for the worst."""
        theme, top, line = self.theme, plot.place.bottom() + 2, self.line_px
        marks.gutter_name(painter, theme, top, line, plot.ruler.gutter_px, "verdict")
        if plot.ruler.step_px >= marks.GLYPH_PX:
            painter.setFont(theme.sans(px=theme.small_px, is_bold=True))
            for point in readout.points:
                sign, colour = _sign(point, theme)
                cell = QRectF(plot.ruler.left(point.step), top, plot.ruler.step_px, line)
                marks.label(painter, cell, sign, colour)
        else:
            place = QRectF(plot.place.left(), top, plot.place.width(), line)
            draw_strip(painter, theme, plot.ruler, self._numbers.of(readout.points), place)
        if readout.first_wrong is not None:
            width = max(plot.ruler.step_px, 6.0)
            left = plot.ruler.middle(readout.first_wrong) - width / 2
            marks.outline(painter, QRectF(left + 1, top, width - 2, line), theme.alarm)

    def _draw_axis(self, painter: QPainter, plot: ErrorPlot) -> None:
        theme, gutter = self.theme, plot.ruler.gutter_px
        base = QRectF(gutter, plot.place.bottom(), plot.ruler.end - gutter, 1)
        painter.fillRect(base, theme.frame)
        line = self.line_px
        if plot.place.height() < 2 * line:
            marks.gutter_name(painter, theme, plot.place.top(), line, gutter, "error")
            return
        painter.setFont(theme.mono(px=theme.small_px - 1))
        for exponent, y in plot.ticks(line + _LOWEST_PX):
            top = min(y, plot.place.bottom() - _LOWEST_PX) - line / 2
            if top < -_BLANK_SHARE * line:
                continue
            place = QRectF(theme.margin_px, top, gutter - theme.margin_px - 6, line)
            marks.label(painter, place, _power(exponent), theme.dim, Qt.AlignmentFlag.AlignRight)

    def _numbers_top(self, plot: ErrorPlot) -> float:
        return plot.place.bottom() + self.line_px + 2

    def draw_over(self, painter: QPainter) -> None:
        """The play head, with the number of its step."""
        super().draw_over(painter)
        if self.readout is None or not self._has_numbers():
            return
        theme, plot = self.theme, self._plot()
        painter.setFont(theme.mono(px=theme.small_px - 1, is_bold=True))
        words = str(self.readout.current)
        width = painter.fontMetrics().horizontalAdvance(words) + 8
        left = plot.ruler.middle(self.readout.current) - width / 2
        place = QRectF(left, self._numbers_top(plot), width, self.line_px)
        painter.fillRect(place, theme.new)
        marks.label(painter, place, words, theme.paper)

    # Mouse, keys, table

    def hit(self, at: QPointF) -> Hit | None:
        readout = self.readout
        steps = self.ruler().steps_at(at.x())
        if readout is None or not steps:
            return None
        step = max(steps, key=lambda n: timeline_numbers(readout.points[n])[0])
        tip = "\n".join(tip_of(readout.points[step], readout.capacity))
        return Hit(tip, replace(readout.selection, step=step))

    def move_by(self, rows: int, columns: int) -> None:
        """Where no window has the arrows, they go along the steps here too."""
        readout = self.readout
        if readout is None or not columns:
            return
        step = min(max(0, readout.current + columns), len(readout.points) - 1)
        if step != readout.current:
            self.picked.emit(replace(readout.selection, step=step))

    def table(self) -> TableData:
        points = self.steps()
        return TableData(
            "Timeline",
            tuple(TABLE_COLUMNS),
            tuple(f"step {point.step}" for point in points),
            lambda row, column: [*TABLE_COLUMNS.values()][column](points[row]),
        )


def _power(exponent: int) -> str:
    return f"{10**exponent:g}" if 0 <= exponent <= 3 else f"1e{exponent}"


def _sign(point: TimelinePoint, theme: Theme) -> tuple[str, QColor]:
    if point.is_pending:
        return "…", theme.dim
    if point.is_wrong:
        return "✕", theme.alarm
    if not point.is_judged:
        return "–", theme.dim
    return ("≈", theme.new) if point.logits == "rounding" else ("✓", theme.dim)
