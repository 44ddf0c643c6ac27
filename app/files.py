"""What the window reads and writes: traces, and pictures of panels."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QWidget

from app.notice import Notice
from app.pictures import picture
from app.preferences import Preferences
from app.run_control import RunControl

SUFFIX = ".kvtrace"
CODE_SUFFIX = ".py"
TRACES = f"Traces (*{SUFFIX})"
SMALL = f"Small: made again on opening (*{SUFFIX})"
FULL = f"Full: with every number (*{SUFFIX})"
PYTHON = "Python (*.py)"
PNG = ".png"
USUAL_SIZE = f"Picture at its own size (*{PNG})"
TWICE = f"Picture at twice its size (*{PNG})"


class Files(QObject):
    """Asks for names; the run itself is read and written by whoever owns it."""

    noticed = Signal(object)

    def __init__(
        self,
        parent: QWidget,
        control: RunControl,
        preferences: Preferences,
        view: Callable[[], QWidget],
    ) -> None:
        """Takes the run, where recent files are remembered, and what finds the panel used last."""
        super().__init__(parent)
        self._parent = parent
        self._control = control
        self._preferences = preferences
        self._view = view

    def open(self) -> None:
        """Ask for a trace and open it."""
        path, _ = QFileDialog.getOpenFileName(self._parent, "Open trace", "", TRACES)
        if path:
            self.open_path(Path(path))

    def open_path(self, path: Path) -> None:
        """Open a trace, and remember it."""
        self._preferences.remember(path)
        self._control.open_trace(path)

    def load_faults(self) -> None:
        """Ask for a file of Python, and whether it is to be run; then list its faults."""
        path, _ = QFileDialog.getOpenFileName(self._parent, "Load fault", "", PYTHON)
        if path and self._may_run(Path(path)):
            self._control.load_faults(Path(path))

    def _may_run(self, path: Path) -> bool:
        """Whether the person wants the code in a file to run; what is asked first is no."""
        box = QMessageBox(self._parent)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Load fault")
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"Load fault runs the Python code in {path}.\nOnly load files that you trust.")
        load = box.addButton("Load", QMessageBox.ButtonRole.AcceptRole)
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(cancel)
        box.setEscapeButton(cancel)
        box.exec()
        is_wanted = box.clickedButton() is load
        box.deleteLater()
        return is_wanted

    def save(self) -> None:
        """Ask for a place and save the run there."""
        path, kind = QFileDialog.getSaveFileName(self._parent, "Save trace", "", f"{SMALL};;{FULL}")
        named = self._completed(path, SUFFIX, "Save trace")
        if named is not None:
            self._preferences.remember(named)
            self._control.save_trace(named, full=kind == FULL)

    def export_view(self, view: QWidget | None = None) -> None:
        """Ask for a place and save a picture of a panel there; None: of the one used last."""
        shown = view or self._view()
        title = "Export view as PNG"
        path, kind = QFileDialog.getSaveFileName(self._parent, title, "", f"{USUAL_SIZE};;{TWICE}")
        named = self._completed(path, PNG, title)
        if named is None:
            return
        scale = (2 if kind == TWICE else 1) * self._parent.devicePixelRatioF()
        is_written = picture(shown, scale).save(str(named), "PNG")
        words = f"saved as {named}" if is_written else f"{named} cannot be written"
        self.noticed.emit(Notice(words, is_passing=True))

    def copy_view(self, view: QWidget | None = None) -> None:
        """Put a picture of a panel on the clipboard; None: of the one used last."""
        shown = view or self._view()
        made: QPixmap = picture(shown, self._parent.devicePixelRatioF())
        QGuiApplication.clipboard().setPixmap(made)
        self.noticed.emit(Notice(f"{shown.windowTitle()}: copied as an image", is_passing=True))

    def fill_recent(self, menu: QMenu) -> None:
        """List the traces that were opened or saved; one that is gone cannot be chosen."""
        menu.clear()
        for path in self._preferences.recent:
            action = menu.addAction(path.name, self._opener(path))
            is_there = path.is_file()
            action.setEnabled(is_there)
            action.setToolTip(str(path) if is_there else f"{path}\nNot now: it is not there")
        if not self._preferences.recent:
            menu.addAction("None yet").setEnabled(False)
            return
        menu.addSeparator()
        menu.addAction("Clear this list", self._preferences.forget_recent)

    def _opener(self, path: Path) -> Callable[[], None]:
        return lambda: self.open_path(path)

    def _completed(self, path: str, suffix: str, title: str) -> Path | None:
        """The name with its suffix; None: nothing was chosen, or it is not to be replaced.

        The dialog asks about the name as it was typed. Not every desktop's dialog completes it
        before that, so about the completed one the window asks.
        """
        if not path:
            return None
        named = Path(path) if path.endswith(suffix) else Path(path + suffix)
        if named == Path(path) or not named.exists() or self._may_replace(named, title):
            return named
        return None

    def _may_replace(self, path: Path, title: str) -> bool:
        question = f"{path.name} is there already. Replace it?"
        answer = QMessageBox.question(self._parent, title, question)
        return answer == QMessageBox.StandardButton.Yes


def dropped(data: QMimeData) -> Path | None:
    """The trace, or the file of code, among what is dragged; None: there is none."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return next((path for path in paths if path.suffix in (SUFFIX, CODE_SUFFIX)), None)
