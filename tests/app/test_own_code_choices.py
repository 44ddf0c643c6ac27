"""What a person can say of their own code, and take away from its check."""

import shlex
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.own_code_ask import AskToRun
from app.theme import DARK, LIGHT
from core.contract.names_in_file import names_in
from resources import resource_path
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


def test_what_is_missing_is_said_beside_the_field_and_the_arguments_given_there_are_used(
    code_desk, monkeypatch, cache_file
):
    odd = WRONG.replace("self, max_len, d_k, d_v", "self, max_len, d_k, d_v, flavour")
    cache_file.write_text(odd, "utf-8")
    window = checked(code_desk, monkeypatch, cache_file)
    form = window.parts.form
    assert form.isVisible()
    assert "flavour" in form.complaint.text()
    with code_desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        code_desk.qtbot.keyClicks(form.arguments, "flavour=3")
        code_desk.qtbot.keyClick(form.arguments, Qt.Key.Key_Return)
    assert findings(window) == FINDINGS
    assert not form.complaint.isVisible()
    window.parts.copy.click()
    copied = shlex.split(QGuiApplication.clipboard().text())
    assert copied == ["kvscope", "check", f"{cache_file}:KVCache", "--args", "flavour=3"]


def test_a_promise_that_is_ticked_is_believed(code_desk, monkeypatch, cache_file):
    cache_file.write_text(RIGHT, "utf-8")
    window = checked(code_desk, monkeypatch, cache_file)
    assert states(window)[18] == "note"
    with code_desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        window.parts.form.boxes["live_views"].click()
    assert states(window)[18] == "skipped"


def test_an_adapter_is_asked_about_too(code_desk, monkeypatch, cache_file, tmp_path):
    marker = tmp_path / "was-run"
    adapter = tmp_path / "adapter.py"
    adapter.write_text(f"open({str(marker)!r}, 'w').close()\n", "utf-8")
    window = checked(code_desk, monkeypatch, cache_file)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(adapter), ""))
    window.parts.form.adapter.click()
    (asked,) = window.findChildren(AskToRun)
    asked.reject()
    rest(code_desk, window)
    assert not marker.exists()
    assert window.parts.form.wishes.adapter is None


def test_tests_are_written_that_fail_as_the_class_does(
    code_desk, monkeypatch, cache_file, tmp_path
):
    window = checked(code_desk, monkeypatch, cache_file)
    written = tmp_path / "test_mine.py"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(written), ""))
    window.parts.tests.click()
    assert "def test_rule_9_" in written.read_text("utf-8")
    save(code_desk, window, lambda: cache_file.write_text(RIGHT, "utf-8"))
    assert not window.parts.tests.isEnabled()
    assert "no rule is broken" in window.parts.tests.toolTip()


def test_which_of_several_things_is_checked_can_be_chosen_before_and_after(
    code_desk, monkeypatch, cache_file
):
    cache_file.write_text(f"{WRONG}\n\n{RIGHT.replace('KVCache', 'Other')}", "utf-8")
    ask_for(code_desk, monkeypatch, cache_file)
    asked = question(code_desk)
    names = [asked.names.itemData(i).name for i in range(asked.names.count())]
    assert names == ["KVCache", "Other"]
    asked.names.setCurrentIndex(1)
    window = say_yes(code_desk)
    rest(code_desk, window)
    assert findings(window) == []
    with code_desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        window.parts.names.setCurrentIndex(0)
    assert findings(window) == FINDINGS


def test_a_finding_opens_a_run_of_ours_with_the_same_mistake(code_desk, monkeypatch, cache_file):
    window = checked(code_desk, monkeypatch, cache_file)
    choose(window, 9)
    assert window.parts.detail.run_button.isVisible()
    code_desk.do(window.parts.detail.run_button.click)
    assert [use.id for use in code_desk.control.draft.faults] == ["cap-early"]
    assert code_desk.step == code_desk.control.cursor.first_wrong
    choose(window, 3)
    assert not window.parts.detail.run_button.isVisible()


def test_a_model_with_two_faults_shows_both_and_each_way_of_reading(
    code_desk, monkeypatch, tmp_path
):
    path = tmp_path / "my_model.py"
    text = (MODELS / "nano.py").read_text("utf-8")
    path.write_text(text.replace("def right(", "def _right("), "utf-8")
    ask_for(code_desk, monkeypatch, path)
    names = question(code_desk).names
    names.setCurrentIndex(next(i for i in range(names.count()) if names.itemData(i).name == "both"))
    window = say_yes(code_desk)
    rest(code_desk, window)
    assert [row.preset for row in window.account.report.findings] == [
        "pos-restart",
        "mask-top-left",
    ]
    assert {row.state for row in window.account.rows.values()} == {"wrong"}
    assert "must be [5]" in window.parts.detail.evidence.text()
    assert not window.parts.tests.isEnabled()


def test_a_file_of_code_that_is_dropped_is_asked_about(code_desk, cache_file):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(cache_file))])
    event = QDropEvent(
        QPointF(QPoint(50, 50)),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    code_desk.window.dropEvent(event)
    asked = question(code_desk)
    assert asked is not None
    asked.reject()


def test_all_of_it_by_keyboard(code_desk, monkeypatch, cache_file):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(cache_file), ""))
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    code_desk.qtbot.keyClick(code_desk.window, Qt.Key.Key_O, keys)
    asked = question(code_desk)
    code_desk.qtbot.waitUntil(asked.isActiveWindow)
    assert asked.no_button.hasFocus()
    asked.run_button.setFocus(Qt.FocusReason.TabFocusReason)
    code_desk.qtbot.keyClick(asked.run_button, Qt.Key.Key_Space)
    window = opened(code_desk)
    code_desk.qtbot.waitUntil(window.isActiveWindow)
    rest(code_desk, window)
    listed = window.parts.list
    assert listed.hasFocus()
    assert listed.currentIndex().data() == FINDINGS[0]
    code_desk.qtbot.keyClick(listed, Qt.Key.Key_Down)
    assert listed.currentIndex().data() == FINDINGS[1]
    assert window.parts.detail.head.text() == FINDINGS[1]
    with code_desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        code_desk.qtbot.keyClick(window, Qt.Key.Key_F5)
    assert listed.currentIndex().data() == FINDINGS[1]
    code_desk.qtbot.keyClick(window, Qt.Key.Key_Escape)
    code_desk.qtbot.waitUntil(lambda: opened(code_desk) is None, timeout=PATIENCE_MS)


def test_the_window_is_dressed_with_the_others(code_desk, monkeypatch, cache_file):
    window = checked(code_desk, monkeypatch, cache_file)
    sign = window.parts.sign
    code_desk.window.looks.choose_theme("dark")
    assert sign.palette().color(sign.foregroundRole()) == DARK.alarm
    code_desk.window.looks.choose_theme("light")
    assert sign.palette().color(sign.foregroundRole()) == LIGHT.alarm
    assert findings(window) == FINDINGS


def test_the_prompt_of_a_model_and_its_checkpoint_can_be_given(code_desk, monkeypatch, tmp_path):
    path = tmp_path / "my_model.py"
    text = (MODELS / "nano.py").read_text("utf-8")
    path.write_text(f"{text}\n\ndef make_model():\n    return right()\n", "utf-8")
    ask_for(code_desk, monkeypatch, path)
    asked = question(code_desk)
    asked.names.setCurrentIndex([named.name for named in names_in(path)].index("make_model"))
    window = say_yes(code_desk)
    rest(code_desk, window)
    form = window.parts.form
    window.parts.options.setChecked(True)
    code_desk.qtbot.keyClicks(form.prompt, "3 one 4")
    code_desk.qtbot.keyClick(form.prompt, Qt.Key.Key_Return)
    assert "'one' is none" in form.complaint.text()
    form.prompt.clear()
    code_desk.qtbot.keyClicks(form.prompt, "3 1 4")
    with code_desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        code_desk.qtbot.keyClick(form.prompt, Qt.Key.Key_Return)
    assert window.account.about.endswith("11 tokens")
    assert form.wishes.options("model")[2:] == ["--prompt-ids", "3,1,4"]
    folder = Path(resource_path("models", "learned"))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    with code_desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_OF_CHECK_MS):
        form.reference.click()
    assert "give the folder that the model's weights come from" in form.complaint.text()
