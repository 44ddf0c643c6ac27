"""Lays the panels out and joins them to the run; no logic of its own.

More than 300 lines, because every panel is made, joined and dressed in one place; what can stand
alone has files of its own: `frame`, `layouts`, `looks`, `files`, `aids`, `lesson_links`.
"""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMainWindow, QTabWidget

from app.action_set import ActionSet
from app.actions import ACTIONS
from app.aids import Aids
from app.docks.dock import Dock, FormScroll, ReadoutDock
from app.docks.registry import DockSpec
from app.draft import Draft
from app.faults_panel import FaultsPanel
from app.files import CODE_SUFFIX, Files, dropped
from app.frame import add_bar, add_menus, panel_actions, rows_of_tabs
from app.icons import icon
from app.last_used import LastUsed
from app.layout import SETUP_PX
from app.layouts import Layouts
from app.lesson_links import LessonLinks
from app.looks import Looks
from app.message_bar import MessageBar
from app.messages import Failed, OpenedElsewhere, Ready
from app.notice import Notice
from app.preferences import Preferences
from app.reasons import STARTING, no_step
from app.run_control import RunControl
from app.settings_panel import SettingsPanel
from app.status_line import StatusLine, place
from app.step_line import step_line
from app.theme import Theme
from app.transport import StepBar, TransportBar
from app.widgets.slot_panel import share_scroll
from core.lessons import Show
from core.outcome import EndReason
from core.readouts.pointed import pointed_words
from core.readouts.run_view import RunView
from core.readouts.work import work_readout
from core.selection import Selection

LEAST_SIZE = (1024, 640)
FIRST_SIZE = QSize(1440, 900)
FRAME_SIZE = QSize(16, 48)
SEEN_IN = {
    "visible": ("mask",),
    **dict.fromkeys(
        ("outcome", "length", "position_ids", "slots", "keys", "values", "contents"),
        ("cache", "attention"),
    ),
}
"""field of a first difference -> the panels that show it, the one that shows it best first."""


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
        self._preferences = preferences
        self._is_painted = self._is_arranged = False
        self._wrong_field: str | None = None
        self._is_rearranged = False
        self._line_shown: tuple[RunView, EndReason | None] | None = None
        self.looks = Looks(theme, preferences, self)
        self.aids = Aids(self, control, preferences)
        self.links = LessonLinks(control, self)
        theme = self.looks.theme
        self.setup = SettingsPanel(theme)
        self._form = FormScroll(self.setup)
        self.faults = FaultsPanel(theme)
        self.panels = self._make_panels(theme)
        self.readout_docks = tuple(ReadoutDock(spec, theme) for spec in dock_specs)
        share_scroll(dock.content for dock in self.readout_docks)
        self.files = Files(self, control, preferences, LastUsed(self.docks, self).view)
        self.layouts = Layouts(self, self.docks, self.looks, preferences)
        self.actions_by_id = ActionSet(ACTIONS, self, theme)
        self.transport = TransportBar(self.actions_by_id.actions, theme)
        self.step_bar = StepBar(theme)
        self.status = StatusLine(theme)
        self.message_bar = MessageBar(theme, self)
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._build()
        self._connect()
        if control.known.own:
            self.faults.show_own(control.known.own)
        self._show_draft(control.draft)
        self.step_bar.say(f"{STARTING}…")
        self.status.show_engine(f"{STARTING}…")
        self._show_situation()

    @property
    def docks(self) -> tuple[Dock, ...]:
        """Every panel."""
        return (*self.panels, *self.readout_docks)

    def dock(self, dock_id: str) -> Dock | None:
        """The panel of a name; None: there is none."""
        return next((dock for dock in self.docks if dock.id == dock_id), None)

    # What Qt tells.

    def showEvent(self, event: QShowEvent) -> None:
        """The heights of the panels can be shared only once the window has its own."""
        super().showEvent(event)
        if not self._is_arranged:
            self._is_arranged = True
            self.layouts.restore()
            self._form.fit()
        if self._refresh_timer.isActive():
            self._refresh_timer.stop()
            self._refresh()  # what is there already is in the first picture
        self.setFocus()  # no control has it at first, so that plain keys are shortcuts

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The message keeps its corner; the panels may need another arrangement."""
        super().resizeEvent(event)
        self._place_message()
        self._place_status(self.statusBar().isHidden())
        self.layouts.size_changed()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  (a name of Qt)
        """The message goes along with the strip, however that is moved.

        Once more when all have their place: Qt moves the tabs below it after it.
        """
        is_moved = event.type() in (QEvent.Type.Move, QEvent.Type.Resize)
        if is_moved and self.message_bar.isVisible():
            self._place_message()
            self._settling.start()
        return super().eventFilter(watched, event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout; whoever made the window ends the run."""
        self._preferences.keep_geometry(self.saveGeometry())
        self.layouts.keep()
        self._preferences.save()
        self.aids.close_windows()
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tell when the window can be seen for the first time."""
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            self.first_painted.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """A trace can be dropped, and a file of code."""
        if dropped(event.mimeData()) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped; before code is run, the person is asked."""
        path = dropped(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            if path.suffix == CODE_SUFFIX:
                self.aids.open_code(self.looks, path)
            else:
                self.files.open_path(path)

    # What can be asked.

    @Slot(object)
    def show_notice(self, notice: Notice) -> None:
        """Show a line above the panels, and beside the field that it is about."""
        if notice.place is not None:
            self.setup.show_error(notice.place, notice.text)
        self.message_bar.show_notice(notice)
        self._place_message()

    def leave(self) -> None:
        """Close the window."""
        self.close()

    # Making it.

    def _make_panels(self, theme: Theme) -> tuple[Dock, ...]:
        setup = Dock("setup", "Setup", self._form, theme, height_px=SETUP_PX)
        return setup, Dock("faults", "Faults", self.faults, theme)

    def _build(self) -> None:
        self.setWindowTitle("kvscope")
        self.setMinimumSize(*LEAST_SIZE)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAcceptDrops(True)
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setWindowIcon(icon("kvscope", self.looks.theme))
        add_bar(self, "Transport", self.transport)
        add_bar(self, "Step", self.step_bar)
        self.menus = add_menus(self, self.actions_by_id, self.docks, self.files)
        self.aids.offer(self.actions_by_id.specs, self._commands)
        if self._preferences.geometry.isEmpty():
            self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize() - FRAME_SIZE))
        else:
            self.restoreGeometry(self._preferences.geometry)
        self.layouts.bars_lowered.connect(self._place_status)
        self.layouts.reset()
        strip = self.dock("diagnosis")
        if strip is not None:
            strip.installEventFilter(self)
        self._settling.timeout.connect(self._keep_message_above)

    def _commands(self) -> list[QAction]:
        return [*self.actions_by_id.actions.values(), *panel_actions(self.docks)]

    def _connect(self) -> None:
        control = self.control
        control.ready.connect(self._on_ready)
        control.situation_changed.connect(self._refresh_soon)
        control.draft_loaded.connect(self._show_draft)
        control.run_asked.connect(self.message_bar.clear_notice)
        control.run_started.connect(self._on_run_started)
        control.stepped.connect(self.message_bar.clear_passing)
        control.misfit.connect(self._on_misfit)
        control.wrong_reached.connect(self._bring_forward)
        control.opened_elsewhere.connect(self._on_opened_elsewhere)
        for source in (control, self.files, self.aids):
            source.noticed.connect(self.show_notice)
        self._refresh_timer.timeout.connect(self._refresh)
        self.setup.edited.connect(control.set_up)
        self.faults.ticked.connect(control.set_faults)
        self.faults.scenario_wanted.connect(control.show_fault)
        self.faults.from_here_wanted.connect(control.set_fault_from_here)
        self.faults.load_wanted.connect(self.files.load_faults)
        control.own_faults_changed.connect(self.faults.show_own)
        self.transport.step_wanted.connect(control.go_to)
        self.transport.speed_wanted.connect(control.player.set_speed)
        self.status.stop_wanted.connect(control.stop)
        self.looks.changed.connect(self._dress)
        self.layouts.changed.connect(self._refresh_soon)
        self.layouts.arranged.connect(self._form.fit_soon)
        self.layouts.arranging.connect(self._heed_choice)
        # Queued: which panels stand behind others is known once Qt has moved them.
        for moved in (self.layouts.arranged, self.layouts.changed):
            moved.connect(self._bring_forward_again, Qt.ConnectionType.QueuedConnection)
        self._viewed.connect(self._show_line)
        self._pointed.connect(self._say_pointed)
        for dock in self.docks:
            dock.picture_wanted.connect(self._on_picture_wanted)
        for dock in self.readout_docks:
            dock.selected.connect(control.select)
            dock.link_wanted.connect(self.follow)
            dock.run_wanted.connect(control.look_at_run)
            dock.token_forced.connect(control.force_token)
            self._viewed.connect(dock.show_view)
            dock.pointed.connect(self._pointed)
            self._pointed.connect(dock.show_pointed)
            self._emptied.connect(dock.show_nothing)

    # Looks.

    @Slot(object)
    def _dress(self, theme: Theme) -> None:
        """Show everything in another theme; nothing that is shown is lost."""
        self.setWindowIcon(icon("kvscope", theme))
        parts = (self.setup, self.faults, self.transport, self.step_bar, self.status)
        for part in (*parts, self.message_bar, self.actions_by_id, *self.docks):
            part.dress(theme)
        self._place_message()
        self._refresh_soon()
        self.layouts.follow_size()

    @Slot(bool)
    def _place_status(self, is_low: bool) -> None:  # noqa: FBT001  (a signal)
        place(self.status, self, is_low=is_low)

    def _keep_message_above(self) -> None:
        """Qt (6.11) paints an opaque view over what lies above it, unless that is painted too."""
        if self.message_bar.isVisible():
            self._place_message()
            self.message_bar.update()

    def _place_message(self) -> None:
        """In the row of the strip, but not over a diagnosis; else in that of the tabs below it.

        Else in the corner, but not over half a sentence.
        """
        bar, dock, top_px = self.message_bar, self.dock("diagnosis"), 0
        if isinstance(dock, ReadoutDock) and not (dock.isHidden() or dock.isFloating()):
            strip, content = dock.geometry(), dock.content
            top_px, may_cover = strip.bottom() + 1, not content.says_wrong
            if bar.place_in_row(strip, content.words_px, may_cover=may_cover):
                return
            for row, tabs_px in rows_of_tabs(self, top_px):
                if bar.place_in_row(row, tabs_px, may_cover=False):
                    return
        margin_px = self.looks.theme.margin_px
        bottom = self.height() - self.statusBar().height()
        below = [dock.sentence_px for dock in self.readout_docks if dock.area == "bottom"]
        said = max(below, default=0)
        bar.place(self.width() - margin_px, bottom - max(said, margin_px), top_px)

    @Slot(str)
    def _on_picture_wanted(self, kind: str) -> None:
        dock = self.sender()
        if isinstance(dock, Dock):
            act = self.files.copy_view if kind == "copy" else self.files.export_view
            act(dock.widget())

    # What the run tells.

    @Slot(object)
    def _on_ready(self, message: Ready) -> None:
        self.setup.show_devices(message.devices)
        version = message.version.partition("+")[0]
        self.status.show_engine(f"torch {version} · {', '.join(message.devices)}")

    @Slot(object)
    def _on_opened_elsewhere(self, message: OpenedElsewhere) -> None:
        self.aids.show_elsewhere(message, self.looks)

    @Slot()
    def _on_run_started(self) -> None:
        self._wrong_field = None
        self.setup.clear_errors()
        self.faults.clear_error()
        self.message_bar.clear_passing()

    @Slot(object)
    def _on_misfit(self, message: Failed) -> None:
        setup, faults = self.panels[:2]
        if message.place == "faults":
            self.faults.show_error(message.message)
            faults.raise_()
        elif message.place is not None and self.setup.has_place(message.place):
            self.setup.show_error(message.place, message.message)
            setup.raise_()
        else:
            self.show_notice(Notice(message.message))

    @Slot(str)
    def _bring_forward(self, field: str) -> None:
        """Show the panels of the field that is wrong first, where they stand behind others.

        The first is raised last: where they stand behind one another it is the one to be seen.
        """
        self._wrong_field = field
        for dock in reversed(self._seen_in(field)):
            if dock.is_behind:
                dock.raise_()

    def _seen_in(self, field: str) -> list[Dock]:
        """The panels that show a field."""
        docks = (self.dock(dock_id) for dock_id in SEEN_IN.get(field, ("attention",)))
        return [dock for dock in docks if dock is not None]

    @Slot()
    def _heed_choice(self) -> None:
        """Before panels move: whoever has put another one before it since wants to see that."""
        if self._wrong_field is None or self._is_rearranged:
            return
        self._is_rearranged = True
        docks = self._seen_in(self._wrong_field)
        for dock in docks:
            if dock.is_behind and not set(self.tabifiedDockWidgets(dock)) & set(docks):
                self._wrong_field = None

    @Slot()
    def _bring_forward_again(self) -> None:
        """A panel that had a place of its own may stand behind another in the new arrangement."""
        self._is_rearranged = False
        cursor = self.control.cursor
        if self._wrong_field is not None and cursor.selection.step == cursor.first_wrong:
            self._bring_forward(self._wrong_field)

    @Slot(object)
    def _show_draft(self, draft: Draft) -> None:
        self.setup.show_draft(draft)
        self.faults.show_faults(tuple(use.id for use in draft.faults))

    @Slot(object)
    def follow(self, show: Show) -> None:
        """Do what a link of a lesson asks."""
        self.links.follow(show)
        dock = None if show.dock is None else self.dock(show.dock)
        if dock is not None:
            dock.show()
            dock.raise_()

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
        self._keep_message_above()
        self.control.player.painted()
        if not self.control.situation().is_busy:
            self.settled.emit()

    @Slot(object)
    def _show_line(self, view: RunView) -> None:
        """What the step is; nothing is worked out again where all that it says is shown already."""
        end, shown = self.control.cursor.end, self._line_shown
        if shown is not None and shown[1] is end and view.is_same(shown[0]):
            return
        self.step_bar.show_line(step_line(view, end))
        self.status.show_work(work_readout(view).sentence)
        self._line_shown = (view, end)

    @Slot(object)
    def _say_pointed(self, pointed: Selection | None) -> None:
        view = None if pointed is None else self.control.cursor.view()
        words = "" if view is None or pointed is None else pointed_words(view, pointed)
        self.status.show_pointed(words)
        self._keep_message_above()

    def _say_why_nothing(self) -> None:
        """No step can be waited for any more: say so, and show no numbers of the run before."""
        situation = self.control.situation()
        reason = no_step(situation)
        if reason is not None and (situation.is_broken or not situation.is_starting):
            self._line_shown = None
            self.step_bar.say(reason)
            self.status.show_work("")
            self._emptied.emit()

    def _show_situation(self) -> None:
        situation = self.control.situation()
        if situation.is_broken:
            self.status.show_engine("no engine")
        self.actions_by_id.update(situation)
        self.transport.show_steps(situation.n_records, situation.step)
        self.transport.show_speed(self.control.player.speed)
        self.transport.show_engine(is_starting=not (situation.is_ready or situation.is_broken))
        self.status.show_busy(is_busy=situation.is_ready and situation.is_busy)
