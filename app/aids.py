"""Small windows that help: all commands, all keys, going to a step, about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QInputDialog, QWidget

from app.action_spec import ActionSpec
from app.draft import Draft
from app.looks import Looks
from app.preferences import Preferences
from app.run_control import RunControl

if TYPE_CHECKING:  # imported when it is asked for
    from app.elsewhere_window import ElsewhereWindow
    from app.matrix_window import MatrixWindow
    from app.messages import OpenedElsewhere
    from app.own_code import OwnCode


class Aids(QObject):
    """Each is a window of its own that blocks nothing, and is imported when it is asked for."""

    noticed = Signal(object)

    def __init__(self, parent: QWidget, control: RunControl, preferences: Preferences) -> None:
        """Takes the run, and what is remembered; `offer` takes the commands."""
        super().__init__(parent)
        self._parent = parent
        self._control = control
        self._preferences = preferences
        self.own_code: OwnCode | None = None
        self.matrix: MatrixWindow | None = None
        self.elsewhere: list[ElsewhereWindow] = []
        self._commands: Callable[[], list[QAction]] = list
        self._specs: tuple[ActionSpec, ...] = ()

    def offer(self, specs: tuple[ActionSpec, ...], commands: Callable[[], list[QAction]]) -> None:
        """Take the commands, and what finds their actions."""
        self._specs, self._commands = specs, commands

    def show_palette(self) -> None:
        """Search the commands."""
        from app.command_palette import CommandPalette

        palette = CommandPalette(self._commands(), self._parent)
        palette.open_over(self._parent)

    def show_shortcuts(self) -> None:
        """Show the keys."""
        from app.shortcut_sheet import ShortcutSheet

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

    def show_matrix(self, looks: Looks) -> None:
        """Show what each fault does; there is one such window, and it goes with the main one."""
        from app.matrix_window import MatrixWindow

        if self.matrix is None:
            self.matrix = MatrixWindow(looks.theme)
            self.matrix.run_wanted.connect(self._show_run)
            self.matrix.destroyed.connect(self._forget_matrix)
            looks.changed.connect(self.matrix.dress)
        self.matrix.show()
        self.matrix.activateWindow()

    def show_elsewhere(self, opened: OpenedElsewhere, looks: Looks) -> None:
        """Show a trace that another engine wrote, in a window for each."""
        from app.elsewhere_window import ElsewhereWindow

        window = ElsewhereWindow(opened.path, opened.run, looks.theme)
        self.elsewhere.append(window)
        window.destroyed.connect(lambda: self.elsewhere.remove(window))
        looks.changed.connect(window.dress)
        window.show()
        window.activateWindow()

    def open_code(self, looks: Looks, path: Path | None = None) -> None:
        """Check somebody's code, of this file or of one that is asked for."""
        from app.own_code import OwnCode

        if self.own_code is None:
            self.own_code = OwnCode(self._parent, self._preferences, looks)
            self.own_code.noticed.connect(self.noticed)
            self.own_code.run_wanted.connect(self._show_fault)
        if path is None:
            self.own_code.ask_for_file()
        else:
            self.own_code.open_path(path)

    def close_windows(self) -> None:
        """Close what would stay when the main window goes."""
        if self.own_code is not None:
            self.own_code.close()
        if self.matrix is not None:
            self.matrix.close()
        for window in list(self.elsewhere):
            window.close()

    @Slot(object)
    def _show_run(self, draft: Draft) -> None:
        """Load a run, in sight of whoever asked for it."""
        self._control.show_run("run of the matrix", draft)
        self._parent.activateWindow()

    @Slot(str)
    def _show_fault(self, fault_id: str) -> None:
        """Load the scenario that shows a fault, in sight of whoever asked for it."""
        self._control.show_fault(fault_id)
        self._parent.activateWindow()

    @Slot()
    def _forget_matrix(self) -> None:
        self.matrix = None

    def show_about(self) -> None:
        """Say what this program is."""
        from app.about import about_box

        about_box(self._parent).show()
