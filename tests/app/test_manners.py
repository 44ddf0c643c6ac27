"""Commands by their words, all keys on a sheet, going to a step, files and pictures."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLabel, QLineEdit, QListWidget, QMenu

from app.command_palette import CommandPalette
from app.draft import Draft
from app.files import TWICE, USUAL_SIZE
from app.main_window import MainWindow
from app.preferences import Preferences
from app.run_control import RunControl
from app.shortcut_sheet import ShortcutSheet
from app.theme import LIGHT
from core.lessons import Show
from core.selection import Selection
from tests.app.fakes import FakeBackend, dock_spec


class Desk:
    """A window with five steps."""

    def __init__(self, qtbot, path: Path) -> None:
        self.control = RunControl(FakeBackend, Draft("learned", "ab"))
        self.preferences = Preferences(path)
        docks = (dock_spec("upper"), dock_spec("lower"))
        self.window = MainWindow(self.control, docks, LIGHT, self.preferences)
        self._qtbot = qtbot
        qtbot.addWidget(self.window)

    def do(self, act: Callable[[], object]) -> None:
        with self._qtbot.waitSignal(self.window.settled):
            act()

    def press(self, action: str) -> None:
        self.window.actions_by_id.actions[action].trigger()

    @property
    def step(self) -> int:
        return self.control.cursor.selection.step


@pytest.fixture
def desk(qtbot, tmp_path) -> Iterator[Desk]:
    made = Desk(qtbot, tmp_path / "kvscope.ini")
    made.window.show()
    made.do(lambda: made.control.begin(5, "newest", None))
    yield made
    made.window.close()
    assert made.control.close(5000)


def palette_of(desk: Desk) -> CommandPalette:
    desk.press("palette")
    found = desk.window.findChild(CommandPalette)
    assert found is not None
    return found


pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def test_the_palette_lists_every_command_and_every_panel(desk):
    shown = palette_of(desk).shown
    assert len(shown) == len(desk.window.actions_by_id.actions) + len(desk.window.docks)
    assert "Theme: Dark" in shown
    assert "Panel: Upper" in shown


def test_a_command_is_found_by_its_words_and_done_by_enter(desk, qtbot):
    palette = palette_of(desk)
    search = palette.findChild(QLineEdit)
    qtbot.keyClicks(search, "step back")
    desk.do(lambda: qtbot.keyClick(search, Qt.Key.Key_Return))
    assert desk.step == 3


def test_keys_stand_at_the_right_of_the_palette_and_lines_are_high_enough_to_be_clicked(desk):
    listed = palette_of(desk).findChild(QListWidget)
    target_px = desk.window.looks.theme.target_px
    ends = {}
    for name in ("Open trace", "Load fault"):
        (item,) = listed.findItems(name, Qt.MatchFlag.MatchStartsWith)
        listed.setCurrentItem(None)
        listed.scrollToItem(item)
        place = listed.visualItemRect(item)
        assert place.height() >= target_px
        image = listed.viewport().grab(place).toImage()
        end = image.copy(image.width() - 40, 0, 40, image.height())
        ends[name] = {end.pixel(x, y) for x in range(40) for y in range(end.height())}
    assert len(ends["Load fault"]) == 1
    assert len(ends["Open trace"]) > 2


@pytest.mark.parametrize("words", ["dark", "theme dark", "DARK"])
def test_a_name_goes_before_what_another_command_says_of_itself(desk, qtbot, words):
    palette = palette_of(desk)
    search = palette.findChild(QLineEdit)
    qtbot.keyClicks(search, words)
    assert palette.shown[0] == "Theme: Dark"
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert desk.window.looks.theme.name == "dark"


def test_whole_words_of_a_name_go_before_parts(desk, qtbot):
    palette = palette_of(desk)
    qtbot.keyClicks(palette.findChild(QLineEdit), "to")
    is_whole = ["to" in re.findall(r"\w+", line.casefold()) for line in palette.shown]
    assert is_whole[0]
    assert not is_whole[-1]


def test_a_search_that_finds_nothing_says_so_until_it_finds_something(desk, qtbot):
    palette = palette_of(desk)
    search, said = palette.findChild(QLineEdit), palette.findChild(QLabel)
    n_commands = len(palette.shown)
    assert not said.isVisible()
    qtbot.keyClicks(search, "zebra")
    assert (palette.shown, said.isVisible(), said.text()) == ((), True, "no command of that name")
    qtbot.keyClick(search, Qt.Key.Key_Return)
    search.clear()
    assert (len(palette.shown), said.isVisible()) == (n_commands, False)


def test_arrows_move_in_the_palette(desk, qtbot):
    palette = palette_of(desk)
    search = palette.findChild(QLineEdit)
    qtbot.keyClicks(search, "look at the step")
    names = palette.shown
    qtbot.keyClick(search, Qt.Key.Key_Down)
    desk.do(lambda: qtbot.keyClick(search, Qt.Key.Key_Return))
    assert len(names) > 2
    assert desk.step != 4


def test_a_command_that_is_off_says_why_and_is_not_done(desk, qtbot):
    palette = palette_of(desk)
    search = palette.findChild(QLineEdit)
    qtbot.keyClicks(search, "to first wrong")
    assert "no step of this run is wrong" in palette.shown[0]
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert palette.isVisible()


def test_the_sheet_has_each_command_with_a_key_once_and_blocks_nothing(desk):
    desk.press("shortcuts")
    sheet = desk.window.findChild(ShortcutSheet)
    specs = desk.window.actions_by_id.specs
    with_keys = [s for s in specs if (s.keys or s.soft_keys) and not s.id.startswith("tenth")]
    assert len(sheet.lines) == len(with_keys) + 1
    assert ("Ctrl+G", "Go to: Step") in sheet.lines
    assert not sheet.isModal()
    sheet.close()


def test_a_number_is_asked_for_and_gone_to(desk):
    desk.press("go-to")
    dialog = desk.window.findChild(QInputDialog)
    assert (dialog.intMinimum(), dialog.intMaximum(), dialog.intValue()) == (0, 4, 4)
    dialog.setIntValue(2)
    desk.do(dialog.accept)
    assert desk.step == 2


def test_recent_traces_are_listed_and_those_that_are_gone_cannot_be_chosen(desk, tmp_path):
    for name in ("gone", "here"):
        desk.preferences.remember(tmp_path / f"{name}.kvtrace")
    (tmp_path / "here.kvtrace").touch()
    menu = QMenu()
    desk.window.files.fill_recent(menu)
    listed = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
    assert listed == {"here.kvtrace": True, "gone.kvtrace": False, "Clear this list": True}


def test_a_trace_that_is_dropped_is_opened_and_remembered(desk, qtbot, tmp_path):
    path = tmp_path / "learned.kvtrace"
    path.touch()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPoint(9, 9),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    with qtbot.waitSignal(desk.control.rested):
        desk.window.dropEvent(event)
    assert desk.window.message_bar.text.startswith("opened and made again")
    assert desk.preferences.recent == (path,)


@pytest.mark.parametrize(("kind", "scale"), [(USUAL_SIZE, 1), (TWICE, 2)], ids=["1x", "2x"])
def test_a_view_is_saved_as_a_picture_at_its_size_or_twice(
    desk, monkeypatch, tmp_path, kind, scale
):
    target = tmp_path / "view"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *args: (str(target), kind))
    view = desk.window.readout_docks[0].content
    desk.window.files.export_view(view)
    image = QImage(str(target.with_suffix(".png")))
    assert image.size() == view.size() * scale


def test_a_panel_is_copied_as_a_picture(desk):
    desk.window.readout_docks[0].picture_wanted.emit("copy")
    copied = QGuiApplication.clipboard().image()
    assert copied.size() == desk.window.readout_docks[0].content.size()


def test_the_status_line_counts_what_was_computed_and_names_what_the_mouse_is_over(desk):
    assert desk.window.status.work_words.startswith("tokens computed: ")
    content = desk.window.readout_docks[0].content
    content.pointed.emit(Selection(step=4, slot=3))
    assert desk.window.status.pointed_words == "slot 3"
    content.pointed.emit(None)
    assert desk.window.status.pointed_words == ""
    assert desk.window.status.engine_words == "torch 0.0 · cpu, cuda:0"


def test_a_link_of_a_lesson_goes_to_its_step_and_chooses_what_it_names(desk):
    lower = desk.window.dock("lower")
    lower.hide()
    desk.do(lambda: desk.window.follow(Show(step=2, dock="lower", slot=1, layer=3)))
    assert desk.control.cursor.selection == Selection(step=2, slot=1, layer=3)
    assert not lower.isHidden()


def test_a_link_with_a_fault_loads_its_scenario_and_then_chooses(desk, qtbot):
    with qtbot.waitSignal(desk.control.rested):
        desk.window.follow(Show(step=1, slot=0, faults=("mask-top-left",)))
    assert [use.id for use in desk.control.draft.faults] == ["mask-top-left"]
    selection = desk.control.cursor.selection
    assert (selection.step, selection.slot) == (1, 0)
    assert desk.window.faults.ids == ("mask-top-left",)


def test_a_link_to_the_same_run_without_a_fault_takes_it_away(desk, qtbot):
    with qtbot.waitSignal(desk.control.rested):
        desk.control.set_faults(("mask-top-left",))
    with qtbot.waitSignal(desk.control.rested):
        desk.window.follow(Show(step=3, faults=()))
    assert desk.control.draft.faults == ()
    assert desk.step == 3
