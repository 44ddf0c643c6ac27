"""Sentences that are cut at a word where there is no room for all of them."""

import math
from functools import cached_property

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel

from app.theme import Theme
from app.widgets.letters import letters

_KEPT = 256
_ROOM_FOR_ONE = 1000


class Sentence(QLabel):
    """Says as many whole words as there are lines for; the tool tip has all of them.

    Its letters can be selected once the mouse is over it: a label that offers it at all times has a
    document made of every text.
    """

    def __init__(self, theme: Theme) -> None:
        """Empty at first."""
        super().__init__()
        self._cuts: dict[tuple[str, int, int], tuple[str, int]] = {}
        self._can_select = False
        self.setAutoFillBackground(True)  # what holds it is not painted with it
        self.setWordWrap(True)
        self.setFont(theme.sans(px=theme.small_px + 1))
        self.setContentsMargins(theme.margin_px, 2, theme.margin_px, 3)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    @cached_property
    def line_px(self) -> int:
        """Height of one line, margins included."""
        return self.height_of("x", _ROOM_FOR_ONE)

    def say(self, full: str, width: int, most_px: int) -> int:
        """Show a text in a width, at most so high; gives the height that it takes."""
        key = (full, width, most_px)
        kept = self._cuts.get(key)
        if kept is None:
            shown = self._cut(full, width, most_px)
            kept = shown, self.height_of(shown, width) if shown else 0
            if len(self._cuts) >= _KEPT:
                self._cuts.clear()
            self._cuts[key] = kept
        shown, height = kept
        if shown != self.text():
            self.setText(shown)
        tip = "" if shown == full else full
        if tip != self.toolTip():
            self.setToolTip(tip)
        return height

    def height_of(self, text: str, width: int) -> int:
        """Height of a text in as many lines as it needs, margins included."""
        margins = self.contentsMargins()
        room = max(1, width - margins.left() - margins.right())
        lines = letters(text, self.font(), room)  # those that are drawn
        return math.ceil(lines.height) + margins.top() + margins.bottom()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The letters as they were laid out before, while none of them can be selected."""
        if self._can_select:
            super().paintEvent(event)
            return
        inside = self.contentsRect()
        lines = letters(self.text(), self.font(), inside.width())
        down = int(max(0.0, inside.height() - lines.height) / 2)
        if down and self.alignment() & Qt.AlignmentFlag.AlignTop:
            down = 0
        painter = QPainter(self)  # in the ink of the label
        painter.drawStaticText(QPointF(inside.left(), inside.top() + down), lines.layout)
        painter.end()

    def enterEvent(self, event: QEnterEvent) -> None:
        """From now on letters can be selected."""
        super().enterEvent(event)
        self._can_select = True
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def leaveEvent(self, event: QEvent) -> None:
        """What is selected stays so."""
        super().leaveEvent(event)
        if not self.hasSelectedText():
            self._can_select = False
            self.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)

    def _cut(self, full: str, width: int, most_px: int) -> str:
        shown, words = full, full.split(" ")
        while len(words) > 1 and self.height_of(shown, width) > most_px:
            words.pop()
            shown = " ".join(words) + " …"
        return shown
