"""A tensor as a heat map: one image, numbers in cells that have room for them.

More than 300 lines: image, numbers and what is under the mouse share one geometry.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QKeyEvent, QPainter, QResizeEvent

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Canvas, Hit
from app.widgets.code_image import image
from app.widgets.tensor_bars import draw_bars
from app.widgets.tensor_colours import colours, image_codes
from app.widgets.tensor_words import entry_words, short, statistics
from core.readouts.tensor_sheet import Kind, TensorSheet
from core.selection import Selection

_MOST_ROW_PX = 28.0
_ONE_ROW_PX = 44.0
_MOST_COLUMN_PX = 64.0
_NUMBER_PX = (52, 14)
_LABEL_PX = 10
_LEGEND_PX = 64
_KEYS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
_OWN_KEYS = (*_KEYS, Qt.Key.Key_Return, Qt.Key.Key_Enter)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where the cells are, in logical pixels."""

    left: float
    top: float
    column_px: float
    row_px: float

    def cell(self, row: int, column: int) -> QRectF:
        return QRectF(
            self.left + column * self.column_px,
            self.top + row * self.row_px,
            self.column_px,
            self.row_px,
        )


class TensorImage(Canvas):
    """Draws a `TensorSheet`; arrows move a cursor, Enter chooses, Esc lets go."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, "Heat map of the tensor", 0, 0)
        self._sheet: TensorSheet | None = None
        self._selection = Selection()
        self._image: QImage | None = None
        self._tables: dict[Kind, NDArray[np.uint32]] = {}
        self._cursor: tuple[int, int] | None = None

    @property
    def cursor_cell(self) -> tuple[int, int] | None:
        """Row and column of the cell that the keys are at; None: at none."""
        return self._cursor

    def show_sheet(self, sheet: TensorSheet | None, selection: Selection) -> None:
        """Draw this; None: nothing."""
        if sheet is None or self._sheet is None or sheet.values.shape != self._sheet.values.shape:
            self._cursor = None
        self._sheet, self._selection, self._image = sheet, selection, None
        self._describe()
        self.update()

    def show_readout(self, readout: Any) -> None:  # noqa: ANN401  (see `Canvas`)
        """Nothing but a sheet is drawn."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Scale anew."""
        super().resizeEvent(event)
        self._image = None

    def event(self, event: QEvent) -> bool:
        """Arrows and Enter are its own, and Esc while there is something to let go."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            is_own = event.key() in _OWN_KEYS and not event.modifiers()
            if is_own or (event.key() == Qt.Key.Key_Escape and self._cursor is not None):
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, choose or let go."""
        sheet, key = self._sheet, event.key()
        if sheet is None or key not in (*_OWN_KEYS, Qt.Key.Key_Escape):
            super().keyPressEvent(event)
            return
        if key == Qt.Key.Key_Escape:
            self._cursor = None
        elif key in _KEYS:
            step = _KEYS[Qt.Key(key)]
            row, column = self._cursor or (0, 0) if self._cursor else (-step[0], -step[1])
            row = min(max(0, row + step[0]), sheet.rows.n - 1)
            column = min(max(0, column + step[1]), sheet.columns.n - 1)
            self._cursor = row, column
        elif self._cursor is not None:
            self.picked.emit(self._selection_at(sheet, *self._cursor))
        self._describe()
        self.update()

    def draw(self, painter: QPainter) -> None:
        """The image, its labels, the numbers, what is chosen, and the scale."""
        sheet = self._sheet
        if sheet is None or not sheet.values.size:
            return
        grid = self._grid(sheet)
        self._draw_image(painter, sheet, grid)
        self._draw_labels(painter, sheet, grid)
        self._draw_numbers(painter, sheet, grid)
        self._draw_chosen(painter, sheet, grid)
        self._draw_bars(painter, sheet, grid)
        self._draw_legend(painter, sheet)

    def hit(self, at: QPointF) -> Hit | None:
        """The number with all its digits."""
        sheet = self._sheet
        if sheet is None or not sheet.values.size:
            return None
        grid = self._grid(sheet)
        row = int((at.y() - grid.top) // grid.row_px)
        column = int((at.x() - grid.left) // grid.column_px)
        if not (0 <= row < sheet.rows.n and 0 <= column < sheet.columns.n):
            return None
        return Hit(entry_words(sheet, row, column), self._selection_at(sheet, row, column))

    def _selection_at(self, sheet: TensorSheet, row: int, column: int) -> Selection | None:
        chosen: dict[str, Any] = {}
        for axis, place in ((sheet.rows, row), (sheet.columns, column)):
            chosen |= axis.choose(self._selection, place)
        if not chosen:
            return None
        return replace(self._selection, position_id=None, **{"slot": None, **chosen})

    def _grid(self, sheet: TensorSheet) -> _Grid:
        label_px = self.fontMetrics().height()
        gutter = 0.0
        if sheet.rows.n > 1:
            gutter = self.fontMetrics().horizontalAdvance("0" * self._widest(sheet)) + 4.0
        left, top = self.theme.margin_px + gutter, 1.0
        if sheet.columns.name == "slot":
            top += label_px
        width = self.width() - left - self.theme.margin_px
        height = self.height() - top - label_px - 6
        return _Grid(
            left,
            top,
            max(0.01, min(_MOST_COLUMN_PX, width / sheet.columns.n)),
            max(
                0.01, min(_MOST_ROW_PX if sheet.rows.n > 1 else _ONE_ROW_PX, height / sheet.rows.n)
            ),
        )

    @staticmethod
    def _widest(sheet: TensorSheet) -> int:
        return max(len(sheet.rows.mark(row)) for row in (0, sheet.rows.n - 1))

    def _draw_image(self, painter: QPainter, sheet: TensorSheet, grid: _Grid) -> None:
        width, height = grid.column_px * sheet.columns.n, grid.row_px * sheet.rows.n
        if self._image is None:
            ratio = self.devicePixelRatioF()
            codes = image_codes(sheet, int(height * ratio), int(width * ratio))
            self._image = image(codes, self._table(sheet.kind))
        place = QRectF(grid.left, grid.top, width, height)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, on=False)
        painter.drawImage(place, self._image)
        is_masked = sheet.values == 0 if sheet.kind == "mask" else sheet.is_masked
        if is_masked is not None and min(grid.column_px, grid.row_px) >= marks.FRAME_PX:
            for row, column in np.argwhere(is_masked).tolist():
                marks.hatch(painter, grid.cell(row, column), self.theme.dead)
        marks.outline(painter, place.adjusted(-1, -1, 1, 1), self.theme.frame)

    def _table(self, kind: Kind) -> NDArray[np.uint32]:
        """The colour of each code; a canvas keeps its theme."""
        if kind not in self._tables:
            self._tables[kind] = colours(self.theme, kind)
        return self._tables[kind]

    def _draw_labels(self, painter: QPainter, sheet: TensorSheet, grid: _Grid) -> None:
        painter.setFont(self.theme.mono(px=self.theme.small_px - 1))
        metrics = painter.fontMetrics()
        if sheet.rows.n > 1:
            every = max(1, -int(-_LABEL_PX // grid.row_px))
            for row in range(0, sheet.rows.n, every):
                cell = grid.cell(row, 0)
                place = QRectF(0, cell.top(), grid.left - 4, cell.height())
                if grid.row_px < _LABEL_PX:
                    place.setHeight(_LABEL_PX)
                marks.label(
                    painter,
                    place,
                    sheet.rows.mark(row),
                    self.theme.dim,
                    Qt.AlignmentFlag.AlignRight,
                )
        if sheet.columns.name == "slot":
            needed = metrics.horizontalAdvance(str(sheet.columns.number(sheet.columns.n - 1))) + 4
            every = max(1, -int(-needed // grid.column_px))
            for column in range(0, sheet.columns.n, every):
                left = grid.cell(0, column).left()
                place = QRectF(left, 0, max(grid.column_px, float(needed)), grid.top)
                marks.label(painter, place, str(sheet.columns.number(column)), self.theme.dim)

    def _draw_numbers(self, painter: QPainter, sheet: TensorSheet, grid: _Grid) -> None:
        if grid.column_px < _NUMBER_PX[0] or grid.row_px < _NUMBER_PX[1]:
            return
        painter.setFont(self.theme.mono(px=self.theme.small_px))
        table = self._table(sheet.kind)
        codes = image_codes(sheet, *sheet.values.shape)
        for row, column in np.ndindex(sheet.values.shape):
            ground = QColor(int(table[codes[row, column]]))
            ink = Qt.GlobalColor.black if ground.lightness() > 128 else Qt.GlobalColor.white
            text = short(sheet.values[row, column])
            marks.label(painter, grid.cell(row, column), text, QColor(ink))

    def _draw_chosen(self, painter: QPainter, sheet: TensorSheet, grid: _Grid) -> None:
        """A frame around the rows and columns looked at, a thin one around those pointed at."""
        for selection, is_firm in ((self._selection, True), (self.pointed_at, False)):
            if selection is None:
                continue
            for place in self._bands(sheet, grid, selection):
                if is_firm and min(place.width(), place.height()) > marks.FRAME_PX:
                    marks.outline(painter, place, self.theme.paper, px=3)
                marks.outline(painter, place, self.theme.new, px=2 if is_firm else 1)
        if self._cursor is not None:
            marks.chosen(painter, grid.cell(*self._cursor), self.theme)

    def _bands(self, sheet: TensorSheet, grid: _Grid, selection: Selection) -> list[QRectF]:
        bands: list[QRectF] = []
        if sheet.rows.n > 1:
            last = sheet.columns.n - 1
            bands += (
                grid.cell(row, 0).united(grid.cell(row, last))
                for row in sheet.rows.places_of(selection)
            )
        last = sheet.rows.n - 1
        bands += (
            grid.cell(0, column).united(grid.cell(last, column))
            for column in sheet.columns.places_of(selection)
        )
        return bands

    def _draw_bars(self, painter: QPainter, sheet: TensorSheet, grid: _Grid) -> None:
        """Below a single row, in the room that it leaves: the same numbers as heights."""
        if sheet.rows.n != 1 or sheet.kind == "mask":
            return
        top = grid.top + grid.row_px + 6
        width = grid.column_px * sheet.columns.n
        place = QRectF(grid.left, top, width, self.height() - self._legend_px() - 6 - top)
        draw_bars(painter, place, sheet, self.theme)

    def _legend_px(self) -> int:
        return QFontMetrics(self.theme.mono(px=self.theme.small_px - 1)).height()

    def _draw_legend(self, painter: QPainter, sheet: TensorSheet) -> None:
        """What the colours mean: numbers at both ends of a bar."""
        painter.setFont(self.theme.mono(px=self.theme.small_px - 1))
        metrics = painter.fontMetrics()
        height = metrics.height()
        top = self.height() - height - 1.0
        if sheet.kind == "mask":
            ends = ("masked", "seen")
        elif sheet.kind == "weights":
            ends = ("0", "1")
        else:
            ends = (short(-sheet.scale), short(sheet.scale))
        left = float(self.theme.margin_px)
        for end, text in enumerate(ends):
            width = metrics.horizontalAdvance(text) + 4.0
            place = QRectF(left, top, width, height)
            marks.label(painter, place, text, self.theme.dim, Qt.AlignmentFlag.AlignLeft)
            left += width
            if end == 0:
                bar = image(_LEGEND[sheet.kind], self._table(sheet.kind))
                frame = QRectF(left, top + 3, _LEGEND_PX, height - 5)
                painter.drawImage(frame, bar)
                marks.outline(painter, frame, self.theme.frame)
                left += _LEGEND_PX + 4

    def _describe(self) -> None:
        sheet = self._sheet
        if sheet is None:
            self.setAccessibleDescription("")
        elif self._cursor is not None:
            self.setAccessibleDescription(entry_words(sheet, *self._cursor).replace("\n", "; "))
        else:
            self.setAccessibleDescription(statistics(sheet))


_LEGEND = {
    "signed": np.arange(0, 255, dtype=np.uint8)[None],
    "weights": np.arange(3, 255, dtype=np.uint8)[None],
    "mask": np.repeat(np.array([[0, 254]], dtype=np.uint8), 8, axis=1),
}
