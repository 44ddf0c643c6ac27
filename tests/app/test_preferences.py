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
    assert preferences.layout.isEmpty()


def test_what_is_kept_is_read_back_from_the_file(path):
    preferences = Preferences(path)
    preferences.theme = "dark"
    preferences.keep_window(QByteArray(b"\x00\xffsize"), QByteArray(b"docks"))
    preferences.save()
    again = Preferences(path)
    assert again.theme == "dark"
    assert again.geometry == b"\x00\xffsize"
    assert again.layout == b"docks"


def test_forgetting_the_layout_keeps_the_theme(path):
    preferences = Preferences(path)
    preferences.theme = "dark"
    preferences.keep_window(QByteArray(b"size"), QByteArray(b"docks"))
    preferences.forget_layout()
    assert (preferences.theme, preferences.layout.isEmpty()) == ("dark", True)


def test_a_file_that_was_edited_by_hand_does_no_harm(path):
    path.write_text("[General]\ntheme=purple\n[window]\nlayout=12\n", encoding="utf-8")
    preferences = Preferences(path)
    assert (preferences.theme, preferences.layout.isEmpty()) == ("system", True)


def test_a_layout_of_another_minor_version_of_qt_is_another_version(monkeypatch):
    here = layout_version()
    monkeypatch.setattr("app.preferences.qVersion", lambda: "6.99.0")
    assert layout_version() != here
