"""Asks before code of somebody is run, and which thing in the file is to be checked."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from core.contract.names_in_file import Named

KINDS = {"class": "cache class", "model": "makes a model"}
RUNS = (
    "It runs in a process of its own, with limits of time and memory. That is no sandbox: the "
    "code, and all that it imports, can do what you can. Only run code that you trust."
)
AGAIN = (
    "As long as this window is open, the file is run again whenever it is saved. Later you are "
    "asked again if it has changed."
)


class AskToRun(QDialog):
    """Nothing is run before it is accepted; what is asked first is no."""

    def __init__(self, parent: QWidget, path: Path, names: Sequence[Named]) -> None:
        """Takes the file, and what it has to offer; of an adapter, nothing."""
        super().__init__(parent)
        self.setObjectName("ask-to-run")
        self.setWindowTitle("Open my code")
        self.names = QComboBox()
        self.question = _words(f"Checking runs the Python code in\n{path}")
        column = QVBoxLayout(self)
        column.addWidget(self.question)
        if names:
            fill_names(self.names, names)
            self.names.setAccessibleName("What to check")
            column.addWidget(self.names)
        column.addWidget(_words(RUNS))
        column.addWidget(_words(AGAIN))
        self.buttons = QDialogButtonBox()
        self.run_button = self.buttons.addButton("Run", QDialogButtonBox.ButtonRole.AcceptRole)
        self.no_button = self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.run_button.setAutoDefault(False)
        self.no_button.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column.addWidget(self.buttons)
        self.no_button.setFocus()

    @property
    def chosen(self) -> Named | None:
        """What is to be checked; None: there was nothing to choose from."""
        return self.names.currentData() if self.names.count() else None


def fill_names(box: QComboBox, names: Sequence[Named]) -> None:
    """List what a file has to offer."""
    box.clear()
    for named in names:
        box.addItem(f"{named.name} · {KINDS[named.kind]}", named)


def _words(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setMinimumWidth(420)
    return label
