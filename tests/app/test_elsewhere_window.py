"""A trace that another engine wrote, opened as a person would."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.elsewhere_window import ElsewhereWindow
from app.theme import DARK
from core.foreign.example_writer import write_trace
from tests.app.desk import ENDLESS, PATIENCE_MS, Desk

IDS = [3, 1, 2, 0, 4, 1]
RIGHT = 8.0 * np.eye(5)[[0, 4, 1, 2]]
SAID = 8.0 * np.eye(5)[[0, 3, 1, 2]]


@pytest.fixture
def path(tmp_path) -> Path:
    """Four calls; the second has wrong logits."""
    path = tmp_path / "other.kvtrace"
    write_trace(str(path), IDS, SAID, {"engine": "toy 1"}, reference=RIGHT)
    return path


def opened(desk: Desk, path: Path) -> ElsewhereWindow:
    with desk.qtbot.waitSignal(desk.control.opened_elsewhere, timeout=PATIENCE_MS):
        desk.window.files.open_path(path)
    (window,) = desk.window.aids.elsewhere
    return window


def closed(desk: Desk, window: ElsewhereWindow) -> None:
    window.close()
    desk.qtbot.waitUntil(lambda: desk.window.aids.elsewhere == [], timeout=PATIENCE_MS)


def test_it_opens_at_the_first_wrong_call_in_a_window_of_its_own(shared_desk, path):
    desk = shared_desk(ENDLESS)
    shown = desk.control.cursor.run_id
    window = opened(desk, path)
    assert window.isVisible()
    assert "step 1 of 3" in window.line.full_text
    assert "first wrong step: 1" in window.views[2].sentence
    assert desk.control.cursor.run_id == shown
    closed(desk, window)


def test_keys_go_from_call_to_call_and_stop_at_the_ends(shared_desk, path):
    desk = shared_desk(ENDLESS)
    window = opened(desk, path)
    visited = []
    for name in ("Right", "End", "Right", "Home", "Left"):
        desk.qtbot.keyClick(window, Qt.Key[f"Key_{name}"])
        visited.append(window.selection.step)
    assert visited == [2, 3, 3, 0, 0]
    assert window.steps.slider.value() == 0
    closed(desk, window)


def test_the_call_that_a_panel_selects_is_looked_at(shared_desk, path):
    desk = shared_desk(ENDLESS)
    window = opened(desk, path)
    window.views[2].selected.emit(window.selection.__class__(step=3))
    assert "step 3 of 3" in window.line.full_text
    closed(desk, window)


def test_another_theme_keeps_the_call_that_is_looked_at(shared_desk, path):
    desk = shared_desk(ENDLESS)
    window = opened(desk, path)
    window.go_to(2)
    window.dress(DARK)
    assert "step 2 of 3" in window.line.full_text
    assert window.grab().toImage().pixelColor(2, 2) == window.palette().window().color()
    closed(desk, window)


def test_without_a_reference_the_button_says_why_it_has_nowhere_to_go(shared_desk, tmp_path):
    path = tmp_path / "bare.kvtrace"
    write_trace(str(path), IDS, SAID, {})
    desk = shared_desk(ENDLESS)
    window = opened(desk, path)
    button = window.steps.buttons["first-wrong"]
    assert not button.isEnabled()
    assert "nothing is judged" in button.toolTip()
    closed(desk, window)


def test_a_damaged_one_is_one_line_in_the_window_and_opens_nothing(shared_desk, tmp_path):
    path = tmp_path / "odd.kvtrace"
    write_trace(str(path), [3, 1, 9], SAID[:1], {})
    desk = shared_desk(ENDLESS)
    with desk.qtbot.waitSignal(desk.control.noticed, timeout=PATIENCE_MS) as heard:
        desk.window.files.open_path(path)
    assert "token_ids[2] is 9, outside the vocabulary" in heard.args[0].text
    assert desk.window.aids.elsewhere == []


def test_named_at_the_start_it_opens_beside_the_usual_run(qapp, qtbot, path, tmp_path):
    desk = Desk(qapp, tmp_path / "kvscope.ini", ENDLESS).sit(qtbot)
    desk.window.show()
    both = [desk.control.opened_elsewhere, desk.control.rested]
    with qtbot.waitSignals(both, timeout=PATIENCE_MS, order="none"):
        desk.control.begin(1, "newest", None, file=path)
    assert desk.control.cursor.n_records == 1
    assert len(desk.window.aids.elsewhere) == 1
    desk.leave()
    desk.window.deleteLater()


def test_it_closes_with_the_main_window(sit_down, path):
    desk = sit_down(ENDLESS)
    opened(desk, path)
    desk.window.close()
    desk.qtbot.waitUntil(lambda: desk.window.aids.elsewhere == [], timeout=PATIENCE_MS)
