"""Settings of the tests with Qt: the shipped fonts, and no thread may outlive its test."""

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QThread, QThreadPool
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from app.fonts import load_fonts

PATIENCE_MS = 2000


@pytest.fixture(scope="session", autouse=True)
def shipped_fonts(qapp: QApplication) -> None:
    """Same letters on every machine."""
    load_fonts(qapp)


@pytest.fixture(autouse=True)
def no_thread_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves a thread running: Qt aborts the process when one is collected."""
    started: list[QThread] = []
    start = QThread.start

    def remember_and_start(thread: QThread, *priority: QThread.Priority) -> None:
        started.append(thread)
        start(thread, *priority)

    monkeypatch.setattr(QThread, "start", remember_and_start)
    before = set(threading.enumerate())
    yield
    left = [_name(thread) for thread in started if _outlives_its_test(thread)]
    left += [thread.name for thread in threading.enumerate() if _is_new(thread, before)]
    if not QThreadPool.globalInstance().waitForDone(PATIENCE_MS):
        left.append("a runnable of the global QThreadPool")
    if left:
        pytest.fail(f"still running after the test: {', '.join(left)}", pytrace=False)


def _outlives_its_test(thread: QThread) -> bool:
    """Whether the thread still runs; it is ended then, so that no later test suffers."""
    if not isValid(thread) or not thread.isRunning():
        return False
    thread.requestInterruption()
    thread.quit()
    thread.wait(PATIENCE_MS)
    return True


def _is_new(thread: threading.Thread, before: set[threading.Thread]) -> bool:
    """Python keeps a "Dummy-n" for each foreign thread it has met, ended or not: left out."""
    return thread not in before and not thread.name.startswith("Dummy-")


def _name(thread: QThread) -> str:
    return f"QThread {thread.objectName() or type(thread).__name__}"
