"""What is remembered comes back as what it was."""

from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from app.preferences import Preferences, layout_version


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "kvscope.ini"


def test_at_the_first_start_nothing_is_remembered(path):
    preferences = Preferences(path)
    assert preferences.theme == "system"
    assert preferences.geometry.isEmpty()
    assert preferences.arrangement("debug-large").isEmpty()
    assert (preferences.layout_name, preferences.text_percent) == ("debug", 100)
    assert preferences.recent == ()


def test_what_is_kept_is_read_back_from_the_file(path):
    preferences = Preferences(path)
    preferences.theme = "dark"
    preferences.text_percent = 150
    preferences.layout_name = "teach"
    preferences.keep_geometry(QByteArray(b"\x00\xffsize"))
    preferences.keep_arrangement("teach-small", QByteArray(b"docks"))
    preferences.remember(Path("/a run.kvtrace"))
    preferences.save()
    again = Preferences(path)
    assert (again.theme, again.text_percent, again.layout_name) == ("dark", 150, "teach")
    assert again.geometry == b"\x00\xffsize"
    assert again.arrangement("teach-small") == b"docks"
    assert again.recent == (Path("/a run.kvtrace"),)


def test_forgetting_the_layout_keeps_the_theme(path):
    preferences = Preferences(path)
    preferences.theme = "dark"
    preferences.keep_arrangement("debug-large", QByteArray(b"docks"))
    preferences.forget_layout()
    assert preferences.theme == "dark"
    assert preferences.arrangement("debug-large").isEmpty()


def test_ten_traces_are_remembered_the_newest_first_and_each_once(path):
    preferences = Preferences(path)
    for number in (*range(12), 5):
        preferences.remember(Path(f"/{number}.kvtrace"))
    names = [recent.stem for recent in preferences.recent]
    assert names == ["5", "11", "10", "9", "8", "7", "6", "4", "3", "2"]
    preferences.forget_recent()
    assert preferences.recent == ()


def test_a_file_that_was_edited_by_hand_does_no_harm(path):
    lines = ("[General]", "theme=purple", "text-percent=7", "layout-name=x", "[window]")
    path.write_text("\n".join((*lines, "panels-debug-large=12")), encoding="utf-8")
    preferences = Preferences(path)
    assert (preferences.theme, preferences.layout_name) == ("system", "debug")
    assert preferences.text_percent == 100
    assert preferences.arrangement("debug-large").isEmpty()


def test_a_layout_of_another_minor_version_of_qt_is_another_version(monkeypatch):
    here = layout_version(["cache"])
    monkeypatch.setattr("app.preferences.qVersion", lambda: "6.99.0")
    assert layout_version(["cache"]) != here


def test_a_layout_with_other_panels_is_another_version():
    assert layout_version(["a", "b"]) == layout_version(["b", "a"])
    assert layout_version(["a", "b"]) != layout_version(["a", "c"])
