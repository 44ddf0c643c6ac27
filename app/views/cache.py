"""Slots × layers of the cache, with the numbers of each slot below."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Canvas, Hit
from app.widgets.panel import CanvasPanel
from app.widgets.slot_cells import STATE_NAMES, draw_legend, draw_state, state_colour
from app.widgets.slot_ruler import GUTTER_PX, SlotRuler
from core.readouts.cache import CacheReadout
from core.readouts.slot_labels import SlotLabel
from core.readouts.slot_states import LayerRow, SlotState
from core.readouts.words import ranges

TOP_PX, LABEL_PX = 6, 14
ALL_LABELS_PX, NUMBERS_PX, SOME_NUMBERS_PX = 28, 14, 6
POOLED_PX = 2
BLANK = "the slots of the cache appear here, with the token that each one holds"
_LEAST_ROW_PX, _GOOD_ROW_PX, _MOST_ROW_PX = 5, 14, 28
_EVERY = 8
_SHORT_TEXT, _TEXT_GAP_PX = 4, 3


class CacheView(CanvasPanel):
    """Shows a `CacheReadout`."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, _CacheCanvas(theme))


@dataclass(frozen=True, slots=True)
class _LabelRow:
    """One row of labels: its name says what it shows of each slot."""

    name: str
    is_number: bool

    def text(self, label: SlotLabel) -> str:
        values: dict[str, object] = {
            "slot": label.slot,
            "token": label.token_index,
            "position": label.position_id,
            "token, position": label.token_index,
            "text": label.text,
        }
        value = values[self.name]
        if value is None:
            return "–" if label.is_counted and self.name != "text" else ""
        return str(value)

    def is_wrong(self, label: SlotLabel) -> bool:
        if self.name == "token":
            return label.is_token_wrong
        return self.name == "position" and _has_wrong_position(label)

    def is_dim(self, label: SlotLabel) -> bool:
        """Numbers that are all the same say little."""
        return label.slot == label.token_index == label.position_id and self.is_number


class _CacheCanvas(Canvas):
    def __init__(self, theme: Theme) -> None:
        labels = TOP_PX + 4 * LABEL_PX + 2
        super().__init__(theme, "Cache", labels + _GOOD_ROW_PX, labels + _MOST_ROW_PX + 2)
        self._readout: CacheReadout | None = None

    def show_readout(self, readout: CacheReadout | None) -> None:
        self._readout = readout
        self.update()

    def draw(self, painter: QPainter) -> None:
        readout = self._readout
        if readout is None:
            self.draw_blank(painter, BLANK)
            return
        ruler = SlotRuler(self.width(), readout.n_slots)
        height = self._row_height(readout)
        top = float(TOP_PX)
        for row in readout.rows:
            name = f"layer{'s' if len(row.layers) > 1 else ''} {ranges(row.layers)}"
            marks.gutter_name(painter, self.theme, top, height, GUTTER_PX, name)
            self._draw_row(painter, ruler, readout, row, QRectF(0, top, 0, height))
            top += height + 2
        self._draw_capacity(painter, ruler, readout, top)
        for label_row in self._label_rows(readout):
            self._draw_labels(painter, ruler, readout, label_row, top)
            top += LABEL_PX
        self._draw_choice(painter, ruler, readout, top)
        self._draw_side(painter, ruler, readout)

    def hit(self, at: QPointF) -> Hit | None:
        readout = self._readout
        if readout is None:
            return None
        slot = SlotRuler(self.width(), readout.n_slots).column_at(at.x())
        if slot is None:
            return None
        label, step = readout.labels[slot], self._row_height(readout) + 2
        row = readout.rows[min(int(max(0.0, at.y() - TOP_PX) // step), len(readout.rows) - 1)]
        is_in_row = at.y() < TOP_PX + step * len(readout.rows)
        layer = readout.selection.layer
        if is_in_row and layer not in row.layers:
            layer = row.layers[0]
        selection = replace(
            readout.selection,
            layer=layer,
            slot=slot,
            token_index=label.token_index,
            position_id=label.position_id,
        )
        state = SlotState(int(row.state[slot]))
        return Hit("\n".join(_tip(label, state)), selection)

    def _row_height(self, readout: CacheReadout) -> float:
        n_rows = len(readout.rows)
        free = self.height() - TOP_PX - 4 - LABEL_PX * len(self._label_rows(readout))
        return float(min(max(_LEAST_ROW_PX, free // n_rows - 2), _MOST_ROW_PX))

    def _label_rows(self, readout: CacheReadout) -> tuple[_LabelRow, ...]:
        px = SlotRuler(self.width(), readout.n_slots).column_px
        names: tuple[str, ...] = ()
        if px >= SOME_NUMBERS_PX:
            is_folded = readout.has_equal_numbers and not _is_any_wrong(readout)
            names = ("slot", "token, position") if is_folded else ("slot", "token", "position")
        if px >= ALL_LABELS_PX:
            names = (*names, "text")
        return tuple(_LabelRow(name, is_number=name != "text") for name in names)

    def _draw_row(
        self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout, row: LayerRow, at: QRectF
    ) -> None:
        if ruler.column_px < POOLED_PX:
            self._draw_pooled(painter, ruler, row, at)
            return
        for slot, code in enumerate(row.state.tolist()):
            cell = ruler.cell(slot, at.top(), at.height())
            is_sink = readout.labels[slot].is_sink
            draw_state(painter, cell, SlotState(code), self.theme, is_new=bool(row.is_new[slot]))
            if is_sink:
                painter.fillRect(QRectF(cell.left(), cell.top(), cell.width(), 3), self.theme.text)

    def _draw_pooled(self, painter: QPainter, ruler: SlotRuler, row: LayerRow, at: QRectF) -> None:
        """Slots that share pixels show the state of the highest priority among them."""
        n_cells = max(1, int(ruler.end - GUTTER_PX) // POOLED_PX)
        n_slots = len(row.state)
        for i in range(n_cells):
            first, last = i * n_slots // n_cells, max(1, (i + 1) * n_slots // n_cells)
            code = int(row.state[min(first, last - 1) : last].max())
            cell = QRectF(GUTTER_PX + i * POOLED_PX, at.top(), POOLED_PX, at.height())
            painter.fillRect(cell, state_colour(SlotState(code), self.theme))

    def _draw_capacity(
        self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout, bottom: float
    ) -> None:
        """A line after the last slot of the capacity, where more slots are shown."""
        if readout.n_slots > readout.capacity:
            x = ruler.left(readout.capacity) - 1
            painter.setPen(QPen(self.theme.text, 2))
            painter.drawLine(QPointF(x, TOP_PX - 4), QPointF(x, bottom))

    def _draw_labels(
        self,
        painter: QPainter,
        ruler: SlotRuler,
        readout: CacheReadout,
        row: _LabelRow,
        top: float,
    ) -> None:
        theme = self.theme
        name = {"token, position": "token = pos."}.get(row.name, row.name)
        marks.gutter_name(painter, theme, top, LABEL_PX, GUTTER_PX, name)
        is_narrow = ruler.column_px < NUMBERS_PX
        for label in readout.labels:
            is_wrong = row.is_wrong(label)
            if is_narrow and label.slot % _EVERY and not is_wrong:
                continue
            cell = ruler.cell(label.slot, top, LABEL_PX)
            if is_narrow:
                cell.setWidth(ruler.column_px * _EVERY)
            self._draw_label(painter, cell, row, label, is_wrong=is_wrong)

    def _draw_label(
        self, painter: QPainter, cell: QRectF, row: _LabelRow, label: SlotLabel, *, is_wrong: bool
    ) -> None:
        theme, text = self.theme, row.text(label)
        font = theme.mono(px=theme.small_px)
        font.setStrikeOut(label.has_left and row.name != "slot")
        painter.setFont(font)
        colour = theme.alarm if is_wrong else theme.dim if row.is_dim(label) else theme.text
        if label.has_left or not label.is_counted:
            colour = theme.dim
        is_left_aligned = cell.width() > 60
        align = Qt.AlignmentFlag.AlignLeft if is_left_aligned else Qt.AlignmentFlag.AlignCenter
        if painter.fontMetrics().horizontalAdvance(text) > cell.width() - _TEXT_GAP_PX:
            text = text[:_SHORT_TEXT]
        painter.setPen(colour)
        painter.drawText(cell, align | Qt.AlignmentFlag.AlignVCenter, text)
        if is_wrong:
            frame = cell if not is_left_aligned else QRectF(cell.left(), cell.top(), 20, LABEL_PX)
            marks.outline(painter, frame.adjusted(0, 0, 0, -1), theme.alarm)

    def _draw_choice(
        self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout, bottom: float
    ) -> None:
        for slot in _chosen_slots(readout):
            cell = ruler.cell(slot, TOP_PX - 2, bottom - TOP_PX + 2)
            marks.chosen(painter, cell.adjusted(1, 1, -1, -1), self.theme)

    def _draw_side(self, painter: QPainter, ruler: SlotRuler, readout: CacheReadout) -> None:
        """Length, seen and outcome, then what the cells mean."""
        theme = self.theme
        left, width = ruler.side_left, ruler.side_px - theme.margin_px
        top = float(TOP_PX)
        painter.setFont(theme.sans(px=theme.small_px + 1))
        for text, is_wrong in _facts(readout):
            place = QRectF(left, top, width, 200)
            flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft
            used = painter.boundingRect(place, flags, text)
            painter.setPen(theme.alarm if is_wrong else theme.text)
            painter.drawText(used, flags, text)
            top = used.bottom() + 1
        states = {SlotState(code) for row in readout.rows for code in np.unique(row.state).tolist()}
        draw_legend(painter, QRectF(left, top + 4, width, self.height() - top - 8), states, theme)


def _facts(readout: CacheReadout) -> Iterator[tuple[str, bool]]:
    for name, value, expected in (
        ("length", readout.length, readout.expected_length),
        ("seen", readout.seen, readout.expected_seen),
    ):
        of = f" of {readout.capacity}" if name == "length" else ""
        is_wrong = expected is not None and expected != value
        right = f", should be {expected}" if is_wrong else ""
        yield f"{name} {value}{of}{right}", is_wrong
    yield readout.outcome, readout.is_outcome_wrong
    if readout.is_pending:
        yield "verdict pending", False


def _is_any_wrong(readout: CacheReadout) -> bool:
    return any(label.is_token_wrong or _has_wrong_position(label) for label in readout.labels)


def _has_wrong_position(label: SlotLabel) -> bool:
    """Whether it is not what the policy demands, or not what the ledger claims."""
    return label.is_position_wrong or label.is_position_foreign


def _chosen_slots(readout: CacheReadout) -> list[int]:
    selection = readout.selection
    if selection.slot is not None:
        return [selection.slot] if selection.slot < readout.n_slots else []
    if selection.token_index is None:
        return []
    return [
        label.slot
        for label in readout.labels
        if label.is_counted and label.token_index == selection.token_index
    ]


def _tip(label: SlotLabel, state: SlotState) -> Iterator[str]:
    yield f"slot {label.slot}" + ("" if label.row is None else f" · row {label.row}")
    yield STATE_NAMES[state]
    if label.token_index is not None:
        yield f"token {label.token_index} ‘{label.text}’"
    if label.position_id is not None:
        yield f"position id {label.position_id}"
    if label.is_position_wrong:
        yield f"should be {label.expected_position_id}"
    is_foreign = label.claimed_token_index != label.token_index or label.is_position_foreign
    if is_foreign and label.claimed_token_index is not None:
        claim = f"token {label.claimed_token_index}, position id {label.claimed_position_id}"
        yield f"the ledger claims {claim}"
