"""How a fault travels: one row per stage, one column per step, on the x axis of the timeline."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QImage, QPainter

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Hit
from app.widgets.data_table import TableData
from app.widgets.decades import SEVERITY, WORST_CODE, amount, code, contrast, heat, power
from app.widgets.letters import letters
from app.widgets.panel import CanvasPanel
from app.widgets.spread_words import told
from app.widgets.stage_rows import StageRows
from app.widgets.step_arrays import StepArrays, runs_of, worst
from app.widgets.step_canvas import StepCanvas
from app.widgets.step_ruler import StepRuler
from core.readouts.spread import (
    STAGE_WORDS,
    SpreadCell,
    SpreadColumn,
    SpreadReadout,
    layer_of,
)
from core.selection import Selection

BLANK = "every stage of every step appears here: where a fault begins, and how far it reaches"
_LEAST_ROW_PX, _GOOD_ROW_PX, _MOST_ROW_PX = 5, 13, 20
_NAMED_FROM_PX, _WORDS_FROM_PX, _CELLS_FROM_PX = 10, 26, 8
_TOP_PX, _BOTTOM_PX, _LEAST_PX = 3, 1, 48
_SMALLER_PX = 2
"""By so much at most letters are smaller for long names."""


class SpreadView(CanvasPanel):
    """Shows a `SpreadReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _SpreadCanvas(theme))


class _SpreadCanvas(StepCanvas):
    tints = False

    def __init__(self, theme: Theme) -> None:
        rows = 9
        super().__init__(theme, "Spread", _LEAST_PX, _TOP_PX + rows * _GOOD_ROW_PX)
        self.readout: SpreadReadout | None = None
        self._known: tuple[tuple[str, ...], int, tuple[StageRows, float]] | None = None
        self._codes = StepArrays[SpreadColumn](lambda column: [code(c) for c in column.cells])

    def steps(self) -> Sequence[SpreadColumn]:
        return () if self.readout is None else self.readout.columns

    # Where rows stand

    def _rows(self) -> StageRows:
        """One a stage, or where they could not be named, fewer."""
        return self._arranged()[0]

    def _row_px(self) -> float:
        return self._arranged()[1]

    def _arranged(self) -> tuple[StageRows, float]:
        """The rows, and their height: the same until the canvas has another one."""
        stages, height = () if self.readout is None else self.readout.stages, self.height()
        known = self._known
        if known is None or known[0] is not stages or known[1] != height:
            self._known = known = (stages, height, self._arrange(stages, height))
        return known[2]

    def _arrange(self, stages: tuple[str, ...], height: int) -> tuple[StageRows, float]:
        free = height - _TOP_PX - _BOTTOM_PX
        rows = StageRows.fitting(stages, free, self.line_px, self.theme)
        each = (free - (self.line_px if rows.leaves_line else 0)) / max(1, len(rows))
        most = float(self.theme.px(_MOST_ROW_PX))
        return rows, min(most, float(int(each)) if each >= _LEAST_ROW_PX else each)

    def _top(self, row: int) -> float:
        return _TOP_PX + row * self._row_px()

    def _cell(self, ruler: StepRuler, step: int, row: int) -> QRectF:
        row_px, step_px = self._row_px(), ruler.step_px
        gap = 1.0 if step_px >= 6 else 0.0
        low = 1.0 if row_px >= 6 else 0.0
        return QRectF(ruler.left(step), _TOP_PX + row * row_px, step_px - gap, row_px - low)

    def _stage_in(self, column: SpreadColumn, row: int) -> int:
        """The worst stage of a row: what its cell shows, and where a click on it goes."""
        stages = self._rows().of_row(row)
        if len(stages) == 1:
            return stages[0]
        return max(stages, key=lambda stage: code(column.cells[stage]))

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        ruler = self.ruler()
        self._draw_names(painter)
        if ruler.step_px >= _CELLS_FROM_PX:
            for column in readout.columns:
                self._draw_column(painter, ruler, column)
        else:
            self._draw_narrow(painter, readout, ruler)
        self._draw_first(painter, readout, ruler)
        self._draw_scale(painter, ruler)
        if self._rows().leaves_line:
            self.draw_numbers(painter, self._top(len(self._rows())))

    def _draw_names(self, painter: QPainter) -> None:
        row_px, names = self._row_px(), self._rows().names
        room = QRectF(2, 0, self.ruler().gutter_px - 5, 14)
        px = int(min(self.theme.small_px, row_px - 1))
        sizes = (self.theme.sans(px=px - less) for less in range(_SMALLER_PX + 1))
        painter.setFont(next((f for f in sizes if _widest(names, f) <= room.width()), self.font()))
        for row, name in enumerate(names):
            place = room.translated(0, self._top(row) + row_px / 2 - 7)
            marks.label(painter, place, name, self.theme.dim, Qt.AlignmentFlag.AlignRight)

    def _draw_column(self, painter: QPainter, ruler: StepRuler, column: SpreadColumn) -> None:
        for row in range(len(self._rows())):
            cell = column.cells[self._stage_in(column, row)]
            self._draw_cell(painter, self._cell(ruler, column.step, row), cell)

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
        codes = self._rows().worst_of(self._codes.of(readout.columns))
        _, width, starts = ruler.pools()
        shown = worst(codes, starts).astype(np.intp)
        pixels = np.ascontiguousarray(self._colours()[shown].T)
        image = QImage(pixels.data, len(starts), len(shown[0]), QImage.Format.Format_RGB32)
        left, low = float(ruler.gutter_px), 1.0 if self._row_px() >= 6 else 0.0
        for row in range(len(self._rows())):
            place = QRectF(left, self._top(row), width * len(starts), self._row_px() - low)
            painter.drawImage(place, image, QRectF(0, row, len(starts), 1))
        for row in range(len(self._rows())):
            self._hatch_unknown(painter, ruler, codes[:, row], row)
        bottom = self._top(len(self._rows()))
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
        self, painter: QPainter, ruler: StepRuler, codes: NDArray[np.float64], row: int
    ) -> None:
        """Runs of steps that are pending, or whose stages were not kept."""
        is_unknown = np.isin(codes, (SEVERITY["pending"], SEVERITY["not kept"]))
        for first, last in runs_of(is_unknown):
            width = max(2.0, ruler.left(last) - ruler.left(first))
            place = QRectF(ruler.left(first), self._top(row), width, self._row_px() - 1)
            marks.hatch(painter, place, self.theme.dead)

    def _draw_first(self, painter: QPainter, readout: SpreadReadout, ruler: StepRuler) -> None:
        """A frame around the first wrong cell, outside of it: in a low row it keeps its colour."""
        if readout.first_wrong is None:
            return
        step, stage = readout.first_wrong
        row = self._rows().row_of(stage)
        place = self._cell(ruler, step, row)
        extra = max(0.0, 6 - place.width()) / 2
        place = place.adjusted(-extra, 0, extra, 0)
        halo = 3 if self._row_px() >= _GOOD_ROW_PX else 2
        painter.fillRect(place.adjusted(-halo, -halo, halo, halo), self.theme.paper)
        painter.fillRect(place.adjusted(-2, -2, 2, 2), self.theme.text)
        column = readout.columns[step]
        cell = column.cells[self._stage_in(column, row)]
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
        row = int((at.y() - _TOP_PX) // self._row_px())
        rows = self._rows()
        if not 0 <= row < len(rows):
            return None
        of_row = rows.of_row(row)
        step = max(steps, key=lambda n: max(code(readout.columns[n].cells[i]) for i in of_row))
        stage = self._stage_in(readout.columns[step], row)
        cell = readout.columns[step].cells[stage]
        about = STAGE_WORDS.get(readout.stages[stage], "what the layer gives to the next one")
        shared = "" if len(of_row) == 1 else f"{rows.names[row]}, of these "
        tip = f"step {step} · {shared}{readout.stages[stage]}: {about}\n{told(cell)}"
        return Hit(tip, _selection(readout, step, stage))

    def grid(self) -> tuple[int, int]:
        return (0, 0) if self.readout is None else (len(self._rows()), len(self.readout.columns))

    def start(self) -> tuple[int, int]:
        readout = self.readout
        if readout is None:
            return 0, 0
        first_wrong = readout.columns[readout.current].first_wrong or 0
        return self._rows().row_of(first_wrong), readout.current

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
            lambda row, column: told(columns[column].cells[row]).split("\n")[0],
        )


def _widest(names: Sequence[str], font: QFont) -> float:
    return max(letters(name, font).width for name in names)


def _selection(readout: SpreadReadout, step: int, stage: int) -> Selection:
    layer = layer_of(stage, len(readout.stages))
    there = replace(readout.selection, step=step)
    return there if layer is None else replace(there, layer=layer)
