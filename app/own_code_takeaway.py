"""What a person takes away from a check of their code: the command line, and tests."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from core.errors import CoreError
from core.whole_files import check_holds_written_tests, replacing

PYTHON = "Python (*.py)"


def copy_command(path: Path, name: str, options: Sequence[str]) -> None:
    """Put the same check, as a command line, on the clipboard."""
    command = ["kvscope", "check", f"{path}:{name}", *options]
    QGuiApplication.clipboard().setText(shlex.join(command))


def write_tests(parent: QWidget, usual: Path, text: str) -> str | None:
    """Ask for a place, and write a file of tests there.

    Returns:
        What came of it, in words; None: nothing was chosen.
    """
    path, _ = QFileDialog.getSaveFileName(parent, "Write tests", str(usual), PYTHON)
    if not path:
        return None
    try:
        check_holds_written_tests(Path(path))
        with replacing(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except CoreError as error:
        return str(error)
    return f"tests that fail as this class does: {path}"
