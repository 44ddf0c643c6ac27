"""Settings of the tests with Qt: the shipped fonts, and no thread may outlive its test."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QThread, QThreadPool
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from app.draft import Draft
from app.first_run import FirstRun, first_run
from app.fonts import load_fonts
from app.theme import LIGHT, Theme, apply_theme
from core.faults.scenarios import ROOMY
from tests.app.desk import USUAL_SIZE, Desk
from tests.app.own_code_hands import WRONG

PATIENCE_MS = 2000


@pytest.fixture(scope="session", autouse=True)
def shipped_fonts(qapp: QApplication) -> None:
    """Same letters on every machine."""
    load_fonts(qapp)


@pytest.fixture
def sit_down(qtbot, qapp, tmp_path) -> Iterator[Callable[..., Desk]]:
    """Opens a window of its own on a run, with its first step made."""
    desks: list[Desk] = []

    def sit(
        first: Draft | FirstRun | None = None,
        n_records: int | None = 1,
        *,
        size: tuple[int, int] = USUAL_SIZE,
        theme: Theme = LIGHT,
    ) -> Desk:
        asked = Draft.of_scenario(ROOMY) if first is None else first
        desk = Desk(qapp, tmp_path / f"{len(desks)}.ini", asked, size=size, theme=theme)
        desks.append(desk)
        qtbot.addWidget(desk.window)
        desk.sit(qtbot).open(asked, n_records)
        return desk

    yield sit
    for desk in desks:
        desk.leave()
    apply_theme(qapp, LIGHT)


@pytest.fixture(scope="module")
def window_of_module(qapp, tmp_path_factory) -> Iterator[Desk]:
    """One window for the tests of a module that leave it as usable as they found it."""
    path = tmp_path_factory.mktemp("desk") / "kvscope.ini"
    desk = Desk(qapp, path, Draft.of_scenario(ROOMY))
    yield desk
    desk.leave()
    desk.window.deleteLater()


@pytest.fixture
def shared_desk(window_of_module, qtbot) -> Callable[..., Desk]:
    """Begins another run in the window of the module: much quicker than a window for each."""

    def begin(draft: Draft | None = None, n_records: int | None = 1) -> Desk:
        desk, asked = window_of_module.sit(qtbot), draft or Draft.of_scenario(ROOMY)
        if not desk.window.isVisible():
            desk.open(asked, 1)
        desk.begin_anew(asked, n_records)
        return desk

    return begin


@pytest.fixture
def code_desk(shared_desk) -> Iterator[Desk]:
    """The window of the module, without what a test of somebody's code has opened beside it."""
    desk = shared_desk()
    yield desk
    desk.window.aids.close_windows()


@pytest.fixture
def cache_file(tmp_path) -> Path:
    """A file with a wrong cache class, which may be saved anew."""
    path = tmp_path / "my_cache.py"
    path.write_text(WRONG, "utf-8")
    return path


@pytest.fixture(scope="session")
def start_run() -> FirstRun:
    """The run that the window opens with."""
    first = first_run()
    assert first is not None
    return first


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
