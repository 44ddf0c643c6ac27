"""The rows of labels under the slots: slot, token index, position id, text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from app.theme import Theme
from app.widgets import marks
from app.widgets.letters import letters
from app.widgets.slot_ruler import ALL_LABELS_PX, SlotRuler
from core.readouts.slot_labels import NumbersShown, SlotLabel

LABEL_PX = 14
NUMBERS_PX, SOME_NUMBERS_PX = 14, 6
_EVERY = 8
_MOST_EVERY = 64
_SHORT_TEXT, _TEXT_GAP_PX = 4, 3
_ROOMY_PX, _SMALLER_PX, _ROOMY_TEXT_PX = 18, 2, 34


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One row of labels; its name says what it shows of each slot."""

    name: str

    def texts(self, numbers: NumbersShown, labels: Sequence[SlotLabel]) -> list[str]:
        """What is written under each slot."""
        if self.name == "text":
            return [labels[slot].text or "" for slot in numbers.slot]
        if self.name == "slot":
            return [str(slot) for slot in numbers.slot]
        values = numbers.position_id if self.name == "position" else numbers.token_index
        return [
            str(value) if value is not None else "–" if is_counted else ""
            for value, is_counted in zip(values, numbers.is_counted, strict=True)
        ]

    def is_wrong(self, numbers: NumbersShown) -> list[bool]:
        """Which are not what is expected there."""
        if self.name == "token":
            return numbers.is_token_wrong
        if self.name == "position":
            return numbers.is_position_wrong
        return [False] * len(numbers.slot)

    def is_dim(self, numbers: NumbersShown, at: int) -> bool:
        """Numbers that are all the same say little."""
        token = numbers.token_index[at]
        is_equal = numbers.slot[at] == token == numbers.position_id[at]
        is_quiet = is_equal and self.name != "text"
        return numbers.has_left[at] or not numbers.is_counted[at] or is_quiet


def label_rows(ruler: SlotRuler, *, is_folded: bool) -> tuple[LabelRow, ...]:
    """The rows for which columns of a width have room, from the top.

    `is_folded`: one row says both numbers, as they are equal and none that is shown is wrong.
    """
    px = ruler.column_px / ruler.scale
    if px < SOME_NUMBERS_PX:
        return ()
    names = ["slot", "token = pos."] if is_folded else ["slot", "token", "position"]
    if px >= ALL_LABELS_PX:
        names.append("text")
    return tuple(LabelRow(name) for name in names)


class NumberPainter:
    """Draws rows of labels on a ruler."""

    def __init__(self, painter: QPainter, ruler: SlotRuler, theme: Theme) -> None:
        """Fonts are made once."""
        self._painter, self._ruler, self._theme = painter, ruler, theme
        self._is_narrow = ruler.column_px < NUMBERS_PX * ruler.scale
        px = theme.small_px - (_SMALLER_PX if ruler.column_px < _ROOMY_PX * ruler.scale else 0)
        self._font = theme.mono(px=px)
        self._ink: QColor | None = None
        is_tight = ruler.column_px < _ROOMY_TEXT_PX * ruler.scale
        self._text_font = theme.mono(px=px - 1 if is_tight else px)

    def draw(
        self, row: LabelRow, numbers: NumbersShown, labels: Sequence[SlotLabel], top: float
    ) -> None:
        """A row of the slots shown; `labels` are of all slots."""
        painter, ruler, theme = self._painter, self._ruler, self._theme
        tall = theme.px(LABEL_PX)
        font = self._text_font if row.name == "text" else self._font
        painter.setFont(font)
        self._ink = None
        texts = self._texts(row, numbers, labels, font)
        digit = letters("0", font)  # all are as wide
        upper = top + (tall - digit.height) / 2
        every = self._every(digit.width * max(map(len, texts), default=0))
        for at, (text, is_wrong) in enumerate(zip(texts, row.is_wrong(numbers), strict=True)):
            column = ruler.first + at
            if not text or (column % every and not is_wrong):
                continue
            left, width = ruler.left(column), digit.width * len(text)
            place_px = ruler.cell_px if width <= ruler.cell_px else width + 2.0
            self._take_ink(is_wrong=is_wrong, is_dim=row.is_dim(numbers, at))
            shown, first = letters(text, font), left + (place_px - width) / 2
            painter.drawStaticText(QPointF(first, upper), shown.layout)
            if numbers.has_left[at] and row.name != "slot":
                last_px = math.ceil(digit.width)
                self._strike(first, first + shown.width - digit.width + last_px, upper, font)
            if is_wrong:
                marks.outline(painter, QRectF(left, top, place_px, tall - 1), theme.alarm)
                self._ink = None

    def _texts(
        self, row: LabelRow, numbers: NumbersShown, labels: Sequence[SlotLabel], font: QFont
    ) -> list[str]:
        texts = row.texts(numbers, labels)
        if row.name != "text":
            return texts
        room = self._ruler.column_px - _TEXT_GAP_PX
        return [text if letters(text, font).width <= room else text[:_SHORT_TEXT] for text in texts]

    def _every(self, widest: float) -> int:
        """1, 2, 4 ..: every how many columns there is room for a number."""
        every = _EVERY if self._is_narrow else 1
        while every * self._ruler.column_px < widest + _TEXT_GAP_PX - 1 and every < _MOST_EVERY:
            every *= 2
        return every

    def _strike(self, left: float, right: float, top: float, font: QFont) -> None:
        """A line through letters: that of a struck font is put elsewhere by Qt (6.11) on a widget.

        A text that was laid out before has it nowhere but in a picture of its own.
        """
        metrics = QFontMetricsF(font)
        y = top + metrics.ascent() * 2 / 3
        pen = QPen(self._painter.pen().color(), metrics.lineWidth())
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        self._painter.setPen(pen)
        self._painter.drawLine(QLineF(math.floor(left), y, math.floor(right), y))
        self._ink = None

    def _take_ink(self, *, is_wrong: bool, is_dim: bool) -> None:
        theme = self._theme
        ink = theme.alarm if is_wrong else theme.dim if is_dim else theme.text
        if ink is not self._ink:
            self._ink = ink
            self._painter.setPen(ink)
