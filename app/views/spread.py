"""How a fault travels: one row per stage, one column per step, on the x axis of the timeline."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Hit
from app.widgets.data_table import TableData
from app.widgets.decades import SEVERITY, WORST_CODE, amount, code, contrast, heat, power
from app.widgets.panel import CanvasPanel
from app.widgets.step_arrays import StepArrays, runs_of, worst
from app.widgets.step_canvas import StepCanvas
from app.widgets.step_ruler import StepRuler
from core.readouts.spread import (
    STAGE_WORDS,
    CellState,
    SpreadCell,
    SpreadColumn,
    SpreadReadout,
    layer_of,
)
from core.selection import Selection

BLANK = "every stage of every step appears here: where a fault begins, and how far it reaches"
_LEAST_ROW_PX, _GOOD_ROW_PX, _MOST_ROW_PX = 5, 13, 20
_NAMES_FROM_PX, _NAMED_FROM_PX, _WORDS_FROM_PX, _CELLS_FROM_PX = 10, 10, 26, 8
_TOP_PX = 3
_WORDS: dict[CellState, str] = {
    "nothing": "nothing to compare in this step",
    "right": "right",
    "not kept": "not kept in the file",
    "rounding": "rounding: beyond the band, in a step that is not wrong",
    "pending": "verdict pending",
    "wrong": "wrong",
}


class SpreadView(CanvasPanel):
    """Shows a `SpreadReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _SpreadCanvas(theme))


class _SpreadCanvas(StepCanvas):
    tints = False

    def __init__(self, theme: Theme) -> None:
        rows = 9
        super().__init__(
            theme, "Spread", _TOP_PX + rows * _LEAST_ROW_PX, _TOP_PX + rows * _GOOD_ROW_PX
        )
        self.readout: SpreadReadout | None = None
        self._codes = StepArrays[SpreadColumn](lambda column: [code(c) for c in column.cells])

    def steps(self) -> Sequence[SpreadColumn]:
        return () if self.readout is None else self.readout.columns

    # Where rows stand

    def _row_px(self) -> float:
        n_rows = 1 if self.readout is None else len(self.readout.stages)
        each = (self.height() - _TOP_PX - 2 - self._numbers_px()) / n_rows
        most = self.theme.px(_MOST_ROW_PX)
        return min(float(most), float(int(each)) if each >= _LEAST_ROW_PX else each)

    def _numbers_px(self) -> int:
        """Height of the line of step numbers; 0 where the rows need it."""
        n_rows = 1 if self.readout is None else len(self.readout.stages)
        free = self.height() - _TOP_PX - 2 - self.line_px
        return self.line_px if free >= n_rows * self.theme.px(_NAMES_FROM_PX) else 0

    def _top(self, stage: int) -> float:
        return _TOP_PX + stage * self._row_px()

    def _cell(self, ruler: StepRuler, step: int, stage: int) -> QRectF:
        gap = 1.0 if ruler.step_px >= 6 else 0.0
        low = 1.0 if self._row_px() >= 6 else 0.0
        return QRectF(ruler.left(step), self._top(stage), ruler.step_px - gap, self._row_px() - low)

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        ruler = self.ruler()
        self._draw_names(painter, readout)
        if ruler.step_px >= _CELLS_FROM_PX:
            for column in readout.columns:
                self._draw_column(painter, ruler, column)
        else:
            self._draw_narrow(painter, readout, ruler)
        self._draw_first(painter, readout, ruler)
        self._draw_scale(painter, ruler)
        if self._numbers_px():
            self.draw_numbers(painter, self._top(len(readout.stages)))

    def _draw_names(self, painter: QPainter, readout: SpreadReadout) -> None:
        """Every row where there is room; else where it begins, the logits, and what fits."""
        row_px, last = self._row_px(), len(readout.stages) - 1
        apart = max(1, math.ceil(self.theme.px(_NAMES_FROM_PX) / row_px))
        first_wrong = () if readout.first_wrong is None else (readout.first_wrong[1],)
        width = self.ruler().gutter_px
        margin = self.theme.margin_px
        painter.setFont(self.theme.sans(px=int(min(self.theme.small_px, row_px * apart - 1))))
        named: list[int] = []
        for stage in (*first_wrong, readout.stages.index("logits"), last, *range(last)):
            if any(abs(stage - other) < apart for other in named):
                continue
            named.append(stage)
            place = QRectF(margin, self._top(stage) + row_px / 2 - 7, width - margin - 6, 14)
            align = Qt.AlignmentFlag.AlignRight
            marks.label(painter, place, readout.stages[stage], self.theme.dim, align)

    def _draw_column(self, painter: QPainter, ruler: StepRuler, column: SpreadColumn) -> None:
        for stage, cell in enumerate(column.cells):
            self._draw_cell(painter, self._cell(ruler, column.step, stage), cell)

    def _draw_cell(self, painter: QPainter, place: QRectF, cell: SpreadCell) -> None:
        theme = self.theme
        if cell.state == "nothing":
            return
        if cell.state in ("pending", "not kept"):
            marks.hatch(painter, place, theme.dead)
            return
        painter.fillRect(place, heat(theme, cell))
        if min(place.width(), place.height()) >= 6:
            marks.outline(painter, place, theme.frame)
        if cell.state == "rounding":
            marks.glyph(painter, place, "≈", theme.new, theme)
        elif cell.state == "wrong":
            self._draw_amount(painter, place, cell)

    def _draw_amount(self, painter: QPainter, place: QRectF, cell: SpreadCell) -> None:
        """How far beyond the band: a power of ten, a cross for what is right or wrong only."""
        theme = self.theme
        if place.height() < _NAMED_FROM_PX:
            return
        ink = max((theme.paper, theme.text), key=lambda c: contrast(c, heat(theme, cell)))
        words = amount(cell)
        if len(words) > 1 and place.width() < _WORDS_FROM_PX:
            return
        painter.setFont(theme.mono(px=int(min(theme.small_px, place.height() - 1))))
        marks.label(painter, place, words, ink)

    def _draw_narrow(self, painter: QPainter, readout: SpreadReadout, ruler: StepRuler) -> None:
        """Narrow steps, or several of them in a pixel: a picture of the worst of each stage."""
        codes = self._codes.of(readout.columns)
        _, width, starts = ruler.pools()
        shown = worst(codes, starts).astype(np.intp)
        pixels = np.ascontiguousarray(self._colours()[shown].T)
        image = QImage(pixels.data, len(starts), len(shown[0]), QImage.Format.Format_RGB32)
        left, low = float(ruler.gutter_px), 1.0 if self._row_px() >= 6 else 0.0
        for stage in range(len(readout.stages)):
            place = QRectF(left, self._top(stage), width * len(starts), self._row_px() - low)
            painter.drawImage(place, image, QRectF(0, stage, len(starts), 1))
        for stage in range(len(readout.stages)):
            self._hatch_unknown(painter, ruler, codes[:, stage], stage)
        bottom = self._top(len(readout.stages))
        frame = QRectF(left - 1, _TOP_PX - 1, ruler.end - left + 2, bottom - _TOP_PX + 1)
        marks.outline(painter, frame, self.theme.frame)

    def _colours(self) -> NDArray[np.uint32]:
        """The colour of each code."""
        theme, table = self.theme, np.zeros(WORST_CODE + 1, np.uint32)
        table[:] = theme.paper.rgb()
        table[SEVERITY["rounding"]] = theme.live.rgb()
        for number in range(SEVERITY["wrong"], WORST_CODE + 1):
            decades = float(number - SEVERITY["wrong"])
            table[number] = heat(theme, SpreadCell("wrong", decades)).rgb()
        return table

    def _hatch_unknown(
        self, painter: QPainter, ruler: StepRuler, codes: NDArray[np.float64], stage: int
    ) -> None:
        """Runs of steps that are pending, or whose stages were not kept."""
        is_unknown = np.isin(codes, (SEVERITY["pending"], SEVERITY["not kept"]))
        for first, last in runs_of(is_unknown):
            width = max(2.0, ruler.left(last) - ruler.left(first))
            place = QRectF(ruler.left(first), self._top(stage), width, self._row_px() - 1)
            marks.hatch(painter, place, self.theme.dead)

    def _draw_first(self, painter: QPainter, readout: SpreadReadout, ruler: StepRuler) -> None:
        """A frame around the first wrong cell, outside of it: in a low row it keeps its colour."""
        if readout.first_wrong is None:
            return
        step, stage = readout.first_wrong
        place = self._cell(ruler, step, stage)
        extra = max(0.0, 6 - place.width()) / 2
        place = place.adjusted(-extra, 0, extra, 0)
        painter.fillRect(place.adjusted(-3, -3, 3, 3), self.theme.paper)
        painter.fillRect(place.adjusted(-2, -2, 2, 2), self.theme.text)
        cell = readout.columns[step].cells[stage]
        painter.fillRect(place, heat(self.theme, cell))
        if ruler.step_px >= _CELLS_FROM_PX:
            self._draw_amount(painter, place, cell)

    def _draw_scale(self, painter: QPainter, ruler: StepRuler) -> None:
        """What the colours mean, at the right: white within the limit, then by decades."""
        theme, left = self.theme, ruler.end + 12
        line = theme.small_px + 3
        entries = [("within limit", SpreadCell("right"))]
        entries += [(f"{power(n)} × limit", SpreadCell("wrong", float(n))) for n in (1, 3, 6)]
        entries.append(("pending", SpreadCell("pending")))
        painter.setFont(theme.sans(px=theme.small_px - 1))
        for number, (words, cell) in enumerate(entries):
            top = _TOP_PX + number * line
            if top + line > self.height():
                break
            swatch = QRectF(left, top + 1, 12, line - 3)
            if cell.state == "pending":
                marks.hatch(painter, swatch, theme.dead)
            else:
                painter.fillRect(swatch, heat(theme, cell))
            marks.outline(painter, swatch, theme.frame)
            place = QRectF(left + 17, top, self.width() - left - 19, line - 1)
            painter.setFont(theme.sans(px=theme.small_px - 1))
            marks.label(painter, place, words, theme.dim, Qt.AlignmentFlag.AlignLeft)

    # Mouse, keys, table

    def hit(self, at: QPointF) -> Hit | None:
        readout = self.readout
        steps = self.ruler().steps_at(at.x())
        if readout is None or not steps:
            return None
        stage = int((at.y() - _TOP_PX) // self._row_px())
        if not 0 <= stage < len(readout.stages):
            return None
        step = max(steps, key=lambda n: code(readout.columns[n].cells[stage]))
        cell = readout.columns[step].cells[stage]
        about = STAGE_WORDS.get(readout.stages[stage], "what the layer gives to the next one")
        tip = f"step {step} · {readout.stages[stage]}: {about}\n{_told(cell)}"
        return Hit(tip, _selection(readout, step, stage))

    def grid(self) -> tuple[int, int]:
        return (
            (0, 0)
            if self.readout is None
            else (len(self.readout.stages), len(self.readout.columns))
        )

    def start(self) -> tuple[int, int]:
        readout = self.readout
        if readout is None:
            return 0, 0
        return readout.columns[readout.current].first_wrong or 0, readout.current

    def middle(self, row: int, column: int) -> QPointF:
        return self.middle_of_step(column, self._top(row) + self._row_px() / 2)

    def table(self) -> TableData:
        readout = self.readout
        if readout is None:
            return super().table()
        columns = readout.columns
        return TableData(
            "Spread",
            tuple(f"step {column.step}" for column in columns),
            readout.stages,
            lambda row, column: _told(columns[column].cells[row]).split("\n")[0],
        )


def _selection(readout: SpreadReadout, step: int, stage: int) -> Selection:
    layer = layer_of(stage, len(readout.stages))
    there = replace(readout.selection, step=step)
    return there if layer is None else replace(there, layer=layer)


def _told(cell: SpreadCell) -> str:
    words = _WORDS[cell.state]
    if cell.error is None or cell.band is None:
        return words
    error = f"{cell.error!r}" if math.isfinite(cell.error) else "not finite"
    times = f"{cell.error / cell.band:.3g} × its band" if math.isfinite(cell.error) else ""
    return "\n".join(
        line
        for line in (f"{words} {times}".strip(), f"largest error {error}", f"band {cell.band!r}")
        if line
    )
