"""Opens somebody's code: asks for the file, and before anything in it is run.

Beside the window of the code there is one for a run of it, which follows the checks of that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.looks import Looks
from app.notice import Notice
from app.own_code_ask import AskToRun
from app.own_code_trust import Trust
from app.own_code_window import OwnCodeWindow
from app.own_run import OwnReading, OwnRun, OwnRunMaker, RunWish
from app.preferences import Preferences
from core.contract.names_in_file import Named, names_in
from core.errors import CoreError

if TYPE_CHECKING:  # imported when it is asked for
    from app.elsewhere_window import ElsewhereWindow
    from app.own_run_window import OwnRunWindow

MAKING = "these calls are being made…"
OLD = "of an older version of the file"
PYTHON = "Python (*.py)"


class OwnCode(QObject):
    """There is one window for it, and one for a run of it; both go with the main one.

    Signals:
        noticed: something to be told.
        run_wanted: the id of a fault whose run is to be shown.
        run_rested: no run of the code is being made any more.
    """

    noticed = Signal(object)
    run_wanted = Signal(str)
    run_rested = Signal()

    def __init__(self, parent: QWidget, preferences: Preferences, looks: Looks) -> None:
        """Takes what remembers which files may be run."""
        super().__init__(parent)
        self._parent = parent
        self._looks = looks
        self._preferences = preferences
        self._trust = Trust(preferences)
        self.window: OwnCodeWindow | None = None
        self.run_window: OwnRunWindow | None = None
        self.reading_window: ElsewhereWindow | None = None
        self._maker = OwnRunMaker(self)
        self._maker.made.connect(self._on_made)
        self._maker.failed.connect(self._on_failed)
        self._wish: RunWish | None = None
        self._is_asked_for = False

    def ask_for_file(self) -> None:
        """Ask for a file of Python, and open it."""
        path, _ = QFileDialog.getOpenFileName(self._parent, "Open my code", "", PYTHON)
        if path:
            self.open_path(Path(path))

    def open_path(self, path: Path) -> None:
        """Check what is in a file, once a person has said that it may be run."""
        path = path.resolve()
        try:
            names = names_in(path)
        except CoreError as error:
            self.noticed.emit(Notice(str(error)))
            return
        likely = [named for named in names if named.is_likely]
        if self._trust.may_run(path) and len(likely) == 1:
            self._show(path, names, likely[0])
            return
        dialog = AskToRun(self._parent, path, names)
        dialog.accepted.connect(lambda: self._on_yes(path, names, dialog.chosen))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def close(self) -> None:
        """Close the window, if there is one."""
        self._maker.leave()
        self._maker.wait()
        for window in (self.run_window, self.reading_window, self.window):
            if window is not None:
                window.close()

    def _on_yes(self, path: Path, names: Sequence[Named], chosen: Named | None) -> None:
        self._trust.trust(path)
        if chosen is not None:
            self._show(path, names, chosen)

    def _show(self, path: Path, names: Sequence[Named], chosen: Named) -> None:
        if self.window is None:
            self.window = OwnCodeWindow(self._looks.theme, self._trust)
            self.window.destroyed.connect(self._forget)
            self.window.run_wanted.connect(self.run_wanted)
            self.window.panels_wanted.connect(self._want_run)
            self.window.began.connect(self._on_check_began)
            self.window.rested.connect(self._on_check_rested)
            self._looks.changed.connect(self.window.dress)
        self.window.show()
        self.window.activateWindow()
        self.window.open_code(path, names, chosen)
        self.window.parts.list.setFocus()

    @Slot(object)
    def _want_run(self, wish: RunWish) -> None:
        self._is_asked_for = True
        self._make(wish)

    def _make(self, wish: RunWish) -> None:
        self._wish = wish
        self._say_of_run(MAKING)
        self._maker.start(wish)

    @Slot(object)
    def _on_made(self, run: OwnRun | OwnReading) -> None:
        self._say_of_run("")
        if isinstance(run, OwnRun):
            self._show_run(run)
        else:
            self._show_reading(run)
        self._is_asked_for = False
        self.run_rested.emit()

    def _show_reading(self, reading: OwnReading) -> None:
        from app.elsewhere_window import ElsewhereWindow

        wish, old = reading.wish, self.reading_window
        window = ElsewhereWindow(Path(wish.file), reading.run, self._looks.theme)
        window.setWindowTitle(f"{wish.name} of {wish.file}: {wish.row.title}")
        window.facts.setText("\n".join(filter(None, (reading.ended, window.facts.text()))))
        self._looks.changed.connect(window.dress)
        if old is not None:
            window.setGeometry(old.geometry())
            old.close()
        self.reading_window = window
        window.destroyed.connect(lambda: self._forget_reading(window))
        window.show()
        if self._is_asked_for:
            window.activateWindow()

    def _show_run(self, run: OwnRun) -> None:
        from app.own_run_window import OwnRunWindow  # with every panel

        if self.run_window is None:
            self.run_window = OwnRunWindow(self._looks, self._preferences)
            self.run_window.destroyed.connect(self._forget_run)
        self.run_window.show_run(run)
        if self._is_asked_for:
            self.run_window.show()
            self.run_window.activateWindow()

    @Slot(str)
    def _on_failed(self, why: str) -> None:
        self._say_of_run(f"no run: {why}")
        self.run_rested.emit()

    def _say_of_run(self, words: str) -> None:
        """Where somebody asked for it, and where an older one is shown."""
        if self.window is not None:
            self.window.parts.detail.say_of_run(words)
        self._call_old(words)

    def _call_old(self, words: str) -> None:
        """What is shown is of an older version of the file, and why nothing newer is."""
        if words and self.run_window is not None:
            self.run_window.call_old(words)
        if words and self.reading_window is not None:
            facts = self.reading_window.facts
            facts.setText("\n".join((f"{OLD}: {words}", *self.reading_window.run.facts)))

    @Slot()
    def _on_check_began(self) -> None:
        if self.run_window is not None or self.reading_window is not None:
            self._maker.leave()
            self._call_old("the file is checked again…")

    @Slot()
    def _on_check_rested(self) -> None:
        """The run that is shown is made again, of the file as it is now."""
        window, is_shown = self.window, self.run_window or self.reading_window
        if is_shown is None or window is None or self._wish is None:
            return
        if window.is_stale:
            self._call_old(window.parts.state.text())
            return
        wish = window.wish_again(self._wish)
        if wish is None:
            self._call_old("something else is checked now")
        else:
            self._make(wish)

    @Slot()
    def _forget(self) -> None:
        self.window = None
        self._maker.leave()
        for window in (self.run_window, self.reading_window):
            if window is not None:
                window.close()

    def _forget_reading(self, window: ElsewhereWindow) -> None:
        if self.reading_window is window:
            self.reading_window = None

    @Slot()
    def _forget_run(self) -> None:
        self.run_window = None
