"""One head enlarged: a row per query, a column per key, on the ruler of the slots."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from app.theme import Theme
from app.widgets import code_image, marks, regions
from app.widgets.slot_ruler import SlotRuler

NUMBER_FROM_PX, NUMBERS_PX = 28, 14
"""Width of a column, and height of the line, in which weights are written."""
_NAMES_FROM_PX, _NAMES_APART_PX = 11, 22
_ROOMY_PX = 20
_HATCH_FROM_PX = 6
_ZERO_FROM_PX = 16
_ALL_FROM = 0.9995
_MOST_SIGNS = 400


@dataclass(frozen=True, slots=True)
class HeadRows:
    """Where the rows stand, and how they look.

    Attributes:
        ruler: of the columns.
        n_rows: queries.
        top: where the first row begins.
        height: of a row.
        scale: device pixels per logical pixel.
    """

    ruler: SlotRuler
    n_rows: int
    top: float
    height: float
    scale: float

    @classmethod
    def of(cls, ruler: SlotRuler, n_rows: int, top: float, free: float, scale: float) -> "HeadRows":
        """As high as wide at most; whole pixels where there is room for them."""
        each = max(1.0, free) / n_rows
        most = max(ruler.column_px, _ROOMY_PX * ruler.scale)
        return cls(ruler, n_rows, top, min(most, float(int(each)) if each >= 4 else each), scale)

    @property
    def place(self) -> QRectF:
        """All cells."""
        width = self.ruler.end - self.ruler.start
        return QRectF(self.ruler.start, self.top, width, self.n_rows * self.height)

    def middle(self, row: int) -> float:
        """Where the middle of a row is."""
        return self.top + (row + 0.5) * self.height

    def row_at(self, y: float) -> int | None:
        """The row at a place; None: there is none."""
        row = int((y - self.top) // self.height)
        return row if 0 <= row < self.n_rows else None

    def draw_codes(
        self,
        painter: QPainter,
        codes: code_image.Codes,
        colours: NDArray[np.uint32],
        theme: Theme,
    ) -> None:
        """The image of [R, columns shown] codes, and signs for what is no value."""
        place, scale = self.place, self.scale
        few = code_image.pooled(codes, int(place.height() * scale), int(place.width() * scale))
        painter.drawImage(place, code_image.image(few, colours))
        if min(self.height, self.ruler.column_px) < _HATCH_FROM_PX:
            masked, unwritten = (
                regions.rectangles(few == code, place)
                for code in (code_image.MASKED, code_image.NEVER_WRITTEN)
            )
            marks.hatch_all(painter, masked, code_image.masked_tone(theme), theme.dead)
            marks.dot_all(painter, unwritten, theme.paper, theme.dead)
            marks.outline(painter, place.adjusted(-1, -1, 1, 1), theme.frame)
            return
        for n_drawn, run in enumerate(_runs(codes)):
            if n_drawn > _MOST_SIGNS:
                return
            self._draw_run(painter, *run, theme)

    def _draw_run(
        self, painter: QPainter, row: int, first: int, last: int, code: int, theme: Theme
    ) -> None:
        top, px = self.top + row * self.height, self.ruler.column_px
        left = self.ruler.start + first * px
        place = QRectF(left, top, (last + 1 - first) * px, self.height)
        if code == code_image.MASKED:
            marks.hatch(painter, place, theme.dead)
        elif code == code_image.NEVER_WRITTEN:
            marks.outline(painter, place, theme.frame, style=Qt.PenStyle.DotLine)
        elif code == code_image.NAN or min(self.height, px) >= _ZERO_FROM_PX:
            sign = "N" if code == code_image.NAN else "0"
            light = theme.paper if theme.name == "light" else theme.text
            colour = theme.paper if code == code_image.NAN else light
            for column in range(last + 1 - first):
                cell = QRectF(left + column * px, top, px, self.height)
                marks.glyph(painter, cell, sign, colour, theme)

    def draw_names(self, painter: QPainter, names: Sequence[str], theme: Theme) -> None:
        """The queries at the left; the newest always has its name."""
        is_roomy = self.height >= theme.px(_NAMES_FROM_PX)
        n_apart = 1 if is_roomy else max(2, round(theme.px(_NAMES_APART_PX) / self.height))
        for row in range(self.n_rows - 1, -1, -n_apart):
            tall = n_apart * self.height
            top = self.middle(row) - tall / 2
            marks.gutter_name(painter, theme, top, tall, self.ruler.gutter_px, names[row])

    def draw_now(self, painter: QPainter, n_now: int, theme: Theme) -> None:
        """A bar beside the rows that this step computed."""
        if n_now:
            tall = n_now * self.height
            bar = QRectF(self.ruler.start - 4, self.place.bottom() - tall + 1, 2, tall - 2)
            marks.fill(painter, bar, theme.new)

    def draw_numbers(
        self,
        painter: QPainter,
        weights: NDArray[np.floating],
        codes: code_image.Codes,
        theme: Theme,
    ) -> None:
        """The weights of the newest row, [columns shown], under it."""
        top = self.place.bottom()
        tall = theme.px(NUMBERS_PX)
        marks.gutter_name(painter, theme, top, tall, self.ruler.gutter_px, "weight")
        painter.setFont(theme.mono(px=theme.small_px - 1))
        for column, (weight, code) in enumerate(zip(weights.tolist(), codes.tolist(), strict=True)):
            if code in (code_image.MASKED, code_image.NEVER_WRITTEN):
                continue
            left = self.ruler.start + column * self.ruler.column_px
            place = QRectF(left, top, self.ruler.column_px, tall)
            painter.setPen(theme.text if weight >= 0.1 else theme.dim)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, short_weight(weight))


def short_weight(weight: float) -> str:
    """Three decimals: ".932", "1.000"; an exact zero is "0"."""
    if np.isnan(weight):
        return "NaN"
    if weight == 0.0:
        return "0"
    return f"{weight:.3f}" if weight >= _ALL_FROM else f"{weight:.3f}"[1:]


def _runs(codes: code_image.Codes) -> Iterator[tuple[int, int, int, int]]:
    """(row, first column, last column, code) of neighbours with one code that is no value."""
    is_value = (codes >= code_image.LOWEST) & (codes <= code_image.HIGHEST)
    for row in range(len(codes)):
        changes = np.flatnonzero(np.diff(codes[row])) + 1
        firsts = [0, *changes.tolist()]
        lasts = [*(changes - 1).tolist(), codes.shape[1] - 1]
        for first, last in zip(firsts, lasts, strict=True):
            if not is_value[row, first]:
                yield row, first, last, int(codes[row, first])
