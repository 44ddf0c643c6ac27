"""The timeline of a long run: several steps in a pixel, and the worst of them is drawn."""

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from app.theme import Theme
from app.widgets import marks
from app.widgets.error_plot import ErrorPlot, log_of
from app.widgets.step_arrays import runs_of, worst
from app.widgets.step_ruler import StepRuler
from core.readouts.timeline import TimelinePoint

_LOGITS_WRONG, _WRONG, _PENDING, _REFUSED, _ROUNDING, _RIGHT, _UNJUDGED = 6, 5, 4, 3, 2, 1, 0
_RANK_STEP = 1000.0
"""Room for the logarithm of an error below the next rank."""
_DASH_PX = 4


def timeline_numbers(point: TimelinePoint) -> tuple[float, float, float, float]:
    """A key by which the worst of several steps is found; logarithms of error, band, threshold.

    The key is a rank and, below it, the logarithm of the error, 0 where there are no logits.
    """
    log = log_of(point.max_abs_error)
    size = 0.0
    if point.logits is not None:
        size = _RANK_STEP / 2 + (_RANK_STEP / 2 - 1 if math.isnan(log) else log)
    key = _rank(point) * _RANK_STEP + size
    return key, log, log_of(point.band), log_of(point.wrong_above)


def draw_curve(
    painter: QPainter, theme: Theme, plot: ErrorPlot, numbers: NDArray[np.float64]
) -> None:
    """Errors and thresholds as curves: stems this close to one another would be a wall."""
    _, width, starts = plot.ruler.pools()
    place = plot.place
    ranks, logs = np.divmod(worst(numbers[:, :1], starts)[:, 0], _RANK_STEP)
    limits = np.fmax.reduceat(numbers[:, 2:], starts, axis=0)
    columns = np.arange(len(starts))
    pixels = np.zeros((int(place.height()) + 2, len(starts)), np.uint32)
    is_dash = columns * width // _DASH_PX % 2 == 1
    _set(pixels, plot, columns[is_dash], limits[is_dash, 0], theme.dead)
    _set(pixels, plot, columns, limits[:, 1], theme.dead)
    for is_shown, colour in (
        ((logs > 0) & (ranks < _LOGITS_WRONG), theme.new),
        ((logs > 0) & (ranks == _LOGITS_WRONG), theme.alarm),
    ):
        sizes = logs[is_shown] - _RANK_STEP / 2
        _set(pixels, plot, columns[is_shown], sizes, colour)
        _set(pixels, plot, columns[is_shown], sizes, colour, below=1)
    _paint(painter, pixels, place.left(), place.top(), width)
    for first, last in runs_of(numbers[:, 0] // _RANK_STEP == _PENDING):
        left, right = plot.ruler.left(first), plot.ruler.left(last)
        box = QRectF(left, place.top(), max(2.0, right - left), place.height())
        marks.hatch(painter, box, theme.frame)


def draw_strip(
    painter: QPainter,
    theme: Theme,
    ruler: StepRuler,
    numbers: NDArray[np.float64],
    place: QRectF,
) -> None:
    """A tall mark where a step is wrong, a low one where it is right, none where that is open."""
    _, width, starts = ruler.pools()
    ranks = worst(numbers[:, :1], starts)[:, 0] // _RANK_STEP
    pixels = np.zeros((int(place.height()), len(starts)), np.uint32)
    pixels[3:, ranks >= _WRONG] = theme.alarm.rgba()
    pixels[-3:, (ranks < _PENDING) & (ranks > _UNJUDGED)] = theme.dead.rgba()
    _paint(painter, pixels, place.left(), place.top(), width)


def _set(
    pixels: NDArray[np.uint32],
    plot: ErrorPlot,
    columns: NDArray[np.int64],
    logs: NDArray[np.float64],
    colour: QColor,
    *,
    below: int = 0,
) -> None:
    """Colour one pixel of each column, at the height of an error; NaN: none."""
    is_known = ~np.isnan(logs)
    heights = plot.ys_of_logs(logs[is_known]) - plot.place.top() + below
    pixels[heights.astype(np.int64), columns[is_known]] = colour.rgba()


def _paint(
    painter: QPainter, pixels: NDArray[np.uint32], left: float, top: float, width: float
) -> None:
    """Columns of pixels, each so wide."""
    height, n_columns = pixels.shape
    image = QImage(pixels.data, n_columns, height, QImage.Format.Format_ARGB32)
    painter.drawImage(QRectF(left, top, n_columns * width, height), image)


def _rank(point: TimelinePoint) -> int:
    if point.is_wrong:
        return _LOGITS_WRONG if point.logits == "wrong" else _WRONG
    if point.is_pending:
        return _PENDING
    if point.is_refused:
        return _REFUSED
    if not point.is_judged:
        return _UNJUDGED
    return _ROUNDING if point.logits == "rounding" else _RIGHT
