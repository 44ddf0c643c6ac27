"""Where steps stand: the same for every view of the run that has the same width."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.theme import Theme

GUTTER_PX, RIGHT_PX = 82, 92
_WIDEST_PX = 80.0


@dataclass(frozen=True)
class StepRuler:
    """Names at the left, then all steps of the run, then room for words about lines and colours.

    Nothing is scrolled: a long run has narrow steps, and below a pixel several share one.

    Attributes:
        width: of the canvas.
        n_steps: steps of the run.
        gutter_px: width of the names.
        right_px: width of the room at the right.
        widest_px: width of a step where there is room enough.
    """

    width: int
    n_steps: int
    gutter_px: int
    right_px: int
    widest_px: float

    @classmethod
    def of(cls, theme: Theme, width: int, n_steps: int) -> "StepRuler":
        """The ruler for a size of letters."""
        widest = _WIDEST_PX * max(1.0, theme.scale)
        return cls(width, n_steps, theme.px(GUTTER_PX), theme.px(RIGHT_PX), widest)

    @cached_property
    def room_px(self) -> float:
        """Width that all steps together may have."""
        return float(max(1, self.width - self.gutter_px - self.right_px))

    @cached_property
    def step_px(self) -> float:
        """Width of a step; whole pixels where there is room for them."""
        each = self.room_px / max(1, self.n_steps)
        return min(self.widest_px, float(int(each)) if each >= 4 else each)

    @property
    def end(self) -> float:
        """Where the last step ends."""
        return self.gutter_px + self.n_steps * self.step_px

    def left(self, step: int) -> float:
        """Where a step begins."""
        return self.gutter_px + step * self.step_px

    def middle(self, step: int) -> float:
        """The middle of a step."""
        return self.gutter_px + (step + 0.5) * self.step_px

    def steps_at(self, x: float) -> range:
        """The steps that are drawn at a place: one, or those of its pixel; empty: none is."""
        if not self.gutter_px <= x < self.end:
            return range(0)
        if self.step_px >= 1.0:
            step = min(int((x - self.gutter_px) // self.step_px), self.n_steps - 1)
            return range(step, step + 1)
        return self._steps_of(int(x - self.gutter_px))

    def nearest(self, x: float) -> int:
        """The step at a place, or the first or last one beyond it."""
        return min(max(0, int((x - self.gutter_px) // self.step_px)), self.n_steps - 1)

    def pools(self) -> tuple[list[float], float, list[int]]:
        """What is drawn: left edges, one width, and the first step of each drawn column.

        A column is a step, or the steps that begin in one pixel.
        """
        if self.step_px >= 1.0:
            steps = list(range(self.n_steps))
            return [self.left(step) for step in steps], self.step_px, steps
        pixels = np.arange(int(self.room_px))
        firsts = np.ceil(pixels / self.step_px).astype(np.int64)
        is_used = firsts < self.n_steps
        lefts = (self.gutter_px + pixels[is_used]).astype(np.float64)
        return lefts.tolist(), 1.0, firsts[is_used].tolist()

    def _steps_of(self, pixel: int) -> range:
        """The steps that begin in a pixel."""
        first, end = (math.ceil(p / self.step_px) for p in (pixel, pixel + 1))
        return range(first, min(self.n_steps, end))
