"""The hands of a person who opens their own code in the window, and what they see."""

import os
from pathlib import Path

from PySide6.QtWidgets import QFileDialog

from app.own_code_ask import AskToRun
from app.own_code_window import OwnCodeWindow
from tests.app.desk import Desk

CACHES = Path(__file__).parents[1] / "helpers" / "caches"
MODELS = CACHES.with_name("models")
WRONG = (CACHES / "interview.py").read_text("utf-8")
RIGHT = (CACHES / "contiguous.py").read_text("utf-8")
FINDINGS = [
    "reading shows rows that were never written",
    "exact fill is refused",
    "a refused append changes the length",
]
PATIENCE_OF_CHECK_MS = 60_000


def ask_for(desk: Desk, monkeypatch, path: Path) -> None:
    """Choose "Open my code…", and the file."""
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    desk.window.actions_by_id.actions["open-code"].trigger()


def question(desk: Desk) -> AskToRun | None:
    return next((d for d in desk.window.findChildren(AskToRun) if d.isVisible()), None)


def opened(desk: Desk) -> OwnCodeWindow | None:
    own = desk.window.aids.own_code
    return None if own is None else own.window


def say_yes(desk: Desk) -> OwnCodeWindow:
    asked = question(desk)
    assert asked is not None
    asked.run_button.click()
    window = opened(desk)
    assert window is not None
    return window


def rest(desk: Desk, window: OwnCodeWindow) -> None:
    """Wait until the check that runs is over."""
    if window.is_checking:
        with desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
            pass


def checked(desk: Desk, monkeypatch, path: Path) -> OwnCodeWindow:
    ask_for(desk, monkeypatch, path)
    window = say_yes(desk)
    rest(desk, window)
    return window


def save(desk: Desk, window: OwnCodeWindow, act) -> None:
    """Save the file, and wait until it was checked again, by itself."""
    with desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        act()


def findings(window: OwnCodeWindow) -> list[str]:
    report = window.account.report
    assert report is not None
    return [row.mechanism for row in report.findings]


def states(window: OwnCodeWindow) -> dict[int | None, str]:
    return {row.number: row.state for row in window.account.rows.values()}


def choose(window: OwnCodeWindow, rule: int) -> None:
    place = window.parts.model.place_of(f"rule {rule}", is_finding=False)
    window.parts.list.setCurrentIndex(place)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
