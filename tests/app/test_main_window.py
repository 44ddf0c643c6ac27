"""The window around a run, with an engine of no weight and panels that show a word."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QSlider

from app.docks.dock import ReadoutDock
from app.draft import Draft
from app.main_window import FULL, MainWindow
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import LIGHT
from core.selection import Selection
from tests.app.fakes import FakeBackend, dock_spec

DOCKS = (dock_spec("upper"), dock_spec("lower"), dock_spec("below", "bottom"))
DRAFT = Draft("learned", "ab")


class Desk:
    """A window whose engine answers at once."""

    def __init__(self, qtbot, path: Path) -> None:
        self.backend = FakeBackend()
        self.control = RunControl(lambda: self.backend, DRAFT)
        self.preferences = Preferences(path)
        self.window = MainWindow(self.control, DOCKS, LIGHT, self.preferences)
        qtbot.addWidget(self.window)
        self._qtbot = qtbot

    def do(self, act: Callable[[], None]) -> None:
        """Act, and wait until everything that was asked for is shown."""
        with self._qtbot.waitSignal(self.window.settled):
            act()

    def open(self) -> None:
        self.window.show()
        self.do(lambda: self.control.begin(3, "newest", None))

    def press(self, action: str) -> None:
        self.do(self.window.actions_by_id.actions[action].trigger)

    @property
    def docks(self) -> tuple[ReadoutDock, ...]:
        return self.window.readout_docks

    @property
    def line(self) -> str:
        return self.window.step_bar.text


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "kvscope.ini"


@pytest.fixture
def desk(qtbot, path) -> Iterator[Desk]:
    made = Desk(qtbot, path)
    made.open()
    yield made
    made.window.close()
    assert made.control.close(5000)


def test_before_the_engine_is_there_the_window_says_so(qtbot, path):
    desk = Desk(qtbot, path)
    desk.window.show()
    assert desk.line == "the engine is starting…"
    step = desk.window.actions_by_id.actions["step"]
    assert not step.isEnabled()
    assert "Not now: the engine is starting" in step.toolTip()
    assert desk.control.close(5000)


def test_every_panel_shows_the_step_looked_at(desk):
    desk.press("back")
    assert [dock.content.text() for dock in desk.docks] == ["step 1"] * 3
    assert desk.line.startswith("step 1 of 2")


def test_a_hidden_panel_does_nothing_and_then_shows_the_newest_only(desk, qtbot):
    hidden = desk.docks[0]
    hidden.hide()
    n_before = len(hidden.content.shown)
    for action in ("back", "back", "step"):
        desk.press(action)
    assert len(hidden.content.shown) == n_before
    hidden.show()
    qtbot.waitUntil(lambda: len(hidden.content.shown) > n_before)
    assert hidden.content.shown[n_before:] == ["step 1"]


def test_several_changes_in_one_turn_are_shown_once(desk):
    shown = desk.docks[0].content.shown
    n_before = len(shown)

    def run_through() -> None:
        for step in (0, 1, 2, 0, 1):
            desk.control.go_to(step)

    desk.do(run_through)
    assert shown[n_before:] == ["step 1"]


def test_what_is_chosen_in_a_panel_is_looked_at_in_all(desk):
    desk.do(lambda: desk.docks[2].content.selected.emit(Selection(step=0, slot=4)))
    assert desk.control.cursor.selection == Selection(step=0, slot=4)
    assert [dock.content.text() for dock in desk.docks] == ["step 0"] * 3


def test_the_slider_goes_to_its_step_and_follows_the_cursor(desk):
    slider = desk.window.transport.findChild(QSlider)
    desk.do(lambda: slider.setValue(1))
    assert desk.control.cursor.selection.step == 1
    desk.press("last")
    assert (slider.value(), slider.maximum()) == (2, 2)


def test_play_becomes_pause_and_back(desk):
    play = desk.window.actions_by_id.actions["play"]
    assert play.text() == "Play"
    desk.do(play.trigger)
    assert play.text() == "Pause"
    desk.do(play.trigger)
    assert play.text() == "Play"


def test_settings_that_cannot_be_used_stand_beside_their_field(desk):
    desk.do(lambda: desk.control.set_up(Draft("missing", "ab")))
    shown = [label.text() for label in desk.window.setup.error_labels() if label.isVisible()]
    assert shown == ["model 'missing' is neither a known name nor a folder"]
    desk.do(lambda: desk.control.set_up(DRAFT))
    assert [label for label in desk.window.setup.error_labels() if label.isVisible()] == []


def test_a_fault_of_our_own_is_a_line_and_the_window_stays_usable(desk):
    def stumble(step: int) -> None:
        raise ZeroDivisionError("oh")

    desk.backend.before_step = stumble
    desk.press("step")
    assert "ZeroDivisionError" in desk.window.message_bar.text
    desk.press("back")
    assert desk.line.startswith("step 1 of 2")


def test_the_first_wrong_step_is_one_key_away(desk, qtbot):
    desk.do(desk.control.jump_on)
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    desk.press("first")
    with qtbot.waitSignal(desk.window.settled):
        qtbot.keyClick(desk.window, Qt.Key.Key_F8)
    assert desk.line.startswith("step 3 of 12")


def test_a_trace_is_not_written_over_another_without_a_question(desk, monkeypatch):
    """The dialog knows the name with its suffix, so it is the one that asks."""
    seen: list[QFileDialog] = []
    monkeypatch.setattr(QFileDialog, "exec", lambda dialog: seen.append(dialog) or 0)
    desk.window.save_file()
    (dialog,) = seen
    assert dialog.acceptMode() == QFileDialog.AcceptMode.AcceptSave
    assert dialog.defaultSuffix() == "kvtrace"
    assert not dialog.testOption(QFileDialog.Option.DontConfirmOverwrite)
    assert desk.backend.saved == []


def test_what_was_said_of_the_steps_there_were_goes_with_the_next_one(desk):
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    assert "nothing is wrong in its 3 steps" in desk.window.message_bar.text
    desk.press("back")
    assert desk.window.message_bar.text != ""
    desk.press("step")
    assert desk.window.message_bar.text != ""
    desk.press("step")
    assert desk.window.message_bar.text == ""


def test_a_refused_setting_takes_the_place_of_what_was_said_of_the_run(desk):
    desk.do(lambda: desk.control.set_faults(("pos-restart",)))
    desk.do(lambda: desk.control.set_up(Draft("missing", "ab")))
    assert desk.window.message_bar.text == ""


def test_the_layout_comes_back(qtbot, path, desk):
    desk.docks[1].hide()
    desk.window.close()
    again = Desk(qtbot, path)
    again.window.show()
    assert [dock.isHidden() for dock in again.docks] == [False, True, False]
    assert again.control.close(5000)


def test_a_layout_of_another_version_is_left_aside(qtbot, path, desk, monkeypatch):
    desk.docks[1].hide()
    desk.window.close()
    monkeypatch.setattr("app.main_window.layout_version", lambda: 9999)
    again = Desk(qtbot, path)
    again.window.show()
    assert [dock.isHidden() for dock in again.docks] == [False] * 3
    assert again.control.close(5000)


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
def test_reset_brings_every_panel_back_to_its_place(desk, qtbot):
    upper, lower, below = desk.docks
    upper.setFloating(True)
    lower.hide()
    desk.window.actions_by_id.actions["reset-layout"].trigger()
    assert [dock.isFloating() for dock in desk.docks] == [False] * 3
    qtbot.waitUntil(lambda: upper.y() < lower.y() < below.y())
    assert upper.x() > desk.window.panels[0].x()
    assert below.width() == desk.window.width()


def test_about_blocks_nothing_and_names_the_versions(desk):
    desk.window.actions_by_id.actions["about"].trigger()
    box = desk.window.findChild(QMessageBox, "about")
    assert box.isVisible()
    assert not box.isModal()
    assert "PySide6" in box.informativeText()
    box.close()


def test_every_command_stands_in_a_menu_and_no_button_is_without_a_name(desk):
    for action in desk.window.actions_by_id.actions.values():
        assert action.associatedObjects() != []
        assert action.toolTip()


def test_a_trace_is_saved_under_the_name_that_was_given(desk, qtbot, monkeypatch, tmp_path):
    def answer(dialog: QFileDialog) -> int:
        dialog.selectNameFilter(FULL)
        dialog.selectFile(str(tmp_path / "run"))
        return 1

    monkeypatch.setattr(QFileDialog, "exec", answer)
    with qtbot.waitSignal(desk.control.noticed):
        desk.window.save_file()
    assert desk.backend.saved == [(tmp_path / "run.kvtrace", True)]
    assert desk.window.message_bar.text == f"saved as {tmp_path / 'run.kvtrace'}"
