"""A canvas with the sentence that says the same in words."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.theme import Theme
from app.widgets.canvas import Canvas


class CanvasPanel(QWidget):
    """Hands on what is chosen in its canvas."""

    selected = Signal(object)

    def __init__(self, theme: Theme, canvas: Canvas) -> None:
        """Takes the canvas."""
        super().__init__()
        self._canvas = canvas
        self._sentence = QLabel()
        self._sentence.setWordWrap(True)
        self._sentence.setFont(theme.sans(px=theme.small_px + 1))
        self._sentence.setContentsMargins(theme.margin_px, 2, theme.margin_px, 3)
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._sentence.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._sentence.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(canvas, 1)
        column.addWidget(self._sentence)
        self.setFocusProxy(canvas)
        self.setAccessibleName(canvas.accessibleName())
        canvas.picked.connect(self.selected)

    @property
    def sentence(self) -> str:
        """What stands under the canvas."""
        return self._sentence.text()

    def say(self, sentence: str) -> None:
        """Put a sentence under the canvas, and into its description; an empty one hides it."""
        self._sentence.setText(sentence)
        self._sentence.setVisible(bool(sentence))
        self._canvas.setAccessibleDescription(sentence)
        self.setAccessibleDescription(sentence)
