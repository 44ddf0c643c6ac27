"""Back, on, along and to the first wrong step of a run that is recorded already."""

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QSlider, QToolButton, QWidget

from app.icons import icon
from app.theme import Theme

ICON_PX = 16
NAMES = {"back": "Back (←)", "step": "Step (→)", "first-wrong": "To first wrong step"}


class StepButtons(QWidget):
    """`step_wanted` is told with the number of a step; there may be none of it."""

    step_wanted = Signal(int)

    def __init__(self, theme: Theme) -> None:
        """Of a run of one step."""
        super().__init__()
        self._step, self._last = 0, 0
        self._first_wrong: int | None = None
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.buttons = {name: self._button(name) for name in NAMES}
        self._build()
        self.dress(theme)

    def show_steps(
        self, n_steps: int, step: int, first_wrong: int | None, why_none: str = "no step is wrong"
    ) -> None:
        """Where in the run it is; `why_none`: why there is no first wrong step, if so."""
        self._step, self._last, self._first_wrong = step, n_steps - 1, first_wrong
        with QSignalBlocker(self.slider):
            self.slider.setMaximum(self._last)
            self.slider.setValue(step)
        self.slider.setEnabled(self._last > 0)
        self.buttons["back"].setEnabled(step > 0)
        self.buttons["step"].setEnabled(step < self._last)
        wrong = self.buttons["first-wrong"]
        wrong.setEnabled(first_wrong is not None)
        wrong.setToolTip(f"Not now: {why_none}" if first_wrong is None else f"Step {first_wrong}")

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        for name, button in self.buttons.items():
            button.setIcon(icon(name, theme))
            button.setIconSize(QSize(theme.px(ICON_PX), theme.px(ICON_PX)))
            button.setMinimumSize(theme.target_px + 4, theme.target_px)

    def add_keys(self, window: QWidget) -> None:
        """The arrows, Page Up and Down, Home and End of a window."""
        steps = {"Left": -1, "Right": 1, "PgUp": -10, "PgDown": 10}
        for key, by in steps.items():
            QShortcut(QKeySequence(key), window, lambda by=by: self._want(self._step + by))
        QShortcut(QKeySequence("Home"), window, lambda: self._want(0))
        QShortcut(QKeySequence("End"), window, lambda: self._want(self._last))

    def _button(self, name: str) -> QToolButton:
        button = QToolButton()
        button.setAutoRaise(True)
        button.setAccessibleName(NAMES[name])
        button.setToolTip(NAMES[name])
        return button

    def _build(self) -> None:
        wrong = self.buttons["first-wrong"]
        wrong.setText(NAMES["first-wrong"])
        wrong.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.buttons["back"].clicked.connect(lambda: self._want(self._step - 1))
        self.buttons["step"].clicked.connect(lambda: self._want(self._step + 1))
        wrong.clicked.connect(lambda: self._want(self._first_wrong or 0))
        self.slider.setAccessibleName("Step looked at")
        self.slider.valueChanged.connect(self._want)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.buttons["back"])
        row.addWidget(self.buttons["step"])
        row.addWidget(self.slider, 1)
        row.addWidget(wrong)

    @Slot(int)
    def _want(self, step: int) -> None:
        self.step_wanted.emit(min(max(0, step), self._last))
