"""The rows of labels under the slots: slot, token index, position id, text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QPainter

from app.theme import Theme
from app.widgets import marks
from app.widgets.letters import letters
from app.widgets.slot_ruler import SlotRuler
from core.readouts.slot_labels import SlotLabel

LABEL_PX = 14
ALL_LABELS_PX, NUMBERS_PX, SOME_NUMBERS_PX = 28, 14, 6
_EVERY = 8
_MOST_EVERY = 64
_SHORT_TEXT, _TEXT_GAP_PX = 4, 3
_ROOMY_PX, _SMALLER_PX, _ROOMY_TEXT_PX = 18, 2, 34
_VALUES: dict[str, Callable[[SlotLabel], object]] = {
    "slot": lambda label: label.slot,
    "token": lambda label: label.token_index,
    "position": lambda label: label.position_id,
    "token = pos.": lambda label: label.token_index,
    "text": lambda label: label.text,
}


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One row of labels; its name says what it shows of each slot."""

    name: str

    def text(self, label: SlotLabel) -> str:
        """What is written under a slot."""
        value = _VALUES[self.name](label)
        if value is None:
            return "–" if label.is_counted and self.name != "text" else ""
        return str(value)

    def is_wrong(self, label: SlotLabel) -> bool:
        """Whether it is not what is expected there."""
        if self.name == "token":
            return label.is_token_wrong
        return self.name == "position" and has_wrong_position(label)

    def is_dim(self, label: SlotLabel) -> bool:
        """Numbers that are all the same say little."""
        is_equal = label.slot == label.token_index == label.position_id
        return label.has_left or not label.is_counted or (is_equal and self.name != "text")


def label_rows(
    ruler: SlotRuler, shown: Iterable[SlotLabel], *, has_equal_numbers: bool
) -> tuple[LabelRow, ...]:
    """The rows for which columns of a width have room, from the top.

    One row says both numbers where they are equal in every slot and none of those shown is wrong.
    """
    px = ruler.column_px / ruler.scale
    if px < SOME_NUMBERS_PX:
        return ()
    is_folded = has_equal_numbers and not any(
        label.is_token_wrong or has_wrong_position(label) for label in shown
    )
    names = ["slot", "token = pos."] if is_folded else ["slot", "token", "position"]
    if px >= ALL_LABELS_PX:
        names.append("text")
    return tuple(LabelRow(name) for name in names)


def has_wrong_position(label: SlotLabel) -> bool:
    """Whether it is not what the policy demands, or not what the ledger claims."""
    return label.is_position_wrong or label.is_position_foreign


class NumberPainter:
    """Draws rows of labels on a ruler."""

    def __init__(self, painter: QPainter, ruler: SlotRuler, theme: Theme) -> None:
        """Fonts are made once."""
        self._painter, self._ruler, self._theme = painter, ruler, theme
        self._is_narrow = ruler.column_px < NUMBERS_PX * ruler.scale
        px = theme.small_px - (_SMALLER_PX if ruler.column_px < _ROOMY_PX * ruler.scale else 0)
        self._font = theme.mono(px=px)
        self._struck = QFont(self._font)
        self._is_struck = False
        self._ink: QColor | None = None
        is_tight = ruler.column_px < _ROOMY_TEXT_PX * ruler.scale
        self._text_font = theme.mono(px=px - 1 if is_tight else px)
        self._struck.setStrikeOut(True)

    def draw(self, row: LabelRow, labels: Sequence[tuple[int, SlotLabel]], top: float) -> None:
        """A row of the labels of (column, slot)."""
        painter, ruler, theme = self._painter, self._ruler, self._theme
        tall = theme.px(LABEL_PX)
        marks.gutter_name(painter, theme, top, tall, ruler.gutter_px, row.name)
        font = self._text_font if row.name == "text" else self._font
        painter.setFont(font)
        self._is_struck, self._ink = False, None
        texts = self._texts(row, [label for _, label in labels], font)
        digit = letters("0", font)  # all are as wide
        upper = top + (tall - digit.height) / 2
        every = self._every(digit.width * max(map(len, texts), default=0))
        for (column, label), text in zip(labels, texts, strict=True):
            is_wrong = row.is_wrong(label)
            if not text or (column % every and not is_wrong):
                continue
            left, width = ruler.left(column), digit.width * len(text)
            place_px = ruler.cell_px if width <= ruler.cell_px else width + 2.0
            shown_font = self._choose(row, label, font, is_wrong=is_wrong)
            at = QPointF(left + (place_px - width) / 2, upper)
            painter.drawStaticText(at, letters(text, shown_font).layout)
            if is_wrong:
                marks.outline(painter, QRectF(left, top, place_px, tall - 1), theme.alarm)
                self._ink = None

    def _texts(self, row: LabelRow, labels: Sequence[SlotLabel], font: QFont) -> list[str]:
        texts = [row.text(label) for label in labels]
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

    def _choose(self, row: LabelRow, label: SlotLabel, font: QFont, *, is_wrong: bool) -> QFont:
        """Take pen and font of a label; gives the font."""
        painter, theme = self._painter, self._theme
        is_struck = label.has_left and row.name != "slot"
        if is_struck != self._is_struck:
            self._is_struck = is_struck
            painter.setFont(self._struck if is_struck else font)
        dim_or_text = theme.dim if row.is_dim(label) else theme.text
        ink = theme.alarm if is_wrong else dim_or_text
        if ink is not self._ink:
            self._ink = ink
            painter.setPen(ink)
        return self._struck if is_struck else font
