"""A person opens their own code: asked first, told what is wrong, told again when they save it."""

import os
import shutil

import pytest

from tests.app.desk import PATIENCE_MS
from tests.app.own_code_hands import (
    FINDINGS,
    RIGHT,
    WRONG,
    ask_for,
    checked,
    choose,
    findings,
    is_alive,
    opened,
    question,
    rest,
    save,
    say_yes,
    states,
)

HANGS = WRONG.replace("        new = k.shape[0]\n", "        while True:\n            pass\n")


def test_nothing_in_the_file_runs_before_yes_and_nothing_after_no(code_desk, monkeypatch, tmp_path):
    marker = tmp_path / "was-run"
    path = tmp_path / "marking.py"
    path.write_text(f"open({str(marker)!r}, 'w').close()\n{RIGHT}", "utf-8")
    ask_for(code_desk, monkeypatch, path)
    asked = question(code_desk)
    assert asked is not None
    assert asked.no_button.isDefault()
    assert str(path) in asked.question.text()
    assert not marker.exists()
    asked.reject()
    assert opened(code_desk) is None
    assert not marker.exists()
    ask_for(code_desk, monkeypatch, path)
    rest(code_desk, say_yes(code_desk))
    assert marker.exists()


def test_a_trusted_file_is_asked_about_once_in_a_sitting(code_desk, monkeypatch, cache_file):
    checked(code_desk, monkeypatch, cache_file)
    cache_file.write_text(RIGHT, "utf-8")
    ask_for(code_desk, monkeypatch, cache_file)
    assert question(code_desk) is None
    window = opened(code_desk)
    rest(code_desk, window)
    assert findings(window) == []


@pytest.mark.parametrize("is_changed", [False, True], ids=["as-it-was", "changed"])
def test_after_a_restart_only_a_changed_file_is_asked_about_again(
    sit_down, monkeypatch, cache_file, tmp_path, is_changed
):
    first = sit_down()
    checked(first, monkeypatch, cache_file)
    first.leave()
    if is_changed:
        cache_file.write_text(RIGHT, "utf-8")
    shutil.copy(first.preferences.path, tmp_path / "1.ini")  # where the second window looks
    second = sit_down()
    ask_for(second, monkeypatch, cache_file)
    assert (question(second) is not None) == is_changed
    if not is_changed:
        rest(second, opened(second))


def test_the_interview_class_shows_its_three_findings_and_which_rules_follow(
    code_desk, monkeypatch, cache_file
):
    window = checked(code_desk, monkeypatch, cache_file)
    assert findings(window) == FINDINGS
    assert len(states(window)) == 40
    assert {n for n, state in states(window).items() if state == "fail"} == {4, 9, 11}
    listed = window.parts.model
    lines = [listed.index(i).data() for i in range(listed.rowCount())]
    assert lines[: len(FINDINGS) + 2] == ["Findings", *FINDINGS, "Rules"]
    assert window.parts.state.text().startswith("3 rules broken")
    choose(window, 9)
    detail = window.parts.detail
    assert detail.fields["expected"].text() == "accepted"
    assert "ValueError: cache full" in detail.fields["found"].text()
    assert "refuse when length + n > capacity" in detail.fields["repair"].text()
    assert "defappend(self,k,v):" in "".join(detail.code.toPlainText().split())
    assert "append 1 row: ValueError: cache full" in detail.steps.accessibleDescription()


def test_the_list_turns_right_by_itself_when_the_repaired_file_is_saved(
    code_desk, monkeypatch, cache_file
):
    window = checked(code_desk, monkeypatch, cache_file)
    choose(window, 9)
    save(code_desk, window, lambda: cache_file.write_text(RIGHT, "utf-8"))
    assert findings(window) == []
    assert window.parts.state.text().startswith("no rule is broken")
    chosen = window.parts.model.row_at(window.parts.list.currentIndex())
    assert (chosen.key, chosen.state) == ("rule 9", "pass")


def test_a_finding_that_is_repaired_stays_chosen_as_a_rule(code_desk, monkeypatch, cache_file):
    window = checked(code_desk, monkeypatch, cache_file)
    place = window.parts.model.place_of("rule 11", is_finding=True)
    window.parts.list.setCurrentIndex(window.parts.model.index(place.row() - 1))
    window.parts.list.setCurrentIndex(place)
    save(code_desk, window, lambda: cache_file.write_text(RIGHT, "utf-8"))
    chosen = window.parts.model.row_at(window.parts.list.currentIndex())
    assert (chosen.key, chosen.state) == ("rule 11", "pass")


def test_an_editor_that_puts_a_new_file_in_place_is_followed_again_and_again(
    code_desk, monkeypatch, cache_file, tmp_path
):
    window = checked(code_desk, monkeypatch, cache_file)
    for text, wanted in ((RIGHT, []), (WRONG, FINDINGS), (RIGHT, [])):
        other = tmp_path / "my_cache.py.part"
        other.write_text(text, "utf-8")
        save(code_desk, window, lambda other=other: os.replace(other, cache_file))
        assert findings(window) == wanted


def test_a_class_that_hangs_can_be_cancelled_and_its_process_is_gone(
    code_desk, monkeypatch, cache_file, tmp_path
):
    noted = tmp_path / "pid"
    note = f"import os\nopen({str(noted)!r}, 'w').write(str(os.getpid()))\n"
    cache_file.write_text(note + HANGS, "utf-8")
    ask_for(code_desk, monkeypatch, cache_file)
    window = say_yes(code_desk)
    code_desk.qtbot.waitUntil(noted.exists, timeout=PATIENCE_MS)
    code_desk.qtbot.waitUntil(lambda: bool(noted.read_text()), timeout=PATIENCE_MS)
    assert window.is_checking
    with code_desk.qtbot.waitSignal(window.rested, timeout=PATIENCE_MS):
        window.parts.cancel.click()
    assert window.parts.state.text().startswith("cancelled")
    code_desk.qtbot.waitUntil(lambda: not is_alive(int(noted.read_text())), timeout=PATIENCE_MS)


def test_closing_the_window_amid_a_check_ends_all_that_it_started(
    code_desk, monkeypatch, cache_file, tmp_path
):
    noted = tmp_path / "pid"
    note = f"import os\nopen({str(noted)!r}, 'w').write(str(os.getpid()))\n"
    cache_file.write_text(note + HANGS, "utf-8")
    ask_for(code_desk, monkeypatch, cache_file)
    window = say_yes(code_desk)
    code_desk.qtbot.waitUntil(
        lambda: noted.exists() and bool(noted.read_text()), timeout=PATIENCE_MS
    )
    window.close()
    code_desk.qtbot.waitUntil(lambda: opened(code_desk) is None, timeout=PATIENCE_MS)
    code_desk.qtbot.waitUntil(lambda: not is_alive(int(noted.read_text())), timeout=PATIENCE_MS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n    pass\n", "my_cache.py, line 1 is no Python"),
        ("x = 1\n", "my_cache.py has no class and nothing that makes a model"),
    ],
    ids=["syntax", "nothing"],
)
def test_a_file_that_cannot_be_checked_is_one_sentence_and_is_not_run(
    code_desk, monkeypatch, cache_file, text, said
):
    cache_file.write_text(text, "utf-8")
    ask_for(code_desk, monkeypatch, cache_file)
    assert question(code_desk) is None
    assert opened(code_desk) is None
    words = code_desk.window.message_bar.text
    assert words.startswith(said)
    assert "\n" not in words


def test_a_slip_of_the_pen_in_a_saved_file_is_said_and_the_list_stays(
    code_desk, monkeypatch, cache_file
):
    window = checked(code_desk, monkeypatch, cache_file)
    save(
        code_desk,
        window,
        lambda: cache_file.write_text(WRONG.replace("def keys(self)", "def keys(self"), "utf-8"),
    )
    said = window.parts.state.text()
    assert said.startswith("my_cache.py, line 23 is no Python")
    assert said.endswith("the list is as before")
    assert findings(window) == FINDINGS
    save(code_desk, window, lambda: cache_file.write_text(RIGHT, "utf-8"))
    assert findings(window) == []


def test_a_class_that_ends_the_interpreter_and_prints_leaves_the_window_up(
    code_desk, monkeypatch, cache_file
):
    cache_file.write_text(
        WRONG.replace(
            "        self.n += new\n", "        print('x' * 100_000)\n        os._exit(3)\n"
        ).replace("import numpy", "import os\nimport numpy"),
        "utf-8",
    )
    window = checked(code_desk, monkeypatch, cache_file)
    assert window.isVisible()
    assert window.parts.state.text()
    assert window.account.report is not None or window.parts.form.complaint.text()
