"""Attention of all heads in one atlas, and one head enlarged, keys exactly as read.

More than 300 lines: both are drawn on one canvas and share its geometry.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QRegion, QResizeEvent

from app.theme import Theme
from app.widgets import code_image, head_rows, marks, scale_legend
from app.widgets.canvas import Hit
from app.widgets.data_table import TableData
from app.widgets.head_atlas import HEADER_PX, HeadAtlas
from app.widgets.head_rows import HeadRows
from app.widgets.kept_part import KeptPart
from app.widgets.letters import letters
from app.widgets.order_switch import OrderSwitch
from app.widgets.slot_canvas import SlotCanvas
from app.widgets.slot_panel import SlotPanel
from app.widgets.slot_scroll import SlotScroll
from app.widgets.token_words import query_name
from app.widgets.weight_words import code_words, key_words, part_words, weight_tip
from core.arrays import ABSENT
from core.readouts.attention import AttentionReadout, HeadGrid
from core.readouts.lazily import Lazily
from core.selection import Selection

TOP_PX, LEGEND_PX = 8, 24
BLANK = "the attention of every head appears here"
_LEAST_ROWS_PX, _PART_PX = 38, 16


class AttentionView(SlotPanel):
    """Shows an `AttentionReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _AttentionCanvas(theme))


class _AttentionCanvas(SlotCanvas):
    readout: AttentionReadout | None

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Attention", HEADER_PX + LEGEND_PX + _LEAST_ROWS_PX, 280)
        self._colours = code_image.palette(theme)
        self._switch = OrderSwitch(theme, self)
        self._switch.hide()
        self._fixed = KeptPart(QColor(Qt.GlobalColor.transparent))
        self._join(self.slot_scroll)

    def follow(self, scroll: SlotScroll) -> None:
        """The switch chooses for all views that follow."""
        for signal in (
            self._switch.by_slot_wanted,
            self._switch.by_token_wanted,
            self._switch.all_wanted,
            self._switch.part_wanted,
        ):
            signal.disconnect()
        super().follow(scroll)
        self._join(scroll)

    def _join(self, scroll: SlotScroll) -> None:
        self._switch.by_slot_wanted.connect(scroll.order_by_slot)
        self._switch.by_token_wanted.connect(scroll.order_by_token)
        self._switch.all_wanted.connect(scroll.show_all)
        self._switch.part_wanted.connect(scroll.show_part)

    def show_readout(self, readout: AttentionReadout | None) -> None:
        """Keep it, with the columns in which tokens stand."""
        super().show_readout(readout)
        self._switch.setVisible(readout is not None and bool(readout.queries))

    def refresh(self) -> None:
        """The switch shows what is chosen."""
        super().refresh()
        self._place_switch()

    def ask_for_paint(self) -> None:
        """Not of the switch, which lies on plain paper: its buttons would be painted with it."""
        self.update(QRegion(self.rect()) - QRegion(self._switch.geometry()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The switch stands at the lower left."""
        self._place_switch()

    def _place_switch(self) -> None:
        self._switch.show_part(self.slot_scroll.part, has_more=not self.ruler().fits)
        self._switch.move(self.theme.margin_px, self.height() - self._switch.height())

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None or not readout.queries:
            self.draw_blank(painter, BLANK if readout is None else readout.sentence)
            return
        rows, theme, scale = self._rows(readout), self.theme, self.devicePixelRatioF()
        columns = self._columns_shown(readout)
        codes = self._codes_shown(readout, columns)
        rows.draw_codes(painter, codes, self._colours, theme)
        rows.draw_names(painter, _names(readout), theme)
        rows.draw_now(painter, readout.n_now, theme)
        if self._has_numbers(readout):
            weights = np.where(columns >= 0, self._grid(readout).newest_weights[columns], 0.0)
            rows.draw_numbers(painter, weights, codes[-1], theme)
        self._draw_marks(painter, rows, readout)
        atlas = self._atlas(readout)
        atlas.draw(painter, readout.atlas, self._colours, theme, scale)
        marks.chosen(painter, atlas.tile(readout.layer, readout.head), theme)
        self._draw_fixed(painter, atlas)
        self._draw_part(painter, readout)

    def says_all(self) -> bool:
        return self.readout is not None and not self.readout.queries

    def _draw_fixed(self, painter: QPainter, atlas: HeadAtlas) -> None:
        """The names of the heads and the legend: kept, as they are the same in every step."""
        left, theme = self._switch.geometry().right() + 12.0, self.theme
        end, middle = self.ruler().side_left - theme.margin_px, self._legend_middle()

        def draw(inner: QPainter) -> None:
            atlas.draw_names(inner, theme)
            scale_legend.draw(inner, QPointF(left, middle), end, self._colours, theme)

        place = atlas.place.getRect()
        shown = (place, atlas.n_layers, atlas.n_heads, left, end, middle)
        fixed = self._fixed.picture(self.size(), self.devicePixelRatioF(), shown, draw)
        legend_top, side_left = self.height() - theme.px(LEGEND_PX), int(atlas.place.left()) - 4
        for part in (  # above the legend, and left of the heads, there is nothing
            QRect(0, legend_top, self.width(), theme.px(LEGEND_PX)),
            QRect(side_left, 0, self.width() - side_left, legend_top),
        ):
            painter.setClipRect(part)
            painter.drawPixmap(0, 0, fixed)
        painter.setClipping(False)

    def _draw_part(self, painter: QPainter, readout: AttentionReadout) -> None:
        """Which slots are shown, where it is not all of them, below the heads."""
        ruler, theme = self.ruler(), self.theme
        words, short = part_words(self._slots_shown(), readout.axis.n_slots)
        font = theme.sans(px=theme.small_px)
        part_px = theme.px(_PART_PX)
        top, width = self._legend_middle() - part_px / 2, ruler.side_px - theme.margin_px
        place = QRectF(ruler.side_left, top, width, part_px)
        if letters(words, font).width > place.width():
            words = short
        painter.setFont(font)
        marks.label(painter, place, words, theme.dim, Qt.AlignmentFlag.AlignLeft)

    def _legend_middle(self) -> float:
        """What stands below the rows is in one line with the switch."""
        return self.height() - self._switch.height() / 2

    def draw_pointed(self, painter: QPainter, selection: Selection) -> None:
        """The tile of the head that is pointed at."""
        readout = self.readout
        if readout is None or not readout.queries:
            return
        n_layers, n_heads = readout.atlas.shape[:2]
        is_other = (selection.layer, selection.head) != (readout.layer, readout.head)
        if is_other and selection.layer < n_layers and selection.head < n_heads:
            tile = self._atlas(readout).tile(selection.layer, selection.head)
            marks.outline(painter, tile.adjusted(-2, -2, 2, 2), self.theme.text, px=2)

    def _draw_marks(self, painter: QPainter, rows: HeadRows, readout: AttentionReadout) -> None:
        """Columns whose row is not what it should be, and the one that is looked at."""
        chosen, ruler = readout.axis.chosen, rows.ruler
        for place in np.flatnonzero(_is_odd(readout, self._slots_shown())).tolist():
            marks.fill(painter, ruler.cell(ruler.first + place, 2, 3), self.theme.alarm)
        if chosen is not None and self.column_of(chosen) in ruler.shown:
            left, width = ruler.left(self.column_of(chosen)), max(3.0, ruler.column_px)
            tall = rows.height * rows.n_rows
            marks.chosen(painter, QRectF(left, rows.top, width, tall), self.theme)

    # Which columns

    def _grid(self, readout: AttentionReadout) -> HeadGrid:
        return readout.by_slot if self.slot_scroll.part.is_by_slot else readout.by_token

    def _slots_shown(self) -> NDArray[np.int64]:
        ruler = self.ruler()
        return self.slots[ruler.first : ruler.first + ruler.n_shown]

    def _columns_shown(self, readout: AttentionReadout) -> NDArray[np.int64]:
        """[columns shown] the column of the grid at each place of the ruler; -1: none."""
        slots = self._slots_shown()
        if self.slot_scroll.part.is_by_slot:
            return slots
        newest = readout.by_token.keys[-1]
        claimed, slot_of = newest.claimed_token_index, newest.slot
        n_tokens = 1 + max(int(claimed.max(initial=-1)), int(readout.axis.tokens.max(initial=-1)))
        of_token = np.full(n_tokens + 1, -1, dtype=np.int64)
        of_slot = np.full(readout.axis.n_slots, -1, dtype=np.int64)
        is_token = claimed >= 0
        of_token[claimed[is_token]] = np.flatnonzero(is_token)
        of_slot[slot_of[~is_token]] = np.flatnonzero(~is_token)
        tokens = readout.axis.tokens[slots]
        return np.where(tokens >= 0, of_token[tokens], of_slot[slots])

    def _codes_shown(
        self, readout: AttentionReadout, columns: NDArray[np.int64]
    ) -> code_image.Codes:
        """[R, columns shown] codes; a column that no query read says only that."""
        codes = self._grid(readout).codes_of(columns)
        if (columns < 0).any():
            unread = readout.by_slot.codes_of(self._slots_shown())
            nothing = np.where(
                unread == code_image.NEVER_WRITTEN, code_image.NEVER_WRITTEN, code_image.MASKED
            )
            codes = np.where(columns < 0, nothing, codes).astype(np.uint8)
        return codes

    def _rows(self, readout: AttentionReadout) -> HeadRows:
        below = self.theme.px(LEGEND_PX) + 4
        if self._has_numbers(readout):
            below += self.theme.px(head_rows.NUMBERS_PX)
        free = self.height() - TOP_PX - below
        ruler = self.ruler()
        return HeadRows.of(ruler, len(readout.queries), TOP_PX, free, self.devicePixelRatioF())

    def _has_numbers(self, readout: AttentionReadout) -> bool:
        ruler = self.ruler()
        has_room = ruler.column_px >= head_rows.NUMBER_FROM_PX * ruler.scale
        return has_room and readout.n_now > 0

    def _atlas(self, readout: AttentionReadout) -> HeadAtlas:
        ruler = self.ruler()
        height = self.height() - self.theme.px(LEGEND_PX) - 4
        place = QRectF(ruler.side_left, 0, ruler.side_px - self.theme.margin_px, height)
        return HeadAtlas(place, *readout.atlas.shape[:2])

    # What is where

    def hit(self, at: QPointF) -> Hit | None:
        readout = self.readout
        if readout is None or not readout.queries:
            return None
        return self._hit_atlas(readout, at) or self._hit_enlarged(readout, at)

    def _hit_enlarged(self, readout: AttentionReadout, at: QPointF) -> Hit | None:
        ruler = self.ruler()
        column, row = ruler.column_at(at.x()), self._rows(readout).row_at(at.y())
        if column is None or row is None:
            return None
        place = column - ruler.first
        columns = self._columns_shown(readout)
        slot, found = int(self.slots[column]), int(columns[place])
        grid = self._grid(readout) if found >= 0 else readout.by_slot
        key = grid.key(row, found if found >= 0 else slot)
        code = int(self._codes_shown(readout, columns)[row, place])
        weight = float(grid.weights[row, found]) if found >= 0 else 0.0
        token = key.token_index if key.is_read else key.claimed_token_index
        selection = replace(
            readout.selection,
            slot=key.slot if key.slot is not None else slot,
            token_index=token,
            position_id=None,
        )
        return Hit("\n".join(weight_tip(readout, row, key, code, weight)), selection)

    def _hit_atlas(self, readout: AttentionReadout, at: QPointF) -> Hit | None:
        found = self._atlas(readout).head_at(at)
        if found is None:
            return None
        layer, head = found
        return Hit(
            f"layer {layer}, head {head}", replace(readout.selection, layer=layer, head=head)
        )

    def slot_of_token(self, token_index: int) -> int | None:
        if self.readout is None:
            return None
        places = np.flatnonzero(self.readout.axis.tokens == token_index)
        return int(places[0]) if len(places) else None

    def n_rows(self) -> int:
        return 0 if self.readout is None else len(self.readout.queries)

    def row_middle(self, row: int) -> float:
        return 0.0 if self.readout is None else self._rows(self.readout).middle(row)

    def crosshair_end(self) -> float:
        return float(self.height() - self.theme.px(LEGEND_PX))

    def table(self) -> TableData:
        readout = self.readout
        if readout is None:
            return super().table()
        grid = self._grid(readout)
        names = tuple(key_words(key) for key in grid.columns)
        rows = tuple(f"query {name}" for name in _names(readout))
        title = f"Attention of layer {readout.layer}, head {readout.head}"

        def cell(row: int, column: int) -> str:
            code = int(grid.codes[row, column])
            weight = float(grid.weights[row, column])
            return code_words(code, weight, is_read=grid.key(row, column).is_read)

        return TableData(title, names, rows, cell)


def _is_odd(readout: AttentionReadout, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[slots] whether the newest query read another row than the ledger claims, or twice."""
    newest = readout.by_slot.keys[-1]
    token, n_read = newest.token_index[slots], newest.n_read[slots]
    is_foreign = (token != ABSENT) & (token != newest.claimed_token_index[slots])
    return newest.is_unwritten[slots] | ((n_read > 0) & is_foreign) | (n_read > 1)


def _names(readout: AttentionReadout) -> Sequence[str]:
    """[R] of the queries; only those that are drawn are made."""
    queries = readout.queries
    return Lazily(len(queries), lambda row: query_name(queries[row].token_index, queries[row].text))
