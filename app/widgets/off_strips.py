"""Lines below the rows of the cache: in which layers a stored row is not the reference's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from app.theme import Theme
from app.widgets import code_image, marks
from app.widgets.slot_ruler import SlotRuler
from core.readouts.slot_states import LayerRow

LEAST_ROW_PX, GOOD_ROW_PX, MOST_ROW_PX = 5, 14, 26
GAP_PX = 2
_MOST_LINE_PX, _APART_PX, _LINE_GAP_PX = 5, 2, 1
"""One to four pixels of a layer, and one that sets it off the next, where rows leave it room."""
_NAME_FROM_PX = 9


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """Where the rows of layers stand, and below each a line per layer if any differs there.

    Attributes:
        rows: the rows.
        top: of the first.
        height: of each.
        line_px: height of a line; 0: there are none.
    """

    rows: Sequence[LayerRow]
    top: float
    height: float
    line_px: int

    @classmethod
    def of(cls, rows: Sequence[LayerRow], top: float, free_px: float, theme: Theme) -> "RowPlaces":
        """As high as there is room for; lines become thin before rows become low."""
        n_lines = sum(len(row.layers) for row in rows if row.is_off.any())
        free = free_px - sum(GAP_PX + 1 for row in rows if row.is_off.any())
        good = len(rows) * (theme.px(GOOD_ROW_PX) + GAP_PX)
        low = len(rows) * (LEAST_ROW_PX + GAP_PX)
        least = _APART_PX if free - low >= n_lines * _APART_PX else 1
        line_px = int(min(_MOST_LINE_PX, max(least, (free - good) // n_lines))) if n_lines else 0
        each = max(LEAST_ROW_PX, (free - n_lines * line_px) // len(rows) - GAP_PX)
        return cls(rows, top, float(min(each, theme.px(MOST_ROW_PX))), line_px)

    def top_of(self, number: int) -> float:
        """The top of a row; of the one after the last, where all of them end."""
        return self.top + sum(
            self.height + GAP_PX + self._lines_px(row) for row in self.rows[:number]
        )

    def at(self, y: float) -> tuple[int, int | None]:
        """The row at a height, and the layer where it is a line of one."""
        number = max((n for n in range(len(self.rows)) if self.top_of(n) <= y), default=0)
        row, below = self.rows[number], y - self.top_of(number) - self.height - GAP_PX
        if below < 0 or not self._lines_px(row):
            return number, None
        return number, row.layers[min(int(below // self.line_px), len(row.layers) - 1)]

    def draw_lines(
        self,
        painter: QPainter,
        ruler: SlotRuler,
        theme: Theme,
        slots: NDArray[np.int64],
        number: int,
    ) -> None:
        """The lines below a row, filled where the row in a slot differs."""
        row = self.rows[number]
        if not self._lines_px(row):
            return
        top, height = self.top_of(number) + self.height + GAP_PX, self.line_px * len(row.layers)
        if height >= theme.px(_NAME_FROM_PX):
            marks.gutter_name(painter, theme, top - 2, height + 2, ruler.gutter_px, "differs")
        place = QRectF(ruler.start, top, ruler.end - ruler.start, height)
        colours = np.full(256, theme.paper.rgb(), dtype=np.uint32)
        colours[1] = theme.alarm.rgb()
        most = int(place.width() * painter.device().devicePixelRatioF())
        codes = code_image.pooled(row.is_off[:, slots].astype(np.uint8), len(row.layers), most)
        painter.drawImage(place, code_image.image(codes, colours))
        if self.line_px >= _APART_PX:
            for layer in range(1, len(row.layers) + 1):
                y = top + layer * self.line_px - _LINE_GAP_PX
                gap = QRectF(place.left(), y, place.width(), _LINE_GAP_PX)
                painter.fillRect(gap, theme.paper)
        marks.outline(painter, place.adjusted(-1, -1, 1, 1), theme.frame)

    def _lines_px(self, row: LayerRow) -> float:
        return self.line_px * len(row.layers) + GAP_PX + 1.0 if row.is_off.any() else 0.0
