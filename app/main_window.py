"""Lays the panels out and joins them to the run; no logic of its own."""

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QPaintEvent, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFileDialog, QLabel, QMainWindow, QMessageBox, QToolBar, QWidget

from app.about import about_box
from app.action_set import ActionSet
from app.actions import ACTIONS
from app.docks.dock import Dock, FormScroll, ReadoutDock
from app.docks.registry import DockSpec
from app.draft import Draft
from app.faults_panel import FaultsPanel
from app.icons import icon
from app.layout import arrange, set_growth
from app.message_bar import MessageBar
from app.messages import Failed, Ready
from app.notice import Notice
from app.preferences import Preferences, layout_version
from app.reasons import STARTING, no_step
from app.run_control import RunControl
from app.settings_panel import SettingsPanel
from app.step_line import step_line
from app.theme import Theme
from app.transport import StepBar, TransportBar
from core.readouts.run_view import RunView

LEAST_SIZE = (1024, 640)
FIRST_SIZE = QSize(1440, 900)
FRAME_SIZE = QSize(16, 48)
SUFFIX = ".kvtrace"
TRACES = f"Traces (*{SUFFIX})"
SMALL = f"Small: made again on opening (*{SUFFIX})"
FULL = f"Full: with every number (*{SUFFIX})"


class MainWindow(QMainWindow):
    """The one window."""

    first_painted = Signal()
    settled = Signal()
    _viewed = Signal(object)
    _pointed = Signal(object)
    _emptied = Signal()

    def __init__(
        self,
        control: RunControl,
        dock_specs: Iterable[DockSpec],
        theme: Theme,
        preferences: Preferences,
    ) -> None:
        """Build every panel and join it to `control`."""
        super().__init__()
        self.control = control
        self._theme = theme
        self._preferences = preferences
        self._is_painted = False
        self.setWindowTitle("kvscope")
        self.setWindowIcon(icon("kvscope", theme))
        self.setMinimumSize(*LEAST_SIZE)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.actions_by_id = ActionSet(ACTIONS, self, theme)
        self.setup = SettingsPanel(theme)
        self.faults = FaultsPanel(theme)
        self.transport = TransportBar(self.actions_by_id.actions, theme)
        self.step_bar = StepBar(theme)
        self.message_bar = MessageBar(theme, self)
        self._engine_state = QLabel(f"{STARTING}…")
        self._engine_state.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._engine_state.setContentsMargins(0, 0, theme.margin_px, 0)
        self.panels = self._make_panels()
        self.readout_docks = tuple(ReadoutDock(spec, theme) for spec in dock_specs)
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._make_bars()
        self._make_menus()
        self._connect()
        self._restore()
        self._show_draft(control.draft)
        self.step_bar.say(f"{STARTING}…")
        self._show_situation()

    def showEvent(self, event: QShowEvent) -> None:
        """The heights of the panels can be shared only once the window has its own."""
        super().showEvent(event)
        if not self._is_arranged:
            self._is_arranged = True
            self.reset_layout()
        self.setFocus()  # no control has it at first, so that plain keys are shortcuts

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The message keeps its corner."""
        super().resizeEvent(event)
        self._place_message()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout; whoever made the window ends the run."""
        self._preferences.keep_window(self.saveGeometry(), self.saveState(layout_version()))
        self._preferences.save()
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tell when the window can be seen for the first time."""
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            self.first_painted.emit()

    @Slot(object)
    def show_notice(self, notice: Notice) -> None:
        """Show a line above the panels."""
        self.message_bar.show_notice(notice)
        self._place_message()

    @Slot()
    def reset_layout(self) -> None:
        """Arrange the panels as at the first start."""
        arrange(self, self.panels, self.readout_docks)

    def open_file(self) -> None:
        """Ask for a trace and open it."""
        path, _ = QFileDialog.getOpenFileName(self, "Open trace", "", TRACES)
        if path:
            self.control.open_trace(Path(path))

    def save_file(self) -> None:
        """Ask for a place and save the run there."""
        path, kind = QFileDialog.getSaveFileName(self, "Save trace", "", f"{SMALL};;{FULL}")
        if not path:
            return
        # The dialog asks about the name as it was typed. Not every desktop's dialog completes it
        # before that, so about the completed one the window asks.
        named = Path(path) if path.endswith(SUFFIX) else Path(path + SUFFIX)
        if named == Path(path) or not named.exists() or self._may_replace(named):
            self.control.save_trace(named, full=kind == FULL)

    def show_about(self) -> None:
        """Say what this program is, in a window that blocks nothing."""
        about_box(self).show()

    def leave(self) -> None:
        """Close the window."""
        self.close()

    def _make_panels(self) -> tuple[Dock, ...]:
        setup = Dock("setup", "Setup", FormScroll(self.setup), self._theme)
        faults = Dock("faults", "Faults", self.faults, self._theme)
        return setup, faults

    def _make_bars(self) -> None:
        for name, content in (("Transport", self.transport), ("Step", self.step_bar)):
            self._add_bar(name, content)
        self.menuBar().setCornerWidget(self._engine_state)

    def _add_bar(self, name: str, content: QWidget) -> None:
        bar = QToolBar(name)
        bar.addWidget(content)
        bar.setObjectName(f"bar-{name.lower()}")
        bar.setMovable(False)
        bar.toggleViewAction().setVisible(False)
        self.addToolBar(bar)
        self.addToolBarBreak()

    def _may_replace(self, path: Path) -> bool:
        question = f"{path.name} is there already. Replace it?"
        answer = QMessageBox.question(self, "Save trace", question)
        return answer == QMessageBox.StandardButton.Yes

    def _place_message(self) -> None:
        margin_px = self._theme.margin_px
        self.message_bar.place(self.width() - margin_px, self.height() - self._theme.target_px)

    def _make_menus(self) -> None:
        self.menus = self.actions_by_id.fill(self.menuBar())
        for action in self.actions_by_id.actions.values():
            self.addAction(action)
        for dock in (*self.panels, *self.readout_docks):
            self.menus["View"].addAction(dock.toggleViewAction())

    def _restore(self) -> None:
        """Take the size and arrangement back; a layout of another version is left aside."""
        set_growth(self.panels, self.readout_docks)
        arrange(self, self.panels, self.readout_docks)
        if self._preferences.geometry.isEmpty():
            self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize() - FRAME_SIZE))
        else:
            self.restoreGeometry(self._preferences.geometry)
        self._is_arranged = self.restoreState(self._preferences.layout, layout_version())

    # What the run tells.

    def _connect(self) -> None:
        control = self.control
        control.ready.connect(self._on_ready)
        control.situation_changed.connect(self._refresh_soon)
        control.draft_loaded.connect(self._show_draft)
        control.run_asked.connect(self.message_bar.clear_notice)
        control.run_started.connect(self._on_run_started)
        control.stepped.connect(self.message_bar.clear_passing)
        control.misfit.connect(self._on_misfit)
        control.noticed.connect(self.show_notice)
        self._refresh_timer.timeout.connect(self._refresh)
        self.setup.edited.connect(control.set_up)
        self.faults.ticked.connect(control.set_faults)
        self.faults.scenario_wanted.connect(control.show_fault)
        self.transport.step_wanted.connect(control.go_to)
        self.transport.speed_wanted.connect(control.player.set_speed)
        self._viewed.connect(self._show_line)
        for dock in self.readout_docks:
            dock.selected.connect(control.select)
            self._viewed.connect(dock.show_view)
            dock.pointed.connect(self._pointed)
            self._pointed.connect(dock.show_pointed)
            self._emptied.connect(dock.show_nothing)

    @Slot(object)
    def _on_ready(self, message: Ready) -> None:
        self.setup.show_devices(message.devices)
        self._say_of_engine(f"torch {message.version} · {', '.join(message.devices)}")

    def _say_of_engine(self, text: str) -> None:
        self._engine_state.setText(text)
        self._engine_state.adjustSize()
        self.menuBar().setCornerWidget(self._engine_state)

    @Slot()
    def _on_run_started(self) -> None:
        self.setup.clear_errors()
        self.faults.clear_error()
        self.message_bar.clear_passing()

    @Slot(object)
    def _on_misfit(self, message: Failed) -> None:
        setup, faults = self.panels
        if message.place == "faults":
            self.faults.show_error(message.message)
            faults.raise_()
        elif message.place is not None and self.setup.has_place(message.place):
            self.setup.show_error(message.place, message.message)
            setup.raise_()
        else:
            self.show_notice(Notice(message.message))

    @Slot(object)
    def _show_draft(self, draft: Draft) -> None:
        self.setup.show_draft(draft)
        self.faults.show_faults(tuple(use.id for use in draft.faults))

    @Slot()
    def _refresh_soon(self) -> None:
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    @Slot()
    def _refresh(self) -> None:
        """Once per turn of the event loop, however much has changed in it."""
        self._show_situation()
        view = self.control.cursor.view()
        if view is None:
            self._say_why_nothing()
            return
        # By a signal, so that a panel which fails is reported and the others go on.
        self._viewed.emit(view)
        self.control.player.painted()
        if not self.control.situation().is_busy:
            self.settled.emit()

    @Slot(object)
    def _show_line(self, view: RunView) -> None:
        self.step_bar.show_line(step_line(view, self.control.cursor.end))

    def _say_why_nothing(self) -> None:
        """No step can be waited for any more: say so, and show no numbers of the run before."""
        situation = self.control.situation()
        reason = no_step(situation)
        if reason is not None and (situation.is_broken or not situation.is_starting):
            self.step_bar.say(reason)
            self._emptied.emit()

    def _show_situation(self) -> None:
        situation = self.control.situation()
        if situation.is_broken:
            self._say_of_engine("no engine")
        self.actions_by_id.update(situation)
        self.transport.show_steps(situation.n_records, situation.step)
        self.transport.show_speed(self.control.player.speed)
