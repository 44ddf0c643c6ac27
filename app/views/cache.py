"""Slots × layers of the cache, with the numbers of each slot below.

More than 300 lines: cells, numbers and legend share one geometry.
"""

from dataclasses import replace
from operator import is_

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPen

from app.theme import Theme
from app.widgets import code_image, marks, slot_cells, slot_overview
from app.widgets.cache_words import facts_of, tip_of
from app.widgets.canvas import Hit
from app.widgets.data_table import TableData
from app.widgets.kept_part import KeptPart
from app.widgets.letters import letters
from app.widgets.off_strips import GOOD_ROW_PX, MOST_ROW_PX, RowPlaces
from app.widgets.slot_canvas import SlotCanvas
from app.widgets.slot_numbers import LABEL_PX, LabelRow, NumberPainter, label_rows
from app.widgets.slot_panel import SlotPanel
from app.widgets.slot_ruler import SlotRuler
from app.widgets.weight_words import part_words
from core.arrays import distinct
from core.readouts.cache import CacheReadout
from core.readouts.slot_labels import NumbersShown, SlotLabel
from core.readouts.slot_states import LayerRow, SlotState
from core.readouts.words import ranges

TOP_PX = 6
CELLS_FROM_PX = 6
BLANK = "the slots of the cache appear here, with the token that each one holds"
_NAME_FROM_PX = 9
_STATES = tuple(SlotState)
_COLUMNS = ("token index", "position id", "expected position", "text", "row")


class CacheView(SlotPanel):
    """Shows a `CacheReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _CacheCanvas(theme))


class _CacheCanvas(SlotCanvas):
    readout: CacheReadout | None

    def __init__(self, theme: Theme) -> None:
        labels = TOP_PX + 4 * theme.px(LABEL_PX) + 2
        super().__init__(theme, "Cache", labels + GOOD_ROW_PX, labels + MOST_ROW_PX + 2)
        self._colours = slot_cells.state_colours(theme)
        self._drags = False
        self._legend = KeptPart(theme.paper)
        self._names = KeptPart(theme.paper)
        self._known: tuple[tuple[object, ...], NumbersShown, tuple[LabelRow, ...]] | None = None

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        ruler = self.ruler()
        self._draw_names(painter, ruler, readout)
        if ruler.is_scrolled:
            self._draw_overview(painter, ruler, readout)
        places = self._places(ruler, readout)
        numbers, label_rows = self._numbers(ruler, readout)
        for number, row in enumerate(readout.rows):
            at = QRectF(0, places.top_of(number), ruler.gutter_px, places.height)
            self._draw_row(painter, ruler, readout, row, at)
            places.draw_lines(painter, ruler, self.theme, self._slots_shown(ruler), number)
        top = places.top_of(len(readout.rows))
        self._draw_capacity(painter, ruler, readout, top)
        number_painter = NumberPainter(painter, ruler, self.theme)
        for label_row in label_rows:
            number_painter.draw(label_row, numbers, readout.labels, top)
            top += self.theme.px(LABEL_PX)
        self._draw_choice(painter, ruler, readout, top)
        self._draw_side(painter, ruler, readout)

    def _top(self, ruler: SlotRuler) -> float:
        return TOP_PX + (slot_overview.STRIP_PX + 6 if ruler.is_scrolled else 0)

    def _places(self, ruler: SlotRuler, readout: CacheReadout) -> RowPlaces:
        labels = self.theme.px(LABEL_PX) * len(self._numbers(ruler, readout)[1])
        top = self._top(ruler)
        return RowPlaces.of(readout.rows, top, self.height() - top - 4 - labels, self.theme)

    def _numbers(
        self, ruler: SlotRuler, readout: CacheReadout
    ) -> tuple[NumbersShown, tuple[LabelRow, ...]]:
        """The numbers of the slots shown, and the rows in which they stand."""
        known, parts = self._known, (readout, ruler, self.slots)
        if known is None or not all(map(is_, known[0], parts)):
            numbers = readout.labels.numbers_of(self._slots_shown(ruler))
            is_folded = readout.has_equal_numbers and not numbers.has_wrong
            rows = label_rows(ruler, is_folded=is_folded)
            self._known = known = (parts, numbers, rows)
        return known[1:]

    def _slots_shown(self, ruler: SlotRuler) -> NDArray[np.int64]:
        return self.slots[ruler.first : ruler.first + ruler.n_shown]

    def _draw_overview(self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout) -> None:
        """The worst state of any layer, for all slots."""
        states = np.maximum.reduce([row.state for row in readout.rows])[self.slots]
        scale = self.devicePixelRatioF()
        slot_overview.draw(painter, ruler, TOP_PX, states, self._colours, self.theme, scale)

    def _draw_names(self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout) -> None:
        """The names of all rows, the same in most steps: of layers, and of the numbers below."""
        theme, places, width = self.theme, self._places(ruler, readout), ruler.gutter_px
        named: list[tuple[float, float, str]] = []
        for number, row in enumerate(readout.rows):
            if places.height >= theme.px(_NAME_FROM_PX):
                name = f"layer{'s' if len(row.layers) > 1 else ''} {ranges(row.layers)}"
                named.append((places.top_of(number), places.height, name))
        top, tall = places.top_of(len(readout.rows)), theme.px(LABEL_PX)
        for number, label_row in enumerate(self._numbers(ruler, readout)[1]):
            named.append((top + number * tall, tall, label_row.name))

        def draw(inner: QPainter) -> None:
            for row_top, height, name in named:
                marks.gutter_name(inner, theme, row_top, height, width, name)

        size, scale = QSize(int(width), self.height()), self.devicePixelRatioF()
        painter.drawPixmap(0, 0, self._names.picture(size, scale, tuple(named), draw))

    def _draw_row(
        self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout, row: LayerRow, at: QRectF
    ) -> None:
        slots = self._slots_shown(ruler)
        if ruler.column_px < CELLS_FROM_PX:
            self._draw_picture(painter, ruler, row.state[slots], at)
            return
        cells: dict[SlotState, list[QRectF]] = {}
        new: list[QRectF] = []
        sinks: list[QRectF] = []
        codes, is_new = row.state[slots].tolist(), row.is_new[slots].tolist()
        is_sink, top, height = readout.labels.sinks_in(slots).tolist(), at.top(), at.height()
        for i, code in enumerate(codes):
            cell, state = ruler.cell(ruler.first + i, top, height), _STATES[code]
            cells.setdefault(state, []).append(cell)
            if is_new[i] and state == SlotState.FOREIGN:
                new.append(cell)
            if is_sink[i] and state != SlotState.SINK:
                sinks.append(cell)
        slot_cells.draw_cells(painter, cells, self.theme)
        if new:
            slot_cells.draw_new(painter, new, self.theme)
            slot_cells.draw_alarm(painter, new, self.theme)
        if sinks:
            slot_cells.draw_sinks(painter, sinks, self.theme)
        if row.is_off.any():
            is_off = row.is_off_anywhere[slots] & (row.state[slots] != SlotState.NAN)
            columns = [c for c, off in zip(ruler.shown, is_off.tolist(), strict=True) if off]
            corners = [ruler.cell(column, at.top(), at.height()) for column in columns]
            slot_cells.draw_off(painter, corners, self.theme)

    def _draw_picture(
        self, painter: QPainter, ruler: SlotRuler, states: NDArray[np.uint8], at: QRectF
    ) -> None:
        """Narrow cells: of slots that share a pixel the state of the highest priority is seen."""
        place = QRectF(ruler.start, at.top(), ruler.end - ruler.start, at.height())
        most = int(place.width() * self.devicePixelRatioF())
        codes = code_image.pooled(states[None], 1, most)
        painter.drawImage(place, code_image.image(codes, self._colours))
        marks.outline(painter, place.adjusted(-1, -1, 1, 1), self.theme.frame)

    def _draw_capacity(
        self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout, bottom: float
    ) -> None:
        """A line after the last slot of the capacity, where more slots are shown."""
        is_beyond = readout.n_slots > readout.capacity and self.slot_scroll.part.is_by_slot
        if is_beyond and readout.capacity in ruler.shown:
            x = ruler.left(readout.capacity) - 1
            painter.setPen(QPen(self.theme.text, 2))
            painter.drawLine(QPointF(x, TOP_PX - 4), QPointF(x, bottom))

    def _draw_choice(
        self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout, bottom: float
    ) -> None:
        top = self._top(ruler)
        for column in ruler.shown if readout.axis.chosen is not None else ():
            if _is_chosen(readout, readout.labels[self.slots[column]]):
                cell = ruler.cell(column, top - 2, bottom - top + 2)
                marks.chosen(painter, cell.adjusted(0, 1, 0, -1), self.theme)

    def _draw_side(self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout) -> None:
        """Length and seen, then what the cells mean."""
        theme = self.theme
        left, width = ruler.side_left, ruler.side_px - theme.margin_px
        top, font = float(TOP_PX - 2), theme.sans(px=theme.small_px + 1)
        painter.setFont(font)
        part, _ = part_words(self._slots_shown(ruler), readout.n_slots)
        for text, is_wrong in (*facts_of(readout), *([(part, False)] if part else [])):
            lines = letters(text, font, width)
            painter.setPen(theme.alarm if is_wrong else theme.text)
            painter.drawStaticText(QPointF(left, top), lines.layout)
            top += lines.height + 1
        slots = self._slots_shown(ruler)
        codes = distinct(np.array([row.state[slots] for row in readout.rows]))
        place = QRectF(left, top + 4, width, self.height() - top - 8)
        has_off = any(row.is_off[:, slots].any() for row in readout.rows)
        self._draw_legend(painter, place, tuple(codes), has_off=has_off)

    def _draw_legend(
        self, painter: QPainter, place: QRectF, codes: tuple[int, ...], *, has_off: bool
    ) -> None:
        """Most steps have the same states: the legend is kept as a picture."""
        if place.height() < 1:
            return
        inside = QRectF(0, 0, place.width(), place.height())

        def draw(inner: QPainter) -> None:
            states = map(SlotState, codes)
            slot_cells.draw_legend(inner, inside, states, self.theme, has_off=has_off)

        shown = (codes, has_off, place.width(), place.height())
        size, scale = place.size().toSize(), self.devicePixelRatioF()
        legend = self._legend.picture(size, scale, shown, draw)
        painter.drawPixmap(QPointF(round(place.left()), round(place.top())), legend)

    # What is where

    def hit(self, at: QPointF) -> Hit | None:
        readout, ruler = self.readout, self.ruler()
        column = None if readout is None else ruler.column_at(at.x())
        if readout is None or column is None or at.y() < self._top(ruler) - 4:
            return None
        slot = int(self.slots[column])
        label, places = readout.labels[slot], self._places(ruler, readout)
        number, line = places.at(at.y())
        row, layer = readout.rows[number], readout.selection.layer
        if at.y() < places.top_of(len(readout.rows)):
            layer = line if line is not None else layer if layer in row.layers else row.layers[0]
        selection = replace(
            readout.selection,
            layer=layer,
            slot=slot,
            token_index=label.token_index,
            position_id=label.position_id,
        )
        off = [
            layer for layer, is_off in zip(row.layers, row.is_off[:, slot], strict=True) if is_off
        ]
        state = SlotState(int(row.state[slot]))
        return Hit("\n".join(tip_of(label, state, off, readout.capacity)), selection)

    def slot_of_token(self, token_index: int) -> int | None:
        slots = [] if self.readout is None else self.readout.labels.slots_of(token_index)
        return slots[0] if slots else None

    def n_rows(self) -> int:
        return 0 if self.readout is None else len(self.readout.rows)

    def row_middle(self, row: int) -> float:
        if self.readout is None:
            return 0.0
        ruler = self.ruler()
        places = self._places(ruler, self.readout)
        return places.top_of(row) + places.height / 2

    def table(self) -> TableData:
        readout = self.readout
        if readout is None:
            return super().table()
        slots = self.slots.tolist()
        states = [f"layers {ranges(row.layers)}" for row in readout.rows]

        def cell(row: int, column: int) -> str:
            slot = slots[row]
            if column >= len(_COLUMNS):
                code = int(readout.rows[column - len(_COLUMNS)].state[slot])
                return slot_cells.STATE_NAMES[SlotState(code)]
            label = readout.labels[slot]
            values = (
                label.token_index,
                label.position_id,
                label.expected_position_id,
                label.text,
                label.row,
            )
            return "" if values[column] is None else str(values[column])

        title = f"Cache after step {readout.step}"
        return TableData(title, (*_COLUMNS, *states), tuple(f"slot {s}" for s in slots), cell)

    # The strip of all slots is dragged

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._drags = (
            self.ruler().is_scrolled and event.position().y() < self._top(self.ruler()) - 4
        )
        if self._drags:
            self._drag_to(event.position().x())
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drags and event.buttons() & Qt.MouseButton.LeftButton:
            self._drag_to(event.position().x())
        else:
            super().mouseMoveEvent(event)

    def _drag_to(self, x: float) -> None:
        ruler = self.ruler()
        self.scroll_by(slot_overview.first_at(ruler, x) - ruler.first)


def _is_chosen(readout: CacheReadout, label: SlotLabel) -> bool:
    selection = readout.selection
    if selection.slot is not None:
        return label.slot == selection.slot
    return label.is_counted and label.token_index == selection.token_index
