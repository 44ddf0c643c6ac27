"""All keys on one sheet, made from the list of commands."""

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.action_spec import ActionSpec


class ShortcutSheet(QDialog):
    """Not modal: it can stay open beside the window."""

    def __init__(self, specs: Iterable[ActionSpec], parent: QWidget) -> None:
        """Takes the commands; those without a key are left out."""
        super().__init__(parent)
        self.setObjectName("shortcuts")
        self.setWindowTitle("Shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.lines = _lines(specs)
        half = (len(self.lines) + 1) // 2
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        for number, (keys, text) in enumerate(self.lines):
            row, column = number % half, 2 * (number // half)
            key_label = QLabel(keys)
            key_label.setAlignment(Qt.AlignmentFlag.AlignRight)
            font = key_label.font()
            font.setBold(True)
            key_label.setFont(font)
            grid.addWidget(key_label, row, column)
            grid.addWidget(QLabel(text), row, column + 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addLayout(grid)
        column.addWidget(buttons)


def _lines(specs: Iterable[ActionSpec]) -> tuple[tuple[str, str], ...]:
    """Keys and command, one line each; the ten tenths are one."""
    lines: list[tuple[str, str]] = []
    for spec in specs:
        keys = [_words(key) for key in (*spec.keys, *spec.soft_keys)]
        if spec.id.startswith("tenth-"):
            if spec.id == "tenth-0":
                lines.append(("0 … 9", "0 % … 90 % of the run"))
        elif keys:
            lines.append((", ".join(keys), spec.label))
    return tuple(lines)


def _words(key: str) -> str:
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
