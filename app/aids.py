"""Small windows that help: all commands, all keys, going to a step, about."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QInputDialog, QWidget

from app.about import about_box
from app.action_spec import ActionSpec
from app.command_palette import CommandPalette
from app.run_control import RunControl
from app.shortcut_sheet import ShortcutSheet


class Aids(QObject):
    """Each is a window of its own that blocks nothing."""

    def __init__(self, parent: QWidget, control: RunControl) -> None:
        """Takes the run; `offer` takes the commands."""
        super().__init__(parent)
        self._parent = parent
        self._control = control
        self._commands: Callable[[], list[QAction]] = list
        self._specs: tuple[ActionSpec, ...] = ()

    def offer(self, specs: tuple[ActionSpec, ...], commands: Callable[[], list[QAction]]) -> None:
        """Take the commands, and what finds their actions."""
        self._specs, self._commands = specs, commands

    def show_palette(self) -> None:
        """Search the commands."""
        palette = CommandPalette(self._commands(), self._parent)
        palette.open_over(self._parent)

    def show_shortcuts(self) -> None:
        """Show the keys."""
        ShortcutSheet(self._specs, self._parent).show()

    def go_to_step(self) -> None:
        """Ask for a number, and look at that step."""
        situation = self._control.situation()
        if not situation.n_records:
            return
        last = situation.n_records - 1
        dialog = QInputDialog(self._parent)
        dialog.setObjectName("go-to-step")
        dialog.setWindowTitle("Go to step")
        dialog.setLabelText(f"Step, 0 to {last}")
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(0, last)
        dialog.setIntValue(situation.step)
        dialog.intValueSelected.connect(self._control.go_to)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def show_about(self) -> None:
        """Say what this program is."""
        about_box(self._parent).show()
