"""A line of text that is cut between two words."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

from app.widgets.letters import whole_words


class ElidedLabel(QLabel):
    """One line of text that ends in dots where it does not fit; then the tooltip has it all.

    It draws the text itself: a label that is given another text has the whole window arranged
    anew, for a line that is as high as before.
    """

    def __init__(self) -> None:
        super().__init__()
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
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), Qt.AlignmentFlag.AlignVCenter, self._shown)
        painter.end()

    def _fit(self) -> None:
        shown, width = self._full_text, self.contentsRect().width()
        # A letter is no wider than high, so short texts need no measuring.
        if len(shown) * self.fontMetrics().height() > width:
            shown = whole_words(shown, self.font(), width)
        if shown != self._shown:
            self._shown = shown
            self.update()
        tip = self._full_text if shown != self._full_text else ""
        if tip != self.toolTip():
            self.setToolTip(tip)
