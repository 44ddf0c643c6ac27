"""Opens the window. The engine is loaded afterwards, in its own thread."""

import os
import signal
import sys
import threading
import traceback
from dataclasses import replace
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication

from app.advice import hint
from app.backend import TorchBackend
from app.cli_own import faults_on, known_faults
from app.display import UNUSABLE_INPUT, application_on_a_display
from app.docks.registry import DOCKS
from app.draft import Draft
from app.first_run import FirstRun, first_run
from app.fonts import load_fonts
from app.main_window import MainWindow
from app.notice import Notice
from app.options import WindowOptions
from app.plain_keys import PlainKeys
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import apply_theme, choose_theme
from app.wish import Goal
from core.errors import CoreError
from core.faults.activation import activate
from core.faults.known import KnownFaults
from core.faults.scenarios import ROOMY
from core.spec import FaultUse

SWITCH_INTERVAL_S = 0.001
CLOSE_LIMIT_MS = 10_000
FIRST_RUN = replace(ROOMY, capacity=20)
"""Few enough slots that each is seen with all its numbers, and room for more than a sentence."""


class FaultReporter(QObject):
    """Takes exceptions that nobody caught, from any thread, and tells the window."""

    reported = Signal(object)

    def install(self) -> None:
        """Become the hook of the interpreter and of its threads."""
        sys.excepthook = self._report
        threading.excepthook = self._report_thread

    def uninstall(self) -> None:
        """Put Python's own hooks back."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def _report(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        sys.__excepthook__(kind, error, trace)
        details = "".join(traceback.format_exception(kind, error, trace))
        text = f"something went wrong inside kvscope: {kind.__name__}: {error}"
        self.reported.emit(Notice(text, details))

    def _report_thread(self, caught: threading.ExceptHookArgs) -> None:
        if caught.exc_value is not None:
            self._report(caught.exc_type, caught.exc_value, caught.exc_traceback)


def main(options: WindowOptions) -> int:
    """Show the window until it is closed.

    Returns:
        The exit status: 0, or 2 where an option cannot be used.
    """
    try:
        known = known_faults(options.fault_files)
        draft = _first_draft(options, known)
    except CoreError as error:
        print(f"kvscope: {error}", file=sys.stderr)  # noqa: T201  (the command line's answer)
        return UNUSABLE_INPUT
    # The default of 5 ms lets a thread of Python code hold up painting noticeably.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    # Ctrl+C in the terminal ends the program: Qt's event loop never returns to Python for it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    QApplication.setApplicationName("kvscope")
    application = QApplication.instance() or application_on_a_display(sys.argv[:1])
    assert isinstance(application, QApplication)  # noqa: S101  (nothing else makes one)
    return _show(application, options, draft, known)


def _show(
    application: QApplication, options: WindowOptions, draft: Draft, known: KnownFaults
) -> int:
    load_fonts(application)
    preferences = _preferences(options)
    theme = choose_theme(preferences.theme, application)
    apply_theme(application, theme)
    reporter = FaultReporter()
    reporter.install()
    first = None if _asks_for_a_run(options) else first_run()
    control = RunControl(TorchBackend, draft if first is None else first.draft, known)
    window = MainWindow(control, DOCKS, theme, preferences)
    PlainKeys(application, window)
    reporter.reported.connect(window.show_notice, Qt.ConnectionType.QueuedConnection)
    control.faults_chosen.connect(preferences.note_fault_tried)
    _prepare(window, options, first)
    window.show()
    if first is not None and not preferences.has_tried_fault:
        window.show_notice(hint(control.try_fault))
    status = application.exec()
    reporter.uninstall()
    if not control.close(CLOSE_LIMIT_MS):
        # Qt aborts the process when a running thread is destroyed; the layout is saved by now.
        os._exit(status)
    return status


def _asks_for_a_run(options: WindowOptions) -> bool:
    has_faults = bool(options.faults or options.fault_files)
    return options.file is not None or has_faults or options.step is not None


def _prepare(window: MainWindow, options: WindowOptions, first: FirstRun | None) -> None:
    """Show the first run, if there is one; load the engine once the window can be seen."""
    control, queued = window.control, Qt.ConnectionType.QueuedConnection
    if first is not None:
        control.show_recorded(first.draft, first.held)
        window.first_painted.connect(control.take_over, queued)
        return
    steps = _first_steps(options)
    window.first_painted.connect(lambda: control.begin(*steps, file=options.file), queued)


def _preferences(options: WindowOptions) -> Preferences:
    preferences = Preferences()
    if options.reset_settings:
        preferences.forget_all()
    if options.reset_layout:
        preferences.forget_layout()
    if options.theme is not None:
        preferences.theme = options.theme
    if options.layout is not None:
        preferences.layout_name = options.layout
    return preferences


def _first_draft(options: WindowOptions, known: KnownFaults) -> Draft:
    named = tuple(FaultUse(fault.id) for name in options.faults for fault in known.find(name))
    uses = faults_on(named, known)
    scenario = known.of(uses[0])[0].shows_in if uses else FIRST_RUN
    draft = replace(Draft.of_scenario(scenario), faults=uses)
    activate(uses, 1, known)  # in all layers, so their number does not matter
    return draft


def _first_steps(options: WindowOptions) -> tuple[int | None, Goal, int | None]:
    """How many steps to make at the start, and where to look."""
    if options.step is not None:
        return options.step + 1, "newest", options.step
    if options.faults or options.fault_files:
        return None, "first wrong", None
    return 1, "newest", None
