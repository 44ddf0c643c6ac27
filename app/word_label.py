"""A label whose word has a meaning of its own here: dotted underline, definition in the tooltip."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel

DEFINITIONS = {
    "token index": "place of a token in the text, from 0",
    "position id": "the number given to the position encoding for that token",
    "slot": "logical place in a sequence's cache",
    "row": "physical place in a buffer",
    "prefill": "the pass that reads the prompt",
    "decode": "a pass that reads one token",
    "chunk": "part of a prompt pass: tokens per prefill step",
    "capacity": "slots there are",
    "length": "slots that hold a row now",
    "seen": "tokens of the current text already read, evicted ones included",
    "window": "the visible set counts the query itself: p−W+1 … p; W = capacity",
    "policy": "what happens when there is no room",
    "sinks": "first tokens that are never let go",
    "seam": "one small pure function that owns one decision of the engine",
    "fault": "a named, wrong replacement of exactly one seam",
    "reference": "the independent computation without a cache",
    "verdict": "the answer of a comparison: right, rounding or wrong, and where first",
    "record": "the frozen account of one step",
}
"""The project's words, as they are meant everywhere in the window."""


class WordLabel(QLabel):
    """Takes the text; the word it stands for is the text in small letters unless given."""

    def __init__(self, text: str, word: str | None = None) -> None:
        """Without a definition it is a plain label."""
        super().__init__(text)
        self._meaning = DEFINITIONS.get((word or text).casefold())
        if self._meaning is not None:
            self.setToolTip(f"{(word or text).capitalize()}: {self._meaning}")

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text, and dots under it."""
        super().paintEvent(event)
        if self._meaning is None:
            return
        metrics, inside = self.fontMetrics(), self.contentsRect()
        top = inside.center().y() - metrics.height() // 2
        y = min(top + metrics.ascent() + 3, inside.bottom())
        painter = QPainter(self)
        colour = self.palette().color(self.foregroundRole())
        painter.setPen(QPen(colour, 1, Qt.PenStyle.DotLine))
        painter.drawLine(
            inside.left(), y, inside.left() + metrics.horizontalAdvance(self.text()), y
        )
        painter.end()
