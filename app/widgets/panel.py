"""A canvas with the sentence that says the same in words."""

from typing import Protocol

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app.theme import Theme
from app.widgets.canvas import Canvas
from app.widgets.sentence import Sentence
from core.selection import Selection


class Readout(Protocol):
    """What can be shown: each view draws one kind, and all say it in a sentence."""

    @property
    def sentence(self) -> str:
        """The same in words."""
        ...


class CanvasPanel(QWidget):
    """Hands a readout to its canvas, and on what is chosen there."""

    selected = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: Theme, canvas: Canvas) -> None:
        """Takes the canvas."""
        super().__init__()
        self._canvas = canvas
        self._full = ""
        canvas.setParent(self)
        self._sentence = Sentence(theme)
        self._sentence.setParent(self)
        self._sentence.hide()
        self.setFocusProxy(canvas)
        self.setAccessibleName(canvas.accessibleName())
        canvas.picked.connect(self.selected)
        canvas.pointed.connect(self.pointed)

    @property
    def sentence(self) -> str:
        """What is said under the canvas, in full."""
        return self._full

    @property
    def _under(self) -> str:
        """What is to be read under the canvas: nothing that it draws itself."""
        return "" if self._canvas.says_all() else self._full

    @property
    def sentence_px(self) -> int:
        """How high that sentence is; 0 where there is none."""
        return self._sentence.height() if self._under else 0

    @property
    def least_px(self) -> int:
        """Height in which the canvas and one line of the sentence are whole."""
        return self._canvas.minimumHeight() + self._sentence.line_px

    def show_readout(self, readout: Readout) -> None:
        """Draw it, and say it."""
        self._canvas.show_readout(readout)
        self.say(readout.sentence)

    @Slot(object)
    def show_pointed(self, selection: Selection | None) -> None:
        """Light up what the mouse is over, in whichever view; None: nothing."""
        self._canvas.show_pointed(selection)

    def clear(self) -> None:
        """Draw and say nothing."""
        self._canvas.show_readout(None)
        self.say("")

    def sizeHint(self) -> QSize:
        """Room for the canvas and a line."""
        hint = self._canvas.sizeHint()
        return QSize(hint.width(), hint.height() + self._sentence.line_px)

    def minimumSizeHint(self) -> QSize:
        """Room for the canvas."""
        return self._canvas.minimumSize()

    def say(self, sentence: str) -> None:
        """Put a sentence under the canvas, and into its description; an empty one hides it."""
        if sentence == self._full:
            return
        self._full = sentence
        self._sentence.setVisible(bool(self._under))
        self._canvas.setAccessibleDescription(sentence)
        self.setAccessibleDescription(sentence)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrower panel needs more lines for its sentence."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As many whole words as there are lines for; all of them in the tool tip."""
        free = self.height() - self._canvas.minimumHeight()
        most_px = max(free, self._sentence.line_px)
        self._place(self._sentence.say(self._under, self.width(), most_px))

    def _place(self, sentence_px: int) -> None:
        """No layout does this: it would arrange the whole window anew with every sentence."""
        canvas_px = max(0, self.height() - sentence_px)
        self._canvas.setGeometry(0, 0, self.width(), canvas_px)
        if sentence_px:  # Qt (6.11) takes the margins of a label that is polished without a height
            self._sentence.setGeometry(0, canvas_px, self.width(), sentence_px)
