"""What a person can say of their own code, and take away from its check."""

import shlex

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.own_code_ask import AskToRun
from app.theme import DARK, LIGHT
from tests.app.desk import PATIENCE_MS
from tests.app.own_code_hands import (
    FINDINGS,
    MODELS,
    PATIENCE_OF_CHECK_MS,
    RIGHT,
    WRONG,
    ask_for,
    checked,
    choose,
    findings,
    opened,
    question,
    rest,
    save,
    say_yes,
    states,
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_cache.py"
    path.write_text(WRONG, "utf-8")
    return path


@pytest.fixture
def desk(shared_desk):
    """The window of the module, without what a test has opened beside it."""
    desk = shared_desk()
    yield desk
    desk.window.aids.close_windows()


def test_what_is_missing_is_said_beside_the_field_and_the_arguments_given_there_are_used(
    desk, monkeypatch, file
):
    odd = WRONG.replace("self, max_len, d_k, d_v", "self, max_len, d_k, d_v, flavour")
    file.write_text(odd, "utf-8")
    window = checked(desk, monkeypatch, file)
    form = window.parts.form
    assert form.isVisible()
    assert "flavour" in form.complaint.text()
    with desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        desk.qtbot.keyClicks(form.arguments, "flavour=3")
        desk.qtbot.keyClick(form.arguments, Qt.Key.Key_Return)
    assert findings(window) == FINDINGS
    assert not form.complaint.isVisible()
    window.parts.copy.click()
    copied = shlex.split(QGuiApplication.clipboard().text())
    assert copied == ["kvscope", "check", f"{file}:KVCache", "--args", "flavour=3"]


def test_a_promise_that_is_ticked_is_believed(desk, monkeypatch, file):
    file.write_text(RIGHT, "utf-8")
    window = checked(desk, monkeypatch, file)
    assert states(window)[18] == "note"
    with desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        window.parts.form.boxes["live_views"].click()
    assert states(window)[18] == "skipped"


def test_an_adapter_is_asked_about_too(desk, monkeypatch, file, tmp_path):
    marker = tmp_path / "was-run"
    adapter = tmp_path / "adapter.py"
    adapter.write_text(f"open({str(marker)!r}, 'w').close()\n", "utf-8")
    window = checked(desk, monkeypatch, file)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(adapter), ""))
    window.parts.form.adapter.click()
    (asked,) = window.findChildren(AskToRun)
    asked.reject()
    rest(desk, window)
    assert not marker.exists()
    assert window.parts.form.wishes.adapter is None


def test_tests_are_written_that_fail_as_the_class_does(desk, monkeypatch, file, tmp_path):
    window = checked(desk, monkeypatch, file)
    written = tmp_path / "test_mine.py"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(written), ""))
    window.parts.tests.click()
    assert "def test_rule_9_" in written.read_text("utf-8")
    save(desk, window, lambda: file.write_text(RIGHT, "utf-8"))
    assert not window.parts.tests.isEnabled()
    assert "no rule is broken" in window.parts.tests.toolTip()


def test_which_of_several_things_is_checked_can_be_chosen_before_and_after(desk, monkeypatch, file):
    file.write_text(f"{WRONG}\n\n{RIGHT.replace('KVCache', 'Other')}", "utf-8")
    ask_for(desk, monkeypatch, file)
    asked = question(desk)
    names = [asked.names.itemData(i).name for i in range(asked.names.count())]
    assert names == ["KVCache", "Other"]
    asked.names.setCurrentIndex(1)
    window = say_yes(desk)
    rest(desk, window)
    assert findings(window) == []
    with desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        window.parts.names.setCurrentIndex(0)
    assert findings(window) == FINDINGS


def test_a_finding_opens_a_run_of_ours_with_the_same_mistake(desk, monkeypatch, file):
    window = checked(desk, monkeypatch, file)
    choose(window, 9)
    assert window.parts.detail.run_button.isVisible()
    desk.do(window.parts.detail.run_button.click)
    assert [use.id for use in desk.control.draft.faults] == ["cap-early"]
    assert desk.step == desk.control.cursor.first_wrong
    choose(window, 3)
    assert not window.parts.detail.run_button.isVisible()


def test_a_model_with_two_faults_shows_both_and_each_way_of_reading(desk, monkeypatch, tmp_path):
    path = tmp_path / "my_model.py"
    text = (MODELS / "nano.py").read_text("utf-8")
    path.write_text(text.replace("def right(", "def _right("), "utf-8")
    ask_for(desk, monkeypatch, path)
    names = question(desk).names
    names.setCurrentIndex(next(i for i in range(names.count()) if names.itemData(i).name == "both"))
    window = say_yes(desk)
    rest(desk, window)
    assert [row.preset for row in window.account.report.findings] == [
        "pos-restart",
        "mask-top-left",
    ]
    assert {row.state for row in window.account.rows.values()} == {"wrong"}
    assert "must be [5]" in window.parts.detail.evidence.text()
    assert not window.parts.tests.isEnabled()


def test_a_file_of_code_that_is_dropped_is_asked_about(desk, file):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    event = QDropEvent(
        QPointF(QPoint(50, 50)),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    desk.window.dropEvent(event)
    asked = question(desk)
    assert asked is not None
    asked.reject()


def test_all_of_it_by_keyboard(desk, monkeypatch, file):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    desk.qtbot.keyClick(desk.window, Qt.Key.Key_O, keys)
    asked = question(desk)
    desk.qtbot.waitUntil(asked.isActiveWindow)
    assert asked.no_button.hasFocus()
    asked.run_button.setFocus(Qt.FocusReason.TabFocusReason)
    desk.qtbot.keyClick(asked.run_button, Qt.Key.Key_Space)
    window = opened(desk)
    desk.qtbot.waitUntil(window.isActiveWindow)
    rest(desk, window)
    listed = window.parts.list
    assert listed.hasFocus()
    assert listed.currentIndex().data() == FINDINGS[0]
    desk.qtbot.keyClick(listed, Qt.Key.Key_Down)
    assert listed.currentIndex().data() == FINDINGS[1]
    assert window.parts.detail.head.text() == FINDINGS[1]
    with desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        desk.qtbot.keyClick(window, Qt.Key.Key_F5)
    assert listed.currentIndex().data() == FINDINGS[1]
    desk.qtbot.keyClick(window, Qt.Key.Key_Escape)
    desk.qtbot.waitUntil(lambda: opened(desk) is None, timeout=PATIENCE_MS)


def test_the_window_is_dressed_with_the_others(desk, monkeypatch, file):
    window = checked(desk, monkeypatch, file)
    sign = window.parts.sign
    desk.window.looks.choose_theme("dark")
    assert sign.palette().color(sign.foregroundRole()) == DARK.alarm
    desk.window.looks.choose_theme("light")
    assert sign.palette().color(sign.foregroundRole()) == LIGHT.alarm
    assert findings(window) == FINDINGS
