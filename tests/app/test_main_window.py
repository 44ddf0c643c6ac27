"""The window around a run, with an engine of no weight and panels that show a word."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QSlider

from app.docks.dock import ReadoutDock
from app.draft import Draft
from app.files import FULL, SMALL
from app.main_window import MainWindow
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import LIGHT
from core.errors import ModelError
from core.selection import Selection
from tests.app.fakes import FakeBackend, dock_spec

DOCKS = (dock_spec("upper"), dock_spec("lower"), dock_spec("below", "bottom"))
DRAFT = Draft("learned", "ab")


class Desk:
    """A window whose engine answers at once."""

    def __init__(self, qtbot, path: Path, draft: Draft = DRAFT) -> None:
        self.backend = FakeBackend()
        self.control = RunControl(lambda: self.backend, draft)
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


def test_what_the_mouse_is_over_in_one_panel_lights_up_in_all(desk):
    desk.docks[0].content.pointed.emit(Selection(token_index=2))
    assert [dock.content.pointed_at for dock in desk.docks] == [Selection(token_index=2)] * 3
    desk.docks[0].content.pointed.emit(None)
    assert [dock.content.pointed_at for dock in desk.docks] == [None] * 3


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


NO, YES = QMessageBox.StandardButton.No, QMessageBox.StandardButton.Yes


@pytest.mark.parametrize(
    ("typed", "answer", "is_asked", "is_saved"),
    [
        ("run", NO, True, False),
        ("run", YES, True, True),
        ("run.v2", NO, True, False),
        ("run.kvtrace", NO, False, True),
        ("new", NO, False, True),
    ],
    ids=["no", "yes", "with a dot", "the dialog asked", "a free name"],
)
def test_no_trace_is_written_over_another_that_nobody_was_asked_about(
    desk, qtbot, monkeypatch, tmp_path, typed, answer, is_asked, is_saved
):
    """The dialog asks about the name as it was typed, the window about the one it makes of it."""
    (tmp_path / "run.kvtrace").touch()
    (tmp_path / "run.v2.kvtrace").touch()
    asked: list[str] = []
    chosen = (str(tmp_path / typed), SMALL)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *args: chosen)
    monkeypatch.setattr(QMessageBox, "question", lambda *args: asked.append(args[2]) or answer)
    if is_saved:
        with qtbot.waitSignal(desk.control.noticed):
            desk.window.files.save()
    else:
        desk.window.files.save()
    name = typed.removesuffix(".kvtrace") + ".kvtrace"
    assert asked == ([f"{name} is there already. Replace it?"] if is_asked else [])
    assert desk.backend.saved == ([(tmp_path / name, False)] if is_saved else [])


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


def test_a_panel_that_fails_is_reported_and_those_after_it_go_on(desk, qtbot, monkeypatch):
    def fail(readout: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(desk.docks[0].content, "show_readout", fail)
    with qtbot.capture_exceptions() as caught:
        desk.press("back")
    assert [kind for kind, _, _ in caught] == [ZeroDivisionError]
    assert [dock.content.text() for dock in desk.docks[1:]] == ["step 1"] * 2
    assert desk.line.startswith("step 1 of 2")


def test_a_first_run_that_cannot_begin_is_not_waited_for(qtbot, path):
    desk = Desk(qtbot, path, Draft("missing", "ab"))
    desk.window.show()
    with qtbot.waitSignal(desk.control.rested):
        desk.control.begin(1, "newest", None)
    qtbot.waitUntil(lambda: "could not begin" in desk.line)
    assert "could not begin" in desk.window.actions_by_id.actions["step"].toolTip()
    desk.do(lambda: desk.control.set_up(DRAFT))
    assert desk.line.startswith("step 0 of 0")
    assert desk.control.close(5000)


def test_an_engine_that_cannot_be_loaded_is_not_waited_for(qtbot, path):
    def broken() -> FakeBackend:
        raise ImportError("no torch")

    control = RunControl(broken, DRAFT)
    window = MainWindow(control, DOCKS, LIGHT, Preferences(path))
    qtbot.addWidget(window)
    window.show()
    with qtbot.waitSignal(control.noticed):
        control.begin(1, "newest", None)
    qtbot.waitUntil(lambda: window.step_bar.text == "the engine could not be loaded")
    assert "could not be loaded" in window.actions_by_id.actions["open"].toolTip()
    assert "no torch" in window.message_bar.text
    assert control.close(5000)


def test_a_damaged_file_named_at_the_start_is_still_told_when_the_usual_run_is_shown(qtbot, path):
    desk = Desk(qtbot, path)
    desk.window.show()
    desk.do(lambda: desk.control.begin(3, "newest", None, Path("damaged.kvtrace")))
    assert desk.line.startswith("step 0 of 0")
    assert desk.window.message_bar.text == "damaged.kvtrace: it is damaged"
    desk.do(lambda: desk.control.set_up(Draft("learned", "ab", capacity=9)))
    assert desk.window.message_bar.text == ""
    assert desk.control.close(5000)


def test_a_file_whose_model_is_gone_is_told_by_its_name_and_beside_no_field(desk, qtbot):
    with qtbot.waitSignal(desk.control.noticed):
        desk.control.open_trace(Path("missing.kvtrace"))
    shown = desk.window.message_bar.text
    assert shown.startswith("missing.kvtrace: model 'missing' is neither")
    assert [label for label in desk.window.setup.error_labels() if label.isVisible()] == []
    assert desk.control.cursor.n_records == 3


def test_what_an_opened_file_came_to_goes_with_the_next_step(desk, qtbot):
    with qtbot.waitSignal(desk.control.rested):
        desk.control.open_trace(Path("learned.kvtrace"))
    assert desk.window.message_bar.text.startswith("opened and made again")
    desk.press("step")
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
    monkeypatch.setattr("app.layouts.layout_version", lambda ids: 9999)
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
    answer = (str(tmp_path / "run"), FULL)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *args: answer)
    with qtbot.waitSignal(desk.control.noticed):
        desk.window.files.save()
    assert desk.backend.saved == [(tmp_path / "run.kvtrace", True)]
    assert desk.window.message_bar.text == f"saved as {tmp_path / 'run.kvtrace'}"


def test_a_run_whose_first_step_fails_leaves_no_numbers_of_the_run_before(desk, qtbot):
    def fail(step: int) -> None:
        raise ModelError("no position 256")

    assert all(dock.content.text() for dock in desk.docks)
    desk.backend.before_step = fail
    with qtbot.waitSignal(desk.control.rested):
        desk.control.restart()
    qtbot.waitUntil(lambda: not any(dock.content.text() for dock in desk.docks))
