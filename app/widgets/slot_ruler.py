"""Where columns stand: the same for every view of the same width, slots and chosen part."""

import math
from dataclasses import dataclass
from functools import cached_property

from PySide6.QtCore import QRectF

GUTTER_PX = 82
ALL_LABELS_PX = 28
"""From this width of a column on, beside letters of the usual size, all labels of a slot fit."""
WIDEST_PX = 60
READABLE_PX, SCROLLED_PX = 14, 18
"""Narrower than the first, columns are scrolled, and are as wide as the second."""
_NARROW_PX = 520
_NARROW_GUTTER_PX, _WIDE_GUTTER_PX = 82, 128
_SIDE_SHARE = 0.24
_LEAST_SIDE_PX, _MOST_SIDE_PX = 104, 420
_GAP_PX = 10


@dataclass(frozen=True)
class SlotRuler:
    """Names at the left, then columns, then a side for what belongs to no column.

    Attributes:
        width: of the canvas.
        n_columns: how many columns there are.
        first_wanted: the first column to show; None: as far to the right as `in_sight` demands.
        in_sight: a column that must be shown, where not all are; None: any may be.
        shows_all: whether all columns are shown, however narrow that makes them.
        scale: how much larger than usual the letters are.
    """

    width: int
    n_columns: int
    first_wanted: int | None = None
    in_sight: int | None = None
    shows_all: bool = False
    scale: float = 1.0

    @cached_property
    def gutter_px(self) -> float:
        """Width of the names."""
        is_narrow = self.width < _NARROW_PX * self.scale
        return float(round((_NARROW_GUTTER_PX if is_narrow else _WIDE_GUTTER_PX) * self.scale))

    @cached_property
    def side_px(self) -> float:
        """Width of the side; what columns lack to have all their labels, it gives if it can."""
        share = min(self.width * _SIDE_SHARE, _MOST_SIDE_PX)
        labelled_px = self.n_columns * math.ceil(ALL_LABELS_PX * self.scale)
        left_px = self.width - self.gutter_px - _GAP_PX - labelled_px
        least_px = _LEAST_SIDE_PX * self.scale
        wanted_px = min(share, left_px) if left_px >= least_px else share
        return float(math.floor(max(wanted_px, least_px)))

    @cached_property
    def _free_px(self) -> float:
        return max(1.0, self.width - self.gutter_px - self.side_px - _GAP_PX)

    @cached_property
    def _fitting_px(self) -> float:
        """Width of a column if all are shown; whole pixels where there is room for them."""
        each = self._free_px / max(1, self.n_columns)
        return min(float(round(WIDEST_PX * self.scale)), float(int(each)) if each >= 4 else each)

    @cached_property
    def _scrolled_px(self) -> float:
        return float(round(SCROLLED_PX * self.scale))

    @cached_property
    def fits(self) -> bool:
        """Whether all columns are readable without scrolling."""
        return self._fitting_px >= READABLE_PX

    @cached_property
    def is_scrolled(self) -> bool:
        """Whether only some columns are shown."""
        return not self.fits and not self.shows_all

    @cached_property
    def column_px(self) -> float:
        """Width of a column."""
        return self._scrolled_px if self.is_scrolled else self._fitting_px

    @cached_property
    def cell_px(self) -> float:
        """Width of a cell: one pixel is left free at its right where it is wide."""
        return self.column_px - (1.0 if self.column_px >= 6 else 0.0)

    @cached_property
    def n_shown(self) -> int:
        """How many columns are shown."""
        if not self.is_scrolled:
            return self.n_columns
        return min(self.n_columns, max(1, int(self._free_px // self._scrolled_px)))

    @cached_property
    def first(self) -> int:
        """The first column shown."""
        most = self.n_columns - self.n_shown
        seen, wanted = self.in_sight, self.first_wanted
        if wanted is None:
            # Some room beyond the column, so that what is next to it can be seen.
            wanted = 0 if seen is None else seen - self.n_shown + 1 + self.n_shown // 6
        elif seen is not None:
            wanted = min(max(wanted, seen - self.n_shown + 1), seen)
        return min(max(0, wanted), most)

    @cached_property
    def shown(self) -> range:
        """The columns shown."""
        return range(self.first, self.first + self.n_shown)

    @cached_property
    def start(self) -> float:
        """Where the first column shown begins."""
        return float(self.gutter_px)

    @cached_property
    def end(self) -> float:
        """Where the last column shown ends."""
        return self.gutter_px + self.n_shown * self.column_px

    @cached_property
    def side_left(self) -> float:
        """Where the side begins."""
        return self.width - self.side_px

    def left(self, column: int) -> float:
        """Where a column begins."""
        return self.gutter_px + (column - self.first) * self.column_px

    def cell(self, column: int, top: float, height: float) -> QRectF:
        """The cell of a column in a row, one pixel left free at its right where it is wide."""
        return QRectF(self.left(column), top, self.cell_px, height)

    def column_at(self, x: float) -> int | None:
        """The column at a place; None: there is none."""
        column = int((x - self.gutter_px) // self.column_px)
        return self.first + column if x >= self.gutter_px and column < self.n_shown else None
