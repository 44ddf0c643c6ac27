"""The application, or one line that says why there can be no window.

Qt ends the process where it finds no display. It says so through its message handler first, which
is the last chance to end with a line and a status of our own.
"""

import os
import sys

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

UNUSABLE_INPUT = 2
_ADVICE = (
    "set DISPLAY to a display that answers; sh resources/run.sh open installs what Qt lacks; "
    "kvscope run needs no window"
)


def application_on_a_display(arguments: list[str]) -> QApplication:
    """The one application; where no window can be shown, this ends the process with status 2."""
    said: list[str] = []

    def hear(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        if kind != QtMsgType.QtFatalMsg:
            said.append(message)
            return
        # Qt tells the cause first, and then what may have been.
        causes = [line for line in said if "could not" in line.lower()] or [message]
        cause = " ".join(causes[0].split())
        sys.stderr.write(f"kvscope: no window can be shown ({cause}); {_ADVICE}\n")
        sys.stderr.flush()
        os._exit(UNUSABLE_INPUT)

    before = qInstallMessageHandler(hear)
    application = QApplication(arguments)
    qInstallMessageHandler(before)
    for line in said:
        sys.stderr.write(f"{line}\n")
    return application
