"""A trace from elsewhere in a window of its own: stepped through, judged as far as it can be.

It is no run of ours: there are no slots, masks and attention to show, and nothing can be changed.
"""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.elided_label import ElidedLabel
from app.step_buttons import StepButtons
from app.theme import Theme
from app.views.next_token import NextTokenView
from app.views.timeline import TimelineView
from app.views.tokens import TokensView
from core.foreign.readouts import ForeignRun
from core.selection import Selection

FIRST_SIZE, LEAST_SIZE, FRAME_SIZE = QSize(980, 560), QSize(560, 420), QSize(16, 48)
TOKENS_PX, TIMELINE_PX = 112, 150


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
        self.line, self.steps = ElidedLabel(), StepButtons(theme)
        self._views: tuple[TokensView, NextTokenView, TimelineView] | None = None
        self._grid = QGridLayout()
        self.facts = QLabel("\n".join(run.facts))
        self._build()
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
        n, why_none = self.run.trace.n_calls, self._why_no_wrong()
        self.steps.show_steps(n, step, first_wrong, why_none)

    def _why_no_wrong(self) -> str:
        if self.run.trace.reference is None:
            return "nothing is judged, since the trace has no reference"
        return "no step is wrong"

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
        self.steps.dress(theme)
        self.facts.setMargin(theme.margin_px)
        self.select(self.selection)

    @Slot(object)
    def _select_of(self, selection: Selection) -> None:
        """What a view tells: its own step may be that of an earlier call."""
        self.select(replace(selection, layer=0, head=0))

    def _build(self) -> None:
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
        column.addWidget(self.steps)
        column.addWidget(self.line)
        column.addLayout(self._grid, 1)
        self.steps.step_wanted.connect(self.go_to)
        self.steps.add_keys(self)
        for keys in (QKeySequence(Qt.Key.Key_Escape), QKeySequence("Ctrl+W")):
            QShortcut(keys, self, self.close)
