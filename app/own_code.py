"""Opens somebody's code: asks for the file, and before anything in it is run."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.looks import Looks
from app.notice import Notice
from app.own_code_ask import AskToRun
from app.own_code_trust import Trust
from app.own_code_window import OwnCodeWindow
from app.preferences import Preferences
from core.contract.names_in_file import Named, names_in
from core.errors import CoreError

PYTHON = "Python (*.py)"


class OwnCode(QObject):
    """There is one window for it, which goes with the main one."""

    noticed = Signal(object)
    run_wanted = Signal(str)

    def __init__(self, parent: QWidget, preferences: Preferences, looks: Looks) -> None:
        """Takes what remembers which files may be run."""
        super().__init__(parent)
        self._parent = parent
        self._looks = looks
        self._trust = Trust(preferences)
        self.window: OwnCodeWindow | None = None

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
        if self.window is not None:
            self.window.close()

    def _on_yes(self, path: Path, names: Sequence[Named], chosen: Named | None) -> None:
        self._trust.trust(path)
        if chosen is not None:
            self._show(path, names, chosen)

    def _show(self, path: Path, names: Sequence[Named], chosen: Named) -> None:
        if self.window is None:
            self.window = OwnCodeWindow(self._looks.theme, self._trust)
            self.window.destroyed.connect(self._forget)
            self.window.run_wanted.connect(self.run_wanted)
            self._looks.changed.connect(self.window.dress)
        self.window.show()
        self.window.activateWindow()
        self.window.open_code(path, names, chosen)
        self.window.parts.list.setFocus()

    @Slot()
    def _forget(self) -> None:
        self.window = None
