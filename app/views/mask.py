"""Which rows each query saw, beside those that it should see, on the ruler of the cache."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap

from app.theme import Theme
from app.widgets import causal_triangle, code_image, marks, mask_cells, mask_regions
from app.widgets.canvas import Hit
from app.widgets.code_image import Codes
from app.widgets.data_table import TableData
from app.widgets.kept_part import KeptPart
from app.widgets.mask_cells import Kind
from app.widgets.mask_tips import mask_tip, sight_words
from app.widgets.slot_canvas import SlotCanvas
from app.widgets.slot_panel import SlotPanel
from app.widgets.slot_ruler import SlotRuler
from app.widgets.token_words import query_name
from core.arrays import ABSENT
from core.readouts.mask import MaskReadout
from core.selection import Selection

TOP_PX = 6
_LEAST_PX, _GOOD_PX = 38, 80
BLANK = "the rows that each query may see appear here"
_LEAST_ROW_PX, _MOST_ROW_PX = 3, 22
_NAMES_FROM_PX = 11
_MOST_CELLS = 700
_RIGHT = "right, or expected: rows that it should see"


class MaskView(SlotPanel):
    """Shows a `MaskReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _MaskCanvas(theme))


class _MaskCanvas(SlotCanvas):
    readout: MaskReadout | None

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Mask", _LEAST_PX, _GOOD_PX)
        self._places: list[NDArray[np.int64]] = []
        self._is_odd: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._rows = KeptPart(theme.paper)

    def show_readout(self, readout: MaskReadout | None) -> None:
        """Keep it, with the places in the view of each slot: of one read twice there are two."""
        if readout is not None:
            self._places, self._is_odd = readout.places, readout.is_odd
        super().show_readout(readout)

    # Drawing

    def draw(self, painter: QPainter) -> None:
        readout = self.readout
        if readout is None or readout.query is None:
            self.draw_blank(painter, BLANK if readout is None else readout.sentence)
            return
        ruler = self.ruler()
        if len(readout.queries) == 1:
            self._draw_pair(painter, ruler, readout)
        else:
            self._draw_matrix(painter, ruler, readout, readout.query)
        self._draw_choice(painter, ruler, readout)

    def says_all(self) -> bool:
        return self.readout is not None and self.readout.query is None

    def _draw_pair(self, painter: QPainter, ruler: SlotRuler, readout: MaskReadout) -> None:
        height = self._row_height(readout)
        rows = [QRectF(0, TOP_PX + n * height, ruler.gutter_px, height - 2) for n in range(2)]
        kinds = [self._used(readout, ruler)[0]]
        if readout.is_judged[0]:
            kinds.append(self._expected(readout, ruler)[0])
        painter.drawPixmap(0, 0, self._kept_rows(ruler, kinds, rows))
        causal_triangle.draw(painter, readout, rows, self.theme)
        if readout.is_judged[0]:
            return
        place = QRectF(ruler.start, rows[1].top(), ruler.end - ruler.start, rows[1].height())
        painter.setFont(self.theme.sans(px=self.theme.small_px))
        text = "verdict pending" if readout.is_pending else "not judged"
        marks.label(painter, place, text, self.theme.dim, Qt.AlignmentFlag.AlignLeft)

    def _kept_rows(
        self, ruler: SlotRuler, kinds: Sequence[Codes], rows: Sequence[QRectF]
    ) -> QPixmap:
        """The cells of rows on paper: kept, as they are the same in most steps of a decode."""

        def draw(inner: QPainter) -> None:
            for codes, row in zip(kinds, rows, strict=False):
                self._draw_row(inner, ruler, codes, row)

        where = (ruler.gutter_px, ruler.column_px, ruler.n_shown, rows[0].height())
        shown = (where, *(codes.tobytes() for codes in kinds))
        return self._rows.picture(self.size(), self.devicePixelRatioF(), shown, draw)

    def _draw_row(self, painter: QPainter, ruler: SlotRuler, kinds: Codes, at: QRectF) -> None:
        if min(ruler.column_px, at.height()) < marks.FRAME_PX:
            is_expected = bool(np.isin(kinds, (Kind.EXPECTED, Kind.UNEXPECTED)).any())
            inset = at.height() / 3 if is_expected else 0.0
            self._draw_picture(painter, ruler, kinds[None], at.adjusted(0, inset, 0, -inset))
            return
        mask_cells.draw_row(painter, ruler, kinds, at.top(), at.height(), self.theme)

    def _draw_matrix(
        self, painter: QPainter, ruler: SlotRuler, readout: MaskReadout, query: int
    ) -> None:
        height, n_rows = self._row_height(readout), len(readout.queries)
        kinds = self._used(readout, ruler)
        is_small = min(ruler.column_px, height) < marks.FRAME_PX or kinds.size > _MOST_CELLS
        if is_small:
            self._draw_picture(painter, ruler, kinds, QRectF(0, TOP_PX, 0, height * n_rows))
        every = max(1, int(np.ceil(self.theme.px(_NAMES_FROM_PX) / height)))
        for row in range(n_rows):
            top, asked = TOP_PX + row * height, readout.queries[row]
            if (n_rows - 1 - row) % every == 0:
                name, tall = query_name(asked.token_index, asked.text), every * height
                lift = (tall - height) / 2
                marks.gutter_name(painter, self.theme, top - lift, tall, ruler.gutter_px, name)
            if not is_small:
                mask_cells.draw_row(painter, ruler, kinds[row], top, height - 1, self.theme)
        if height >= 2:
            top = TOP_PX + query * height
            marks.fill(painter, QRectF(ruler.start - 4, top, 2, height), self.theme.new)

    def _draw_picture(self, painter: QPainter, ruler: SlotRuler, kinds: Codes, at: QRectF) -> None:
        place = QRectF(ruler.start, at.top(), ruler.end - ruler.start, at.height())
        scale = self.devicePixelRatioF()
        codes = code_image.pooled(kinds, int(place.height() * scale), int(place.width() * scale))
        mask_regions.draw(painter, codes, place, self.theme)
        marks.outline(painter, place.adjusted(-1, -1, 1, 1), self.theme.frame)

    def _used(self, readout: MaskReadout, ruler: SlotRuler) -> Codes:
        """[T, columns shown] what the mask did with each row, and whether that was right."""
        is_judged = readout.is_judged[:, None]

        def kinds(places: NDArray[np.int64]) -> Codes:
            used, expected = readout.used[:, places], readout.expected[:, places]
            found = np.where(used, Kind.SEEN, Kind.MASKED).astype(np.uint8)
            found[used & self._is_odd[places]] = Kind.ODD
            found[is_judged & expected & ~used] = Kind.BLIND
            found[is_judged & used & ~expected] = Kind.LEAK
            return found

        return self._shown(readout, ruler, kinds)

    def _expected(self, readout: MaskReadout, ruler: SlotRuler) -> Codes:
        """[T, columns shown] what each row should be."""

        def kinds(places: NDArray[np.int64]) -> Codes:
            return np.where(readout.expected[:, places], Kind.EXPECTED, Kind.UNEXPECTED)

        return self._shown(readout, ruler, kinds)

    def _shown(
        self,
        readout: MaskReadout,
        ruler: SlotRuler,
        kinds_of: Callable[[NDArray[np.int64]], Codes],
    ) -> Codes:
        """[T, columns shown] kinds; of several rows in one slot the highest."""
        slots = self.slots[ruler.first : ruler.first + ruler.n_shown]
        kinds = np.full((len(readout.queries), len(slots)), Kind.NOT_READ, dtype=np.uint8)
        for of_slot in self._places:
            places = of_slot[slots]
            is_read = places != ABSENT
            kinds[:, is_read] = np.maximum(kinds[:, is_read], kinds_of(places[is_read]))
        return kinds

    def _draw_choice(self, painter: QPainter, ruler: SlotRuler, readout: MaskReadout) -> None:
        height = self._row_height(readout) * self._n_lines(readout)
        chosen = readout.axis.chosen
        if chosen is not None and self.column_of(chosen) in ruler.shown:
            cell = ruler.cell(self.column_of(chosen), TOP_PX - 1, height)
            marks.chosen(painter, cell, self.theme)

    def draw_pointed(self, painter: QPainter, selection: Selection) -> None:
        """A line beside the query that is pointed at."""
        readout = self.readout
        if readout is None or len(readout.queries) < 2 or selection.slot is not None:
            return
        ruler, height = self.ruler(), self._row_height(readout)
        for row, query in enumerate(readout.queries):
            if query.token_index == selection.token_index:
                top, width = TOP_PX + row * height, ruler.end - ruler.start
                painter.setPen(QPen(self.theme.new, 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(QRectF(ruler.start - 1, top - 1, width + 1, height + 1))

    # What is where

    def hit(self, at: QPointF) -> Hit | None:
        readout = self.readout
        query = None if readout is None else self._query_at(readout, at.y())
        if readout is None or query is None:
            return None
        ruler = self.ruler()
        if at.x() < ruler.gutter_px:
            return _query_hit(readout, query)
        column = ruler.column_at(at.x())
        if column is None:
            return None
        slot = int(self.slots[column])
        places = np.flatnonzero(readout.slots == slot)
        if not len(places):
            selection = replace(readout.selection, slot=slot, token_index=None, position_id=None)
            return Hit(f"slot {slot}\nnot read", selection)
        found = readout.columns[places[0]]
        selection = replace(
            readout.selection,
            slot=slot,
            token_index=found.token_index,
            position_id=found.position_id,
        )
        return Hit("\n".join(mask_tip(readout, query, places)), selection)

    def slot_of_token(self, token_index: int) -> int | None:
        if self.readout is None:
            return None
        places = np.flatnonzero(self.readout.tokens == token_index)
        return int(self.readout.slots[places[0]]) if len(places) else None

    def n_rows(self) -> int:
        readout = self.readout
        return 0 if readout is None or readout.query is None else self._n_lines(readout)

    def row_middle(self, row: int) -> float:
        return TOP_PX + (row + 0.5) * (
            0.0 if self.readout is None else self._row_height(self.readout)
        )

    def table(self) -> TableData:
        readout = self.readout
        if readout is None:
            return super().table()
        columns = tuple(f"slot {column.slot}" for column in readout.columns)
        rows = tuple(f"query {query_name(q.token_index, q.text)}" for q in readout.queries)
        title = f"Mask of step {readout.step}, layer {readout.layer}"
        return TableData(title, columns, rows, lambda row, place: sight_words(readout, row, place))

    def _n_lines(self, readout: MaskReadout) -> int:
        return max(2, len(readout.queries))

    def _row_height(self, readout: MaskReadout) -> float:
        free = (self.height() - TOP_PX - 4) / self._n_lines(readout)
        return float(min(self.theme.px(_MOST_ROW_PX), int(free) if free >= _LEAST_ROW_PX else free))

    def _query_at(self, readout: MaskReadout, y: float) -> int | None:
        if readout.query is None:
            return None
        row = int((y - TOP_PX) // self._row_height(readout))
        if not 0 <= row < self._n_lines(readout):
            return None
        return 0 if len(readout.queries) == 1 else row


def _query_hit(readout: MaskReadout, query: int) -> Hit:
    asked = readout.queries[query]
    lines = [f"query: token {asked.token_index} ‘{asked.text}’, position id {asked.position_id}"]
    if len(readout.queries) == 1:
        lines += ["used: rows that the mask lets it see (the seam causal_mask)", _RIGHT]
    return Hit(
        "\n".join(lines), replace(readout.selection, token_index=asked.token_index, slot=None)
    )
