"""Errors of many sizes over the steps: a logarithmic height, and the worst of what is narrow."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

from app.widgets.step_ruler import StepRuler

LOWEST_ERROR = 1e-16
_USUAL_RANGE = (-6.0, 0.0)


class ErrorPlot:
    """Where steps and errors stand.

    Attributes:
        place: the plot.
        ruler: its x axis.
    """

    def __init__(
        self,
        place: QRectF,
        ruler: StepRuler,
        logs: NDArray[np.float64],
        *,
        limit_log: float = math.nan,
        above_px: float = 0.0,
    ) -> None:
        """Takes the logarithms to base ten of all that is to be in sight; NaN: no number.

        Above the limit there stay `above_px`, up to half of the height, so that both sides of it
        can be named.
        """
        self.place, self.ruler = place, ruler
        known = logs[np.isfinite(logs)]
        low, high = (known.min(), known.max()) if known.size else _USUAL_RANGE
        self._low = math.floor(max(low, math.log10(LOWEST_ERROR)))
        self._high = float(math.ceil(max(high, self._low + 1)))
        if math.isfinite(limit_log) and place.height() > 0:
            share = 1.0 - min(0.5, above_px / place.height())
            self._high = max(self._high, self._low + (limit_log - self._low) / share)

    def y(self, error: float) -> float:
        """Height of an error; an exact zero stands at the bottom."""
        if error <= LOWEST_ERROR:
            return self.place.bottom()
        return self.y_of_log(math.log10(error))

    def y_of_log(self, log: float) -> float:
        """Height of an error of which the logarithm to base ten is known."""
        share = (log - self._low) / (self._high - self._low)
        return self.place.bottom() - min(1.0, max(0.0, share)) * self.place.height()

    def ys_of_logs(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for many; NaN stays NaN."""
        shares = np.clip((logs - self._low) / (self._high - self._low), 0.0, 1.0)
        return self.place.bottom() - shares * self.place.height()

    def ticks(self, room_px: float) -> Iterator[tuple[int, float]]:
        """Powers of ten that have room, with their heights."""
        n = self._high - self._low
        every = max(1, math.ceil(n * room_px / self.place.height()))
        for exponent in range(self._low, math.floor(self._high) + 1, every):
            yield exponent, self.y_of_log(exponent)


def log_of(number: float | None) -> float:
    """Logarithm to base ten; NaN: no number, or one that is not finite."""
    if number is None or not math.isfinite(number):
        return math.nan
    return math.log10(max(number, LOWEST_ERROR))
