"""A canvas whose columns are slots: same places, order, scroll and crosshair in all of them."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QMouseEvent, QPainter, QWheelEvent

from app.theme import Theme
from app.widgets import pointing
from app.widgets.canvas import Hit
from app.widgets.kept_canvas import KeptCanvas
from app.widgets.slot_ruler import SlotRuler
from app.widgets.slot_scroll import SlotPart, SlotScroll
from core.readouts.slot_order import SlotAxis
from core.selection import Selection

_NOTCH, _COLUMNS_PER_NOTCH = 120, 4


_slot_ruler = lru_cache(64)(SlotRuler)
"""One ruler for all canvases of the same width: it keeps what it worked out."""


class SlotCanvas(KeptCanvas):
    """Sub-classes draw in `draw`, and light up what is pointed at in `draw_pointed`."""

    def __init__(self, theme: Theme, name: str, least_height: int, good_height: int) -> None:
        """With a scroll of its own until it follows another one."""
        super().__init__(theme, name, least_height, good_height)
        self._turned = 0.0
        self.slot_scroll = SlotScroll()
        self.slot_scroll.changed.connect(self.refresh)
        self._ruler: tuple[tuple[int, SlotAxis | None, SlotPart], SlotRuler] | None = None
        self._order: tuple[bool, SlotAxis, NDArray[np.int64], NDArray[np.int64]] | None = None

    def follow(self, scroll: SlotScroll) -> None:
        """Show the part and the order that others show too."""
        self.slot_scroll.changed.disconnect(self.refresh)
        self.slot_scroll = scroll
        scroll.changed.connect(self.refresh)
        self.refresh()

    def ruler(self) -> SlotRuler:
        """Where the columns of what is shown stand."""
        axis, part = self._axis(), self.slot_scroll.part
        key = (self.width(), axis, part)
        if self._ruler is None or self._ruler[0] != key:
            self._ruler = (key, self._new_ruler(axis, part))
        return self._ruler[1]

    def _new_ruler(self, axis: SlotAxis | None, part: SlotPart) -> SlotRuler:
        if axis is None:
            return _slot_ruler(self.width(), 1, scale=self.theme.scale)
        is_held = part.first is not None and axis.chosen in (None, part.chosen)
        seen = axis.newest if axis.chosen is None else axis.chosen
        in_sight = None if is_held else self.column_of(seen)
        return _slot_ruler(
            self.width(), axis.n_slots, part.first, in_sight, part.shows_all, self.theme.scale
        )

    @property
    def slots(self) -> NDArray[np.int64]:
        """[columns] the slot of each column."""
        return self._orders()[0]

    def column_of(self, slot: int) -> int:
        """The column of a slot."""
        return int(self._orders()[1][slot])

    def _orders(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        axis, is_by_slot = self._axis(), self.slot_scroll.part.is_by_slot
        if axis is None:
            return np.zeros(1, np.int64), np.zeros(1, np.int64)
        if self._order is None or self._order[0] != is_by_slot or self._order[1] is not axis:
            slots = np.arange(axis.n_slots) if is_by_slot else axis.by_token
            columns = np.empty_like(slots)
            columns[slots] = np.arange(axis.n_slots)
            self._order = (is_by_slot, axis, slots, columns)
        return self._order[2], self._order[3]

    def _axis(self) -> SlotAxis | None:
        return None if self.readout is None else self.readout.axis

    def slot_of_token(self, token_index: int) -> int | None:
        """The slot of a token, as this view knows it."""
        return None

    def n_rows(self) -> int:
        """Rows of cells that the keyboard moves through."""
        return 1

    def row_middle(self, row: int) -> float:
        """Where the middle of a row is."""
        return 0.0

    def crosshair_end(self) -> float:
        """Down to where the crosshair goes."""
        return float(self.height())

    def draw_pointed(self, painter: QPainter, selection: Selection) -> None:
        """Light up what is pointed at beside the slot."""

    # Drawing

    def draw_over(self, painter: QPainter) -> None:
        """The column that is pointed at, and what else is."""
        if self.pointed_at is not None:
            self._draw_crosshair(painter, self.pointed_at)
            self.draw_pointed(painter, self.pointed_at)

    def pointed_slot(self, selection: Selection) -> int | None:
        """The slot that is pointed at; a view that knows only the token leaves it to this one."""
        axis = self._axis()
        slot = selection.slot
        if slot is None and selection.token_index is not None:
            slot = self.slot_of_token(selection.token_index)
        return slot if slot is not None and axis is not None and slot < axis.n_slots else None

    def _draw_crosshair(self, painter: QPainter, selection: Selection) -> None:
        slot, ruler = self.pointed_slot(selection), self.ruler()
        if slot is not None and self.column_of(slot) in ruler.shown:
            place = ruler.cell(self.column_of(slot), 0, self.crosshair_end())
            pointing.draw_crosshair(painter, place, self.theme)

    # Mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """What is clicked stays where it is, also where not all slots are shown."""
        found = self.hit(event.position())
        if found is not None and found.selection is not None:
            self._hold(found.selection)
        super().mousePressEvent(event)

    def _hold(self, selection: Selection) -> None:
        ruler = self.ruler()
        if ruler.is_scrolled:
            self.slot_scroll.go_to(ruler.first, self.pointed_slot(selection))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel moves along the slots."""
        turned = event.angleDelta().x() or event.angleDelta().y()
        self._turned -= turned / _NOTCH * _COLUMNS_PER_NOTCH
        n_columns, self._turned = int(self._turned), self._turned - int(self._turned)
        if not self.scroll_by(n_columns):
            super().wheelEvent(event)

    def scroll_by(self, n_columns: int) -> bool:
        """Show the slots further on; False: all are shown."""
        ruler, axis = self.ruler(), self._axis()
        if not ruler.is_scrolled or axis is None:
            return False
        most = ruler.n_columns - ruler.n_shown
        self.slot_scroll.go_to(min(max(0, ruler.first + n_columns), most), axis.chosen)
        return True

    def pin(self, selection: Selection) -> None:
        """Choose it, and let it stay where it is."""
        self._hold(selection)
        super().pin(selection)

    def move_by(self, rows: int, columns: int) -> None:
        """Point at the next slot; the first key points at the one that is looked at."""
        axis, n_rows = self._axis(), self.n_rows()
        if axis is None or not n_rows:
            return
        if self.place is None:
            slot = axis.newest if axis.chosen is None else axis.chosen
            row, column = n_rows - 1, self.column_of(slot)
        else:
            row = min(max(0, self.place[0] + rows), n_rows - 1)
            column = min(max(0, self.place[1] + columns), axis.n_slots - 1)
        self.place = (row, column)
        self.point_there()

    def at_place(self, row: int, column: int) -> Hit | None:
        """What is in a row of a slot."""
        axis = self._axis()
        if axis is None:
            return None
        self._bring_into_sight(column, axis)
        ruler = self.ruler()
        return self.hit(QPointF(ruler.left(column) + ruler.column_px / 2, self.row_middle(row)))

    def _bring_into_sight(self, column: int, axis: SlotAxis) -> None:
        shown = self.ruler().shown
        if column not in shown:
            beyond = column - shown.stop + 1 if column >= shown.stop else column - shown.start
            self.slot_scroll.go_to(shown.start + beyond, axis.chosen)

    def unpinned(self) -> Selection | None:
        """The same step, layer and head, and nothing else."""
        chosen: Selection = self.readout.selection
        if (chosen.slot, chosen.token_index, chosen.position_id) == (None, None, None):
            return None
        return replace(chosen, slot=None, token_index=None, position_id=None)
