"""Which rows each query saw, beside those that it should see, on the ruler of the cache."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.theme import Theme
from app.widgets import code_image, marks
from app.widgets.canvas import Canvas, Hit
from app.widgets.code_image import Codes
from app.widgets.panel import CanvasPanel
from app.widgets.slot_ruler import GUTTER_PX, SlotRuler
from core.readouts.mask import MaskColumn, MaskReadout

TOP_PX = 6
_LEAST_PX, _GOOD_PX = 38, 80
BLANK = "the rows that each query may see appear here"
NO_QUERY = "no query in this step"
_LEAST_ROW_PX, _MOST_ROW_PX = 3, 22
_NAMES_FROM_PX = 11
_TRIANGLE_MOST_ROWS = 64
_TRIANGLE_LEAST_PX, _TRIANGLE_MOST_PX = 20, 130
_BRACKET_PX = 14
_MASKED, _SEEN, _EXPECTED, _WRONG = 1, 2, 3, 4


class MaskView(CanvasPanel):
    """Shows a `MaskReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _MaskCanvas(theme))


class _MaskCanvas(Canvas):
    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Mask", _LEAST_PX, _GOOD_PX)
        self._readout: MaskReadout | None = None
        colours = (theme.paper, theme.frame, theme.live, theme.text, theme.alarm)
        self._colours = np.array([colour.rgb() for colour in colours], dtype=np.uint32)

    def show_readout(self, readout: MaskReadout | None) -> None:
        self._readout = readout
        self.update()

    def _is_small(self, readout: MaskReadout) -> bool:
        """Whether cells have no room for signs, so that one picture shows as much."""
        ruler = SlotRuler(self.width(), readout.n_slots)
        return min(ruler.column_px, self._row_height(readout)) < marks.FRAME_PX

    def draw(self, painter: QPainter) -> None:
        readout = self._readout
        if readout is None or readout.query is None:
            self.draw_blank(painter, BLANK if readout is None else NO_QUERY)
            return
        ruler = SlotRuler(self.width(), readout.n_slots)
        if len(readout.queries) == 1:
            self._draw_pair(painter, ruler, readout, readout.query)
        else:
            self._draw_matrix(painter, ruler, readout)
        self._draw_choice(painter, ruler, readout)
        self._draw_side(painter, ruler, readout)

    def hit(self, at: QPointF) -> Hit | None:
        readout = self._readout
        if readout is None or readout.query is None:
            return None
        ruler = SlotRuler(self.width(), readout.n_slots)
        query = self._query_at(readout, at.y())
        if query is None:
            return None
        if at.x() < GUTTER_PX:
            asked = readout.queries[query]
            tip = (
                f"query: token {asked.token_index} ‘{asked.text}’, position id {asked.position_id}"
            )
            token = asked.token_index
            return Hit(tip, replace(readout.selection, token_index=token, slot=None))
        slot = ruler.column_at(at.x())
        place = next((i for i, c in enumerate(readout.columns) if c.slot == slot), None)
        if slot is None:
            return None
        if place is None:
            selection = replace(readout.selection, slot=slot, token_index=None, position_id=None)
            return Hit(f"slot {slot}\nnot read", selection)
        column = readout.columns[place]
        selection = replace(
            readout.selection,
            slot=slot,
            token_index=column.token_index,
            position_id=column.position_id,
        )
        return Hit("\n".join(_tip(readout, query, place)), selection)

    def _row_height(self, readout: MaskReadout) -> float:
        n = 2 if len(readout.queries) == 1 else len(readout.queries)
        free = (self.height() - TOP_PX - 4) / n
        return float(min(_MOST_ROW_PX, int(free) if free >= _LEAST_ROW_PX else free))

    def _query_at(self, readout: MaskReadout, y: float) -> int | None:
        row = int((y - TOP_PX) // self._row_height(readout))
        if len(readout.queries) == 1:
            return 0 if 0 <= row < 2 else None
        return row if 0 <= row < len(readout.queries) else None

    def _draw_pair(
        self, painter: QPainter, ruler: SlotRuler, readout: MaskReadout, query: int
    ) -> None:
        height = self._row_height(readout)
        for row, name in enumerate(("used", "expected")):
            top = TOP_PX + row * height
            marks.gutter_name(painter, self.theme, top, height, GUTTER_PX, name)
            if self._is_small(readout):
                codes = _used_codes(readout) if row == 0 else _expected_codes(readout)
                inset = 0.0 if row == 0 else height / 3
                self._draw_picture(painter, ruler, codes, top + inset, height - 2 - 2 * inset)
                continue
            for place, column in enumerate(readout.columns):
                cell = ruler.cell(column.slot, top, height - 2)
                if row == 0:
                    self._draw_used(painter, cell, readout, query, place)
                elif readout.is_judged[query]:
                    self._draw_expected(painter, cell, is_seen=bool(readout.expected[query, place]))
        if not readout.is_judged[query]:
            place = QRectF(GUTTER_PX, TOP_PX + height, ruler.end - GUTTER_PX, height)
            painter.setFont(self.theme.sans(px=self.theme.small_px))
            text = "verdict pending" if readout.is_pending else "not judged"
            marks.label(painter, place, text, self.theme.dim, Qt.AlignmentFlag.AlignLeft)

    def _draw_matrix(self, painter: QPainter, ruler: SlotRuler, readout: MaskReadout) -> None:
        height = self._row_height(readout)
        if self._is_small(readout):
            codes = _used_codes(readout)
            self._draw_picture(painter, ruler, codes, TOP_PX, height * len(readout.queries))
        for query, asked in enumerate(readout.queries):
            top = TOP_PX + query * height
            if height >= _NAMES_FROM_PX:
                name = f"{asked.token_index} {asked.text}"
                marks.gutter_name(painter, self.theme, top, height, GUTTER_PX, name)
            if self._is_small(readout):
                continue
            for place, column in enumerate(readout.columns):
                cell = ruler.cell(column.slot, top, height - 1)
                self._draw_used(painter, cell, readout, query, place)

    def _draw_picture(
        self, painter: QPainter, ruler: SlotRuler, codes: Codes, top: float, height: float
    ) -> None:
        place = QRectF(GUTTER_PX, top, ruler.end - GUTTER_PX, height)
        scale = self.devicePixelRatioF()
        codes = code_image.pooled(codes, int(height * scale), int(place.width() * scale))
        painter.drawImage(place, code_image.image(codes, self._colours))

    def _draw_used(
        self, painter: QPainter, cell: QRectF, readout: MaskReadout, query: int, place: int
    ) -> None:
        theme, is_seen = self.theme, bool(readout.used[query, place])
        is_wrong = bool(readout.is_judged[query]) and is_seen != bool(
            readout.expected[query, place]
        )
        if is_seen:
            marks.fill(painter, cell, theme.live)
        elif cell.width() >= marks.FRAME_PX and cell.height() >= marks.FRAME_PX:
            marks.hatch(painter, cell, theme.dead)
            marks.outline(painter, cell, theme.frame)
        if is_wrong:
            marks.outline(painter, cell, theme.alarm, px=2 if cell.height() > 8 else 1)
            marks.glyph(painter, cell, "+" if is_seen else "−", theme.alarm, theme)
        elif is_seen and readout.columns[place].is_odd:
            marks.outline(painter, cell, theme.alarm, px=1)
            marks.glyph(painter, cell, "!", theme.alarm, theme)

    def _draw_expected(self, painter: QPainter, cell: QRectF, *, is_seen: bool) -> None:
        marks.outline(painter, cell, self.theme.text)
        if is_seen:
            inset = min(cell.width(), cell.height()) / 3
            marks.fill(painter, cell.adjusted(inset, inset, -inset, -inset), self.theme.text)

    def _draw_choice(self, painter: QPainter, ruler: SlotRuler, readout: MaskReadout) -> None:
        height = self._row_height(readout)
        n_rows = max(2, len(readout.queries))
        for column in readout.columns:
            if _is_chosen(readout, column):
                cell = ruler.cell(column.slot, TOP_PX - 1, n_rows * height)
                marks.chosen(painter, cell, self.theme)
        if len(readout.queries) > 1 and readout.query is not None and height >= 5:
            top = TOP_PX + readout.query * height
            painter.setPen(QPen(self.theme.new, 2))
            painter.drawLine(QPointF(GUTTER_PX - 3, top), QPointF(GUTTER_PX - 3, top + height - 1))

    def _draw_side(self, painter: QPainter, ruler: SlotRuler, readout: MaskReadout) -> None:
        """The causal triangle with the row that was used and the right one, where both exist."""
        n, words = len(readout.columns), self._bracket_words(readout)
        painter.setFont(self.theme.sans(px=self.theme.small_px))
        metrics = painter.fontMetrics()
        longest = max((metrics.horizontalAdvance(text) for _, text, _ in words), default=0)
        free = ruler.side_px - longest - 22
        size = float(min(self.height() - 2 * TOP_PX, free, _TRIANGLE_MOST_PX))
        if not words or n > _TRIANGLE_MOST_ROWS or size < _TRIANGLE_LEAST_PX:
            return
        each, left, rows = size / n, ruler.side_left, {row for row, _, _ in words}
        for row in range(n):
            bar = QRectF(left, TOP_PX + row * each, each * (row + 1), max(1.0, each - 0.5))
            painter.fillRect(bar, self.theme.live if row in rows else self.theme.frame)
        self._draw_brackets(painter, words, QPointF(left, TOP_PX), each, n)

    def _bracket_words(self, readout: MaskReadout) -> list[tuple[int, str, QColor]]:
        """Row of the triangle, what it is, and its colour; from the top down."""
        theme, used, right = self.theme, readout.used_row, readout.right_row
        if used is not None and used == right:
            return [(used, f"used = right = row {used}", theme.dim)]
        words: list[tuple[int, str, QColor]] = []
        if used is not None:
            colour = theme.text if right is None else theme.alarm
            words.append((used, f"used = row {used}", colour))
        if right is not None:
            words.append((right, f"right = row {right}", theme.text))
        return sorted(words, key=lambda word: word[0])

    def _draw_brackets(
        self,
        painter: QPainter,
        words: list[tuple[int, str, QColor]],
        at: QPointF,
        each: float,
        n: int,
    ) -> None:
        lowest = self.height() - 9 - _BRACKET_PX * (len(words) - 1)
        taken = 8.0 - _BRACKET_PX
        for row, text, colour in words:
            y = at.y() + (row + 0.5) * each
            text_y = max(min(y, lowest), taken + _BRACKET_PX)
            taken, lowest = text_y, lowest + _BRACKET_PX
            start, end = at.x() + each * (row + 1) + 2, at.x() + each * n + 6
            painter.setPen(QPen(colour, 1))
            painter.drawLine(QPointF(min(start, end), y), QPointF(end, text_y))
            place = QRectF(end + 4, text_y - 8, self.width() - end - 4, 16)
            marks.label(painter, place, text, colour, Qt.AlignmentFlag.AlignLeft)


def _used_codes(readout: MaskReadout) -> Codes:
    """[T, n_slots] places in the colours: not read, masked, seen, or different from expected."""
    codes = np.zeros((len(readout.queries), readout.n_slots), dtype=np.uint8)
    found = np.where(readout.used, _SEEN, _MASKED)
    is_odd = np.array([column.is_odd for column in readout.columns], dtype=np.bool_)
    found[readout.is_blind | readout.is_leak | (readout.used & is_odd)] = _WRONG
    codes[:, [column.slot for column in readout.columns]] = found
    return codes


def _expected_codes(readout: MaskReadout) -> Codes:
    """[T, n_slots] likewise: to be seen, or not."""
    codes = np.zeros((len(readout.queries), readout.n_slots), dtype=np.uint8)
    slots = [column.slot for column in readout.columns]
    codes[:, slots] = np.where(readout.is_judged[:, None] & readout.expected, _EXPECTED, 0)
    return codes


def _is_chosen(readout: MaskReadout, column: MaskColumn) -> bool:
    selection = readout.selection
    if selection.slot is not None:
        return column.slot == selection.slot
    return selection.token_index is not None and column.token_index == selection.token_index


def _tip(readout: MaskReadout, query: int, place: int) -> Iterator[str]:
    asked, column = readout.queries[query], readout.columns[place]
    if column.token_index is None:
        row = "a row never written" if column.is_unwritten else "a row of no token"
    else:
        row = f"token {column.token_index} ‘{column.text}’"
    yield f"query: token {asked.token_index} ‘{asked.text}’"
    yield f"slot {column.slot}: {row}"
    if column.claimed_token_index not in (None, column.token_index):
        claim = f"token {column.claimed_token_index}, position id {column.position_id}"
        yield f"the ledger claims {claim}"
    elif column.position_id is not None:
        yield f"position id {column.position_id}"
    yield "seen" if readout.used[query, place] else "masked"
    if not readout.is_judged[query]:
        yield "verdict pending" if readout.is_pending else "not judged"
    elif readout.used[query, place] != readout.expected[query, place]:
        yield "should be seen" if readout.expected[query, place] else "should not be seen"
