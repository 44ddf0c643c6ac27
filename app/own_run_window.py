"""A run of a small model whose keys and values somebody's class keeps, with the panels of any run.

It is recorded as a whole: nothing in it can be changed, and no step be added. Whoever makes it anew
when the file is saved says so here; until then it is of an older version, and says that.
"""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QCloseEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QTabWidget, QWidget

from app.cursor import Cursor
from app.docks.dock import Dock, ReadoutDock
from app.elided_label import ElidedLabel
from app.frame import add_bar, panel_actions
from app.icons import icon
from app.layouts import Layouts
from app.looks import Looks
from app.main_window import SEEN_IN
from app.own_code_source import OwnSource, line_in
from app.own_run import OwnRun
from app.own_run_docks import CODE_PX, RULE_PX, RuleText, placed, run_docks
from app.preferences import Preferences
from app.step_buttons import StepButtons
from app.step_line import step_line
from app.theme import Theme
from app.transport import StepBar
from app.widgets.slot_panel import share_scroll
from core.contract.names_in_file import class_source

LEAST_SIZE = (1024, 640)
FIRST_SIZE, FRAME_SIZE = QSize(1280, 800), QSize(16, 48)
GAP_PX = 16
RIGHT = "no step is wrong: with rows of a model these calls go right"
INFERRED = (
    "slots and what is in them are inferred: the rows that come back are compared with those "
    "that were given"
)


class RunPreferences(Preferences):
    """The same, with arrangements of panels of this window's own."""

    def arrangement(self, name: str):  # noqa: ANN201  (as the one below)
        """Arrangement of the panels of a layout."""
        return super().arrangement(f"own-run-{name}")

    def keep_arrangement(self, name: str, panels) -> None:  # noqa: ANN001
        """Remember the arrangement of the panels of a layout."""
        super().keep_arrangement(f"own-run-{name}", panels)


class OwnRunWindow(QMainWindow):
    """Shows one run, step by step."""

    def __init__(self, looks: Looks, preferences: Preferences) -> None:
        """Empty until there is a run."""
        super().__init__()
        self.setObjectName("own-run-window")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.run: OwnRun | None = None
        self._made_at = ""
        self._is_arranged = False
        theme = looks.theme
        self._theme = theme
        self.cursor_of_run = Cursor(self)
        self.source, self.rule = OwnSource(theme), RuleText(theme)
        self.readout_docks = tuple(ReadoutDock(spec, theme) for spec in run_docks())
        self.own_docks = self._own_docks(theme)
        share_scroll(dock.content for dock in self.readout_docks)
        own = RunPreferences(Path(preferences.path))
        self.layouts = Layouts(self, self.docks, looks, own)
        self.steps, self.step_bar = StepButtons(theme), StepBar(theme)
        self.state, self.about = ElidedLabel(), ElidedLabel()
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._bring_timer = QTimer(self)  # which panels stand behind others is known a turn later
        self._bring_timer.setSingleShot(True)
        self._build()
        self._connect(looks)
        self._colour()

    @property
    def docks(self) -> tuple[Dock, ...]:
        """Every panel."""
        return (*self.readout_docks, *self.own_docks)

    def dock(self, dock_id: str) -> Dock:
        """The panel of a name."""
        return next(dock for dock in self.docks if dock.id == dock_id)

    # What is shown.

    def show_run(self, run: OwnRun) -> None:
        """Show a run, from its first wrong step on."""
        self.run = run
        self._made_at = f"{datetime.now().astimezone():%H:%M:%S}"
        wish, spec = run.wish, run.held.spec
        self.setWindowTitle(f"{wish.name} of {wish.file} in a run")
        self.about.set_full_text(
            f"{run.about}; it keeps the keys and values of {spec.model}, capacity "
            f"{spec.capacity}; {INFERRED}"
        )
        first_wrong = run.first_wrong
        found = RIGHT if first_wrong is None else f"first wrong step: {first_wrong}"
        self._say_state("; ".join(part for part in (found, run.ended) if part))
        self.cursor_of_run.take_up(run.held)
        self._bring_timer.start()

    def call_old(self, why: str) -> None:
        """The file may have changed since, and why nothing newer is shown."""
        self._say_state(f"of the file as it was at {self._made_at}; {why}")

    def _say_state(self, words: str) -> None:
        row = None if self.run is None else self.run.wish.row
        name = "" if row is None else row.key if row.number is None else f"rule {row.number}"
        self.state.set_full_text(f"{name}: {words}")

    @Slot()
    def _refresh(self) -> None:
        view, run = self.cursor_of_run.view(), self.run
        if view is None or run is None:
            return
        step = view.selection.step
        for dock in self.readout_docks:
            dock.show_view(view)
        self.step_bar.show_line(step_line(view, None))
        self.steps.show_steps(len(view.records), step, run.first_wrong)
        said, wish = run.said.get(step, ""), run.wish
        self.source.show_source(class_source(wish.text, wish.name), line_in(said, wish.file))
        self.rule.show_step(run, step)

    @Slot()
    def _bring_forward(self) -> None:
        """Show the panel of the field that is wrong first, if it stands behind another."""
        view, run = self.cursor_of_run.view(), self.run
        if view is None or run is None or view.selection.step != run.first_wrong:
            return
        verdict = view.verdicts.get(view.selection.step)
        first = None if verdict is None else verdict.first_difference
        shows = () if first is None else SEEN_IN.get(first.field, ("attention",))
        docks = {dock.id: dock for dock in self.docks}
        for dock_id in reversed(shows):
            if dock_id in docks and docks[dock_id].is_behind:
                docks[dock_id].raise_()

    # Making it.

    def _own_docks(self, theme: Theme) -> tuple[Dock, ...]:
        code, rule = (
            placed(self.source, theme, CODE_PX),
            placed(self.rule, theme, RULE_PX),
        )
        return (
            Dock("code", "Your code", code, theme, area="right"),
            Dock("lesson", "Rule", rule, theme, area="right", tab_of="code"),
        )

    def _build(self) -> None:
        self.setMinimumSize(*LEAST_SIZE)
        self.setDocumentMode(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setWindowIcon(icon("kvscope", self._theme))
        add_bar(self, "Transport", self._bar())
        add_bar(self, "Step", self.step_bar)
        menu = self.menuBar().addMenu("&Window")
        menu.addActions(panel_actions(self.docks))
        menu.addSeparator()
        menu.addAction("Reset layout").triggered.connect(self.layouts.reset)
        menu.addAction("Close").triggered.connect(self.close)
        self.state.setAccessibleName("What is shown")
        self.about.setAccessibleName("What is inferred")
        self.statusBar().addWidget(self.about, 1)
        self.statusBar().setSizeGripEnabled(False)
        self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize() - FRAME_SIZE))
        self.layouts.reset()

    def _bar(self) -> QWidget:
        """The buttons, and beside them what is shown."""
        bar = QWidget()
        row = QHBoxLayout(bar)
        margin_px = self._theme.margin_px
        row.setContentsMargins(margin_px, 1, margin_px + 4, 1)
        row.setSpacing(GAP_PX)
        row.addWidget(self.steps, 1)
        row.addWidget(self.state, 1)
        return bar

    def _connect(self, looks: Looks) -> None:
        looks.changed.connect(self._dress)
        self.cursor_of_run.changed.connect(self._refresh_timer.start)
        self._refresh_timer.timeout.connect(self._refresh)
        self._bring_timer.timeout.connect(self._bring_forward)
        self.layouts.changed.connect(self._refresh_timer.start)
        self.layouts.arranged.connect(self._bring_timer.start)
        self.layouts.bars_lowered.connect(self._lower)
        self.steps.step_wanted.connect(self.cursor_of_run.go)
        self.steps.add_keys(self)
        for dock in self.readout_docks:
            dock.selected.connect(self.cursor_of_run.select)
            for other in self.readout_docks:
                dock.pointed.connect(other.show_pointed)
        QShortcut(QKeySequence("Ctrl+W"), self, self.close)

    @Slot(object)
    def _dress(self, theme: Theme) -> None:
        self._theme = theme
        for part in (self.steps, self.step_bar, self.source, self.rule, *self.docks):
            part.dress(theme)
        placed(self.source, theme, CODE_PX)
        placed(self.rule, theme, RULE_PX)
        self._colour()
        self._refresh_timer.start()
        self.layouts.follow_size()

    def _colour(self) -> None:
        for label in (self.state, self.about):
            label.setFont(self._theme.sans(px=self._theme.small_px))
            palette = label.palette()
            palette.setColor(label.foregroundRole(), self._theme.dim)
            label.setPalette(palette)

    @Slot(bool)
    def _lower(self, is_low: bool) -> None:  # noqa: FBT001  (a signal)
        """Where there is little room, what is inferred is said in the titles alone."""
        self.statusBar().setVisible(not is_low)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The panels may need another arrangement."""
        super().resizeEvent(event)
        self.layouts.size_changed()

    def showEvent(self, event: QShowEvent) -> None:
        """The heights of the panels can be shared only once the window has its own."""
        super().showEvent(event)
        if not self._is_arranged:
            self._is_arranged = True
            self.layouts.restore()
            self.setFocus()  # no control has it at first, so that arrows go from step to step

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember how the panels stand."""
        self.layouts.keep()
        super().closeEvent(event)
