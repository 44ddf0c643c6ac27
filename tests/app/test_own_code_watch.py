"""Files are watched as editors save them: in place, by another file, in several goes."""

import os

import pytest
from PySide6.QtCore import QObject

from app.own_code_watch import FileWatch

PATIENCE_MS = 10_000


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("a", "utf-8")
    return path


@pytest.fixture
def watch(qtbot, file):
    owner = QObject()
    watch = FileWatch(owner)
    watch.watch([file])
    yield watch
    watch.stop()


def put_in_place(file, text):
    other = file.with_suffix(".part")
    other.write_text(text, "utf-8")
    os.replace(other, file)


def test_a_file_that_was_put_in_place_is_watched_too(qtbot, watch, file):
    put_in_place(file, "a")  # the same content: nothing is told, but Qt has lost the file
    folder = file.parent / "later"
    with qtbot.waitSignal(watch.looked, timeout=PATIENCE_MS):
        folder.touch()
    with qtbot.waitSignal(watch.changed, timeout=PATIENCE_MS):
        file.write_text("b", "utf-8")


def test_several_writes_in_a_row_are_told_once(qtbot, watch, file):
    told: list[None] = []
    watch.changed.connect(lambda: told.append(None))
    with qtbot.waitSignal(watch.looked, timeout=PATIENCE_MS):
        for text in ("b", "c", "d"):
            file.write_text(text, "utf-8")
    assert len(told) == 1


def test_a_save_that_changes_nothing_is_not_told(qtbot, watch, file):
    told: list[None] = []
    watch.changed.connect(lambda: told.append(None))
    with qtbot.waitSignal(watch.looked, timeout=PATIENCE_MS):
        file.write_text("a", "utf-8")
    assert told == []


def test_a_file_that_is_gone_and_comes_back_is_told_of_both(qtbot, watch, file):
    with qtbot.waitSignal(watch.changed, timeout=PATIENCE_MS):
        file.unlink()
    with qtbot.waitSignal(watch.changed, timeout=PATIENCE_MS):
        file.write_text("a", "utf-8")


def test_what_is_not_watched_any_more_is_not_told(qtbot, watch, file, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("x", "utf-8")
    watch.watch([other])
    told: list[None] = []
    watch.changed.connect(lambda: told.append(None))
    file.write_text("b", "utf-8")
    with qtbot.waitSignal(watch.changed, timeout=PATIENCE_MS):
        other.write_text("y", "utf-8")
    assert len(told) == 1
