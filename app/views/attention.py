"""Attention of all heads in one atlas, and one head enlarged, keys exactly as read."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from app.theme import Theme
from app.widgets import code_image, marks, scale_legend
from app.widgets.canvas import Canvas, Hit
from app.widgets.head_atlas import HEADER_PX, HeadAtlas
from app.widgets.order_switch import OrderSwitch
from app.widgets.panel import CanvasPanel
from app.widgets.slot_ruler import GUTTER_PX, SlotRuler
from core.readouts.attention import AttentionReadout, HeadGrid
from core.readouts.attention_keys import KeyLabel

LEGEND_PX = 24
BLANK = "the attention of every head appears here"
NO_QUERY = "no token of this text was computed yet"
_NAMES_FROM_PX = 11
_HATCH_FROM_PX = 6
_ZERO_FROM_PX = 16
_NUMBER_FROM_PX, _SPARSE_NUMBER_PX = 14, 24


class AttentionView(CanvasPanel):
    """Shows an `AttentionReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _AttentionCanvas(theme))


class _AttentionCanvas(Canvas):
    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Attention", HEADER_PX + LEGEND_PX + 44, 280)
        self._readout: AttentionReadout | None = None
        self._colours = code_image.palette(theme)
        self._switch = OrderSwitch(theme, self)
        self._switch.changed.connect(self.update)
        self._switch.hide()

    def show_readout(self, readout: AttentionReadout | None) -> None:
        self._readout = readout
        self._switch.setVisible(readout is not None)
        self.update()

    def resizeEvent(self, event: object) -> None:
        """The switch stands at the lower left."""
        size = self._switch.sizeHint()
        self._switch.setGeometry(
            self.theme.margin_px, self.height() - size.height(), size.width(), size.height()
        )

    def draw(self, painter: QPainter) -> None:
        readout = self._readout
        if readout is None or not readout.queries:
            self.draw_blank(painter, BLANK if readout is None else NO_QUERY)
            return
        grid = self._grid(readout)
        ruler = SlotRuler(self.width(), len(grid.columns))
        self._draw_enlarged(painter, ruler, readout, grid)
        atlas = self._atlas(readout)
        atlas.draw(painter, readout.atlas, self._colours, self.theme, self.devicePixelRatioF())
        marks.chosen(painter, atlas.tile(readout.layer, readout.head), self.theme)
        top = self.height() - LEGEND_PX + 6.0
        left = self._switch.geometry().right() + 12.0
        scale_legend.draw(painter, QPointF(left, top), self.width(), self._colours, self.theme)

    def hit(self, at: QPointF) -> Hit | None:
        readout = self._readout
        if readout is None or not readout.queries:
            return None
        return self._hit_atlas(readout, at) or self._hit_enlarged(readout, at)

    def _grid(self, readout: AttentionReadout) -> HeadGrid:
        return readout.by_slot if self._switch.is_by_slot else readout.by_token

    # The enlarged head

    def _row_height(self, readout: AttentionReadout) -> float:
        """As high as wide at most; whole pixels where there is room for them."""
        free = (self.height() - HEADER_PX - LEGEND_PX - 4) / len(readout.queries)
        ruler = SlotRuler(self.width(), len(self._grid(readout).columns))
        most = max(ruler.column_px, _NAMES_FROM_PX)
        return min(most, float(int(free)) if free >= 4 else free)

    def _draw_enlarged(
        self, painter: QPainter, ruler: SlotRuler, readout: AttentionReadout, grid: HeadGrid
    ) -> None:
        height = self._row_height(readout)
        n_rows, n_columns = grid.codes.shape
        place = QRectF(GUTTER_PX, HEADER_PX, n_columns * ruler.column_px, n_rows * height)
        scale = self.devicePixelRatioF()
        codes = code_image.pooled(
            grid.codes, int(place.height() * scale), int(place.width() * scale)
        )
        painter.drawImage(place, code_image.image(codes, self._colours))
        if min(height, ruler.column_px) >= _HATCH_FROM_PX:
            self._draw_codes(painter, ruler, grid, height)
        self._draw_names(painter, ruler, readout, grid, height)
        self._draw_now(painter, readout, place, height)
        self._draw_choice(painter, ruler, readout, grid, place, height)

    def _draw_codes(
        self, painter: QPainter, ruler: SlotRuler, grid: HeadGrid, height: float
    ) -> None:
        """What is no value: hatch for masked, dots for never written, signs for zero and NaN."""
        for row, first, last, code in _runs(grid.codes):
            top = HEADER_PX + row * height
            left, right = ruler.left(first), ruler.left(last + 1)
            place = QRectF(left, top, right - left, height)
            if code == code_image.MASKED:
                marks.hatch(painter, place, self.theme.dead)
            elif code == code_image.NEVER_WRITTEN:
                marks.outline(painter, place, self.theme.frame, style=Qt.PenStyle.DotLine)
            else:
                self._draw_signs(painter, ruler, (first, last), top, height, code)

    def _draw_signs(
        self,
        painter: QPainter,
        ruler: SlotRuler,
        columns: tuple[int, int],
        top: float,
        height: float,
        code: int,
    ) -> None:
        is_zero = code == code_image.ZERO
        if is_zero and min(height, ruler.column_px) < _ZERO_FROM_PX:
            return
        light = self.theme.paper if self.theme.name == "light" else self.theme.text
        colour = light if is_zero else self.theme.paper
        for column in range(columns[0], columns[1] + 1):
            cell = ruler.cell(column, top, height)
            marks.glyph(painter, cell, "0" if is_zero else "N", colour, self.theme)

    def _draw_names(
        self,
        painter: QPainter,
        ruler: SlotRuler,
        readout: AttentionReadout,
        grid: HeadGrid,
        height: float,
    ) -> None:
        theme = self.theme
        by = "slot" if self._switch.is_by_slot else "token"
        marks.gutter_name(painter, theme, 0, HEADER_PX, GUTTER_PX, by)
        n_apart = max(1, ceil(_NAMES_FROM_PX / height))
        for row in range(len(readout.queries) - 1, -1, -n_apart):  # the newest always has its name
            query = readout.queries[row]
            middle = HEADER_PX + (row + 0.5) * height
            top, place = middle - n_apart * height / 2, n_apart * height
            name = f"{query.token_index} {query.text}"
            marks.gutter_name(painter, theme, top, place, GUTTER_PX, name)
        painter.setFont(theme.mono(px=theme.small_px - 1))
        every = 1 if ruler.column_px >= _NUMBER_FROM_PX else 8
        has_room = every == 1 or ruler.column_px * every >= _SPARSE_NUMBER_PX
        for column in range(0, len(grid.columns) if has_room else 0, every):
            key = grid.columns[column]
            number = key.slot if self._switch.is_by_slot else key.claimed_token_index
            place = QRectF(ruler.left(column), 0, ruler.column_px * every, HEADER_PX)
            text = "–" if number is None else str(number)
            align = Qt.AlignmentFlag.AlignCenter if every == 1 else Qt.AlignmentFlag.AlignLeft
            marks.label(painter, place, text, theme.dim, align)
        for column, key in enumerate(grid.columns):
            if key.is_unwritten or key.is_foreign:
                marks.fill(painter, ruler.cell(column, HEADER_PX - 3, 2), theme.alarm)

    def _draw_now(
        self, painter: QPainter, readout: AttentionReadout, place: QRectF, height: float
    ) -> None:
        """A bar beside the rows that this step computed."""
        if readout.n_now:
            top = place.bottom() - readout.n_now * height
            painter.setPen(QPen(self.theme.new, 2))
            painter.drawLine(
                QPointF(GUTTER_PX - 3, top + 1), QPointF(GUTTER_PX - 3, place.bottom() - 1)
            )

    def _draw_choice(
        self,
        painter: QPainter,
        ruler: SlotRuler,
        readout: AttentionReadout,
        grid: HeadGrid,
        place: QRectF,
        height: float,
    ) -> None:
        selection = readout.selection
        for column, key in enumerate(grid.columns):
            is_token = selection.slot is None and key.token_index == selection.token_index
            if (selection.slot is not None and key.slot == selection.slot) or (
                is_token and selection.token_index is not None
            ):
                left = ruler.left(column)
                cell = QRectF(left, place.top(), max(3.0, ruler.column_px), place.height())
                marks.chosen(painter, cell, self.theme)

    def _hit_enlarged(self, readout: AttentionReadout, at: QPointF) -> Hit | None:
        grid = self._grid(readout)
        column = SlotRuler(self.width(), len(grid.columns)).column_at(at.x())
        row = int((at.y() - HEADER_PX) // self._row_height(readout))
        if column is None or not 0 <= row < len(readout.queries):
            return None
        key = grid.key(row, column)
        token = key.token_index if key.is_read else key.claimed_token_index
        selection = replace(readout.selection, slot=key.slot, token_index=token, position_id=None)
        return Hit("\n".join(_tip(readout, grid, row, column)), selection)

    def _atlas(self, readout: AttentionReadout) -> HeadAtlas:
        ruler = SlotRuler(self.width(), len(self._grid(readout).columns))
        height = self.height() - LEGEND_PX - 4
        place = QRectF(ruler.side_left, 0, ruler.side_px - self.theme.margin_px, height)
        return HeadAtlas(place, *readout.atlas.shape[:2])

    def _hit_atlas(self, readout: AttentionReadout, at: QPointF) -> Hit | None:
        found = self._atlas(readout).head_at(at)
        if found is None:
            return None
        layer, head = found
        return Hit(
            f"layer {layer}, head {head}", replace(readout.selection, layer=layer, head=head)
        )


def _runs(codes: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """(row, first column, last column, code) of neighbours with one code that is no value."""
    is_value = (codes >= code_image.LOWEST) & (codes <= code_image.HIGHEST)
    for row in range(len(codes)):
        changes = np.flatnonzero(np.diff(codes[row])) + 1
        firsts = [0, *changes.tolist()]
        lasts = [*(changes - 1).tolist(), codes.shape[1] - 1]
        for first, last in zip(firsts, lasts, strict=True):
            if not is_value[row, first]:
                yield row, first, last, int(codes[row, first])


def _tip(readout: AttentionReadout, grid: HeadGrid, row: int, column: int) -> Iterator[str]:
    query, key, code = readout.queries[row], grid.key(row, column), int(grid.codes[row, column])
    yield f"layer {readout.layer}, head {readout.head}"
    yield f"query: token {query.token_index} ‘{query.text}’, step {query.step}"
    yield f"key: {_key_words(key)}"
    if key.is_foreign and key.claimed_token_index is not None:
        yield f"the ledger claims token {key.claimed_token_index}"
    if code == code_image.MASKED:
        yield "masked" if key.is_read else "not read"
    elif code == code_image.NEVER_WRITTEN:
        yield "not there yet"
    else:
        yield f"weight {float(grid.weights[row, column])!r}"


def _key_words(key: KeyLabel) -> str:
    """What a key was when it was read; if it was not, what its column stands for."""
    if not key.is_read:
        return f"token {key.claimed_token_index}" if key.slot is None else f"slot {key.slot}"
    if key.token_index is not None:
        return f"slot {key.slot}, token {key.token_index} ‘{key.text}’"
    return f"slot {key.slot}, {'never written' if key.is_unwritten else 'a row of no token'}"
