"""A trace from elsewhere in a window of its own: stepped through, judged as far as it can be.

It is no run of ours: there are no slots, masks and attention to show, and nothing can be changed.
"""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.elided_label import ElidedLabel
from app.icons import icon
from app.theme import Theme
from app.views.next_token import NextTokenView
from app.views.timeline import TimelineView
from app.views.tokens import TokensView
from core.foreign.readouts import ForeignRun
from core.selection import Selection

FIRST_SIZE, LEAST_SIZE, FRAME_SIZE = QSize(980, 560), QSize(560, 420), QSize(16, 48)
TOKENS_PX, TIMELINE_PX = 112, 150
ICON_PX = 16


class ElsewhereWindow(QWidget):
    """Shows one trace, call by call."""

    def __init__(self, path: Path, run: ForeignRun, theme: Theme) -> None:
        """Opens at the first wrong call, else at the last one."""
        super().__init__(None, Qt.WindowType.Window)
        self.setObjectName("elsewhere-window")
        self.setWindowTitle(f"{path.name}, a trace from elsewhere")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumSize(LEAST_SIZE)
        self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize() - FRAME_SIZE))
        self.run = run
        last = run.trace.n_calls - 1
        first_wrong = run.first_wrong
        self.selection = Selection(step=last if first_wrong is None else first_wrong)
        self.line, self.slider = ElidedLabel(), QSlider(Qt.Orientation.Horizontal)
        self.buttons: dict[str, QToolButton] = {}
        self._views: tuple[TokensView, NextTokenView, TimelineView] | None = None
        self._grid = QGridLayout()
        self.facts = QLabel("\n".join(run.facts))
        self._build(last)
        self._add_keys(last)
        self.dress(theme)

    @property
    def views(self) -> tuple[TokensView, NextTokenView, TimelineView]:
        """The three panels."""
        assert self._views is not None  # noqa: S101  (`dress` makes them)
        return self._views

    @Slot(int)
    def go_to(self, step: int) -> None:
        """Look at a call; one that is not there is the nearest."""
        self.select(Selection(step=min(max(0, step), self.run.trace.n_calls - 1)))

    @Slot(object)
    def select(self, selection: Selection) -> None:
        """Look at a call, and a token of it."""
        self.selection = selection
        step, first_wrong = selection.step, self.run.first_wrong
        tokens, next_token, timeline = self.views
        tokens.show_readout(self.run.tokens(selection))
        next_token.show_readout(self.run.next_token(selection))
        timeline.show_readout(self.run.timeline(selection))
        self.line.set_full_text(self.run.line(step))
        with QSignalBlocker(self.slider):
            self.slider.setValue(step)
        last = self.run.trace.n_calls - 1
        self.buttons["back"].setEnabled(step > 0)
        self.buttons["step"].setEnabled(step < last)
        wrong = self.buttons["first-wrong"]
        wrong.setEnabled(first_wrong is not None)
        wrong.setToolTip(self._why_no_wrong() if first_wrong is None else f"Step {first_wrong}")

    def _why_no_wrong(self) -> str:
        if self.run.trace.reference is None:
            return "Not now: nothing is judged, since the trace has no reference"
        return "Not now: no step is wrong"

    def dress(self, theme: Theme) -> None:
        """Show in these colours and sizes."""
        old = self._views
        self._views = TokensView(theme), NextTokenView(theme), TimelineView(theme)
        for view in old or ():
            self._grid.removeWidget(view)
            view.hide()
            view.deleteLater()
        tokens, next_token, timeline = self._views
        tokens.setFixedHeight(theme.px(TOKENS_PX))
        timeline.setFixedHeight(theme.px(TIMELINE_PX))
        self._grid.addWidget(tokens, 0, 0, 1, 2)
        self._grid.addWidget(next_token, 1, 0)
        self._grid.addWidget(timeline, 2, 0, 1, 2)
        for view in self._views:
            view.selected.connect(self._select_of)
        for name, button in self.buttons.items():
            button.setIcon(icon(name, theme))
            button.setIconSize(QSize(theme.px(ICON_PX), theme.px(ICON_PX)))
            button.setMinimumSize(theme.target_px + 4, theme.target_px)
        self.facts.setMargin(theme.margin_px)
        self.select(self.selection)

    @Slot(object)
    def _select_of(self, selection: Selection) -> None:
        """What a view tells: its own step may be that of an earlier call."""
        self.select(replace(selection, layer=0, head=0))

    def _build(self, last: int) -> None:
        for name, words in (
            ("back", "Back (←)"),
            ("step", "Step (→)"),
            ("first-wrong", "To first wrong step"),
        ):
            self.buttons[name] = button = QToolButton()
            button.setAutoRaise(True)
            button.setAccessibleName(words)
            button.setToolTip(words)
        wrong = self.buttons["first-wrong"]
        wrong.setText("To first wrong step")
        wrong.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.buttons["back"].clicked.connect(lambda: self.go_to(self.selection.step - 1))
        self.buttons["step"].clicked.connect(lambda: self.go_to(self.selection.step + 1))
        wrong.clicked.connect(lambda: self.go_to(self.run.first_wrong or 0))
        self.slider.setAccessibleName("Step looked at")
        self.slider.setMaximum(last)
        self.slider.setEnabled(last > 0)
        self.slider.valueChanged.connect(self.go_to)
        bar = QHBoxLayout()
        bar.addWidget(self.buttons["back"])
        bar.addWidget(self.buttons["step"])
        bar.addWidget(self.slider, 1)
        bar.addWidget(wrong)
        self.facts.setWordWrap(True)
        self.facts.setFrameShape(QFrame.Shape.NoFrame)
        self.facts.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.facts.setTextFormat(Qt.TextFormat.PlainText)
        self.facts.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.facts.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.facts.setAccessibleName("What the trace tells")
        self._grid.addWidget(self.facts, 1, 1)
        self._grid.setColumnStretch(0, 3)
        self._grid.setColumnStretch(1, 2)
        self._grid.setRowStretch(1, 1)
        column = QVBoxLayout(self)
        column.addLayout(bar)
        column.addWidget(self.line)
        column.addLayout(self._grid, 1)

    def _add_keys(self, last: int) -> None:
        steps = {"Left": -1, "Right": 1, "PgUp": -10, "PgDown": 10, "Home": -last, "End": last}
        for key, by in steps.items():
            QShortcut(QKeySequence(key), self, lambda by=by: self.go_to(self.selection.step + by))
        for keys in (QKeySequence(Qt.Key.Key_Escape), QKeySequence("Ctrl+W")):
            QShortcut(keys, self, self.close)
