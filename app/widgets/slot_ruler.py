"""Where columns stand: the same for every view of the same width and number of columns."""

from dataclasses import dataclass

from PySide6.QtCore import QRectF

GUTTER_PX = 82
WIDEST_PX = 44
_SIDE_SHARE = 0.3
_LEAST_SIDE_PX, _MOST_SIDE_PX = 140, 460
_GAP_PX = 12


@dataclass(frozen=True, slots=True)
class SlotRuler:
    """Names at the left, then columns, then a side for what belongs to no column.

    Attributes:
        width: of the canvas.
        n_columns: how many columns.
    """

    width: int
    n_columns: int

    @property
    def side_px(self) -> float:
        """Width of the side."""
        return min(max(self.width * _SIDE_SHARE, _LEAST_SIDE_PX), _MOST_SIDE_PX)

    @property
    def column_px(self) -> float:
        """Width of a column; whole pixels where there is room for them."""
        free = max(1.0, self.width - GUTTER_PX - self.side_px - _GAP_PX)
        each = free / max(1, self.n_columns)
        return min(float(WIDEST_PX), float(int(each)) if each >= 4 else each)

    @property
    def end(self) -> float:
        """Where the last column ends."""
        return GUTTER_PX + self.n_columns * self.column_px

    @property
    def side_left(self) -> float:
        """Where the side begins."""
        return self.width - self.side_px

    def left(self, column: int) -> float:
        """Where a column begins."""
        return GUTTER_PX + column * self.column_px

    def cell(self, column: int, top: float, height: float) -> QRectF:
        """The cell of a column in a row, one pixel left free at its right where it is wide."""
        gap = 1.0 if self.column_px >= 6 else 0.0
        return QRectF(self.left(column), top, self.column_px - gap, height)

    def column_at(self, x: float) -> int | None:
        """The column at a place; None: there is none."""
        column = int((x - GUTTER_PX) // self.column_px)
        return column if x >= GUTTER_PX and column < self.n_columns else None
