"""A check of somebody's code in a process of its own, told as it goes."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, Signal, Slot

import core.contract

START = Path(core.contract.__file__).with_name("telling_start.py")
ENDS = frozenset(("report", "run", "cannot"))
LEAVING_MS = 3000
N_LAST_BYTES = 400


class OwnCheck(QObject):
    """One check. It is over with `ended`, or, once it was stopped, with `left`.

    Nothing of the user's code is ever run in this process.
    """

    told = Signal(object)
    ended = Signal(str)
    left = Signal()

    def __init__(self, parent: QObject) -> None:
        """Takes its owner."""
        super().__init__(parent)
        self._is_stopped = self._is_complete = False
        self._errors = b""
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._listen)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)

    def start(self, ask: Mapping[str, Any]) -> None:
        """Begin; what is asked is written in `core.contract.telling`."""
        self._process.start(sys.executable, ["-P", str(START)])
        self._process.write(json.dumps(ask).encode() + b"\n")

    def stop(self) -> None:
        """End it soon, with all that it started; nothing more is told."""
        self._is_stopped = True
        self._process.closeWriteChannel()  # it ends when nobody listens

    def wait(self) -> None:
        """Until it has ended, after it was stopped."""
        if self._process.state() != QProcess.ProcessState.NotRunning and not (
            self._process.waitForFinished(LEAVING_MS)
        ):
            self._process.kill()
            self._process.waitForFinished(LEAVING_MS)

    @Slot()
    def _read(self) -> None:
        while self._process.canReadLine():
            line = bytes(self._process.readLine().data())
            if not self._is_stopped:
                told = json.loads(line)
                self._is_complete |= not ENDS.isdisjoint(told)
                self.told.emit(told)

    @Slot()
    def _listen(self) -> None:
        self._errors = (self._errors + self._process.readAllStandardError().data())[-N_LAST_BYTES:]

    @Slot(int, QProcess.ExitStatus)
    def _on_finished(self, status: int, how: QProcess.ExitStatus) -> None:
        del how
        self._read()
        self._listen()
        self._end("" if self._is_complete else self._why(status))

    @Slot(QProcess.ProcessError)
    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._end(f"the checker cannot be started: {self._process.errorString()}")

    def _end(self, why: str) -> None:
        if self._is_stopped:
            self.left.emit()
        else:
            self.ended.emit(why)
        self.deleteLater()

    def _why(self, status: int) -> str:
        lines = self._errors.decode(errors="replace").strip().splitlines()
        said = f": {lines[-1]}" if lines else ""
        return f"the checker ended (status {status}){said}"
