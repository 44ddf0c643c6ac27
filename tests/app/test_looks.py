"""Colours and letters change while the window is open, and nothing that is shown is lost."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLineEdit, QListWidget, QPlainTextEdit

from app.draft import Draft
from app.main_window import MainWindow
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import DARK, LIGHT, apply_theme
from tests.app.fakes import FakeBackend, dock_spec


@pytest.fixture
def window(qtbot, qapp, tmp_path) -> Iterator[MainWindow]:
    preferences = Preferences(tmp_path / "kvscope.ini")
    preferences.theme = "light"
    control = RunControl(FakeBackend, Draft("learned", "ab"))
    made = MainWindow(control, (dock_spec("upper"), dock_spec("lower")), LIGHT, preferences)
    qtbot.addWidget(made)
    made.show()
    with qtbot.waitSignal(made.settled):
        control.begin(3, "newest", None)
    yield made
    made.close()
    assert control.close(5000)
    apply_theme(qapp, LIGHT)


def press(window: MainWindow, action: str) -> None:
    window.actions_by_id.actions[action].trigger()


def test_a_theme_is_taken_up_at_once_and_remembered(window, qapp):
    press(window, "theme-dark")
    assert qapp.palette().color(QPalette.ColorRole.Base) == DARK.paper
    assert window.looks.theme.name == "dark"
    press(window, "theme-light")
    assert qapp.palette().color(QPalette.ColorRole.Base) == LIGHT.paper


def test_every_panel_shows_the_same_step_in_the_new_theme(window):
    before = [dock.content for dock in window.readout_docks]
    press(window, "theme-dark")
    after = [dock.content for dock in window.readout_docks]
    assert all(new is not old for new, old in zip(after, before, strict=True))
    assert [content.text() for content in after] == ["step 2"] * 2
    assert window.step_bar.text.startswith("step 2 of 2")


def test_a_panel_in_the_new_theme_is_joined_as_the_old_one_was(window, qtbot):
    press(window, "theme-dark")
    content = window.readout_docks[0].content
    with qtbot.waitSignal(window.readout_docks[0].selected):
        content.selected.emit(window.control.cursor.selection)
    with qtbot.waitSignal(window.settled):
        press(window, "back")
    assert content.text() == "step 1"


def test_what_was_typed_and_ticked_stays(window):
    search = window.faults.findChild(QLineEdit)
    search.setText("cap")
    window.faults.show_faults(("cap-early",))
    prompt = window.setup.findChild(QPlainTextEdit)
    prompt.setPlainText("half a sen")
    press(window, "theme-dark")
    assert (search.text(), prompt.toPlainText()) == ("cap", "half a sen")
    assert window.faults.ids == ("cap-early",)


def test_text_grows_shrinks_and_comes_back(window, qapp):
    usual = qapp.font().pixelSize()
    press(window, "text-larger")
    assert qapp.font().pixelSize() > usual
    assert window.readout_docks[0].title_bar.sizeHint().height() > LIGHT.title_px
    press(window, "text-smaller")
    press(window, "text-smaller")
    assert qapp.font().pixelSize() < usual
    press(window, "text-usual")
    assert qapp.font().pixelSize() == usual


def test_text_stays_between_80_and_200_percent(window):
    for _ in range(12):
        press(window, "text-larger")
    assert window.looks.text_percent == 200
    for _ in range(12):
        press(window, "text-smaller")
    assert window.looks.text_percent == 80


def test_targets_and_titles_never_get_smaller_than_they_may():
    small = LIGHT.sized(percent=80)
    assert (small.target_px, small.title_px) == (24, 22)
    large = LIGHT.sized(percent=100, is_large=True)
    assert (large.sans_px, large.mono_px) == (18, 16)
    assert LIGHT.sized(percent=100) == LIGHT


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("percent", [80, 90, 100, 125, 150, 200])
def test_lengths_are_enough_for_every_kind_of_letters(percent, is_large):
    theme = LIGHT.sized(percent=percent, is_large=is_large)
    assert theme.px(13) >= theme.sans_px
    assert theme.px(12) >= theme.mono_px
    assert theme.px(11) >= theme.small_px


def test_the_choice_in_force_is_ticked_in_the_menu(window, qtbot):
    actions = window.actions_by_id.actions
    with qtbot.waitSignal(window.settled):
        press(window, "theme-dark")
    assert actions["theme-dark"].isChecked()
    assert not actions["theme-light"].isChecked()


def test_the_desktops_colours_are_followed_only_where_that_was_chosen(window, qapp, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr("app.looks.choose_theme", lambda name, app: asked.append(name) or DARK)
    hints = qapp.styleHints()
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert asked == []
    press(window, "theme-system")
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert asked == ["system", "system"]
    assert window.looks.theme.name == "dark"


def test_the_list_of_faults_keeps_its_place(window):
    listed = window.faults.findChild(QListWidget)
    listed.setCurrentRow(3)
    press(window, "theme-dark")
    assert listed.currentRow() == 3


@pytest.mark.parametrize("part", [QListWidget, QLineEdit, QPlainTextEdit])
def test_controls_take_the_colours_up_whatever_styles_them(window, qtbot, part):
    press(window, "theme-dark")
    shown = window.findChildren(part)

    def is_dark() -> bool:
        roles, palettes = QPalette.ColorRole, [control.palette() for control in shown]
        colours = {(p.color(roles.Base).name(), p.color(roles.Text).name()) for p in palettes}
        return colours == {(DARK.paper.name(), DARK.text.name())}

    qtbot.waitUntil(is_dark)


def test_the_line_below_has_the_ground_of_the_window(window, qtbot):
    press(window, "theme-dark")
    below = window.statusBar()
    qtbot.waitUntil(lambda: below.palette().color(below.backgroundRole()) == DARK.raised)
