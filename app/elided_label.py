"""A line of text that is cut between two words."""

import math

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

from app.widgets.letters import letters, whole_words


class ElidedLabel(QLabel):
    """One line of text that ends in dots where it does not fit; then the tooltip has it all.

    It draws the text itself: a label that is given another text has the whole window arranged
    anew, for a line that is as high as before.

    Attributes:
        most_lines: into how many lines the text may be broken, where the label is high enough.
    """

    def __init__(self) -> None:
        super().__init__()
        self.most_lines = 1
        self._full_text = ""
        self._shown = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    @property
    def full_text(self) -> str:
        """The text before it was cut."""
        return self._full_text

    def set_full_text(self, text: str) -> None:
        """Show a text."""
        self._full_text = text
        self.setAccessibleDescription(text)
        self._fit()

    def sizeHint(self) -> QSize:
        """As high as a line."""
        margins = self.contentsMargins()
        return QSize(0, self.fontMetrics().height() + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> QSize:
        """The same."""
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the text anew."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text as far as it fits."""
        painter, place = QPainter(self), self.contentsRect()
        painter.setPen(self.palette().color(self.foregroundRole()))
        if self._n_lines == 1:
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self._shown)
        else:
            lines = letters(self._shown, self.font(), place.width())
            down = int(max(0.0, place.height() - lines.height) / 2)
            painter.setFont(self.font())
            painter.drawStaticText(QPointF(place.left(), place.top() + down), lines.layout)
        painter.end()

    @property
    def _n_lines(self) -> int:
        """How many lines there is room for."""
        room = self.contentsRect().height() // lines_px(self.font(), 1)
        return max(1, min(self.most_lines, room))

    def _fit(self) -> None:
        shown, width = self._full_text, self.contentsRect().width()
        # A letter is no wider than high, so short texts need no measuring.
        if len(shown) * self.fontMetrics().height() > width:
            shown = _whole_lines(shown, self.font(), width, self._n_lines)
        if shown != self._shown:
            self._shown = shown
            self.update()
        tip = self._full_text if shown != self._full_text else ""
        if tip != self.toolTip():
            self.setToolTip(tip)


def lines_px(font: QFont, n_lines: int) -> int:
    """Height of some lines of a text."""
    return n_lines * math.ceil(letters("x", font).height)


def _whole_lines(text: str, font: QFont, width_px: int, n_lines: int) -> str:
    """As many whole words as fit into some lines, with dots where there are more."""
    if n_lines == 1:
        return whole_words(text, font, width_px)
    most_px, words, shown = lines_px(font, n_lines), text.split(" "), text
    while len(words) > 1 and letters(shown, font, width_px).height > most_px:
        words.pop()
        shown = " ".join(words).rstrip(" ·") + " …"
    return shown
