"""A person sees the calls that break a rule in all panels, as a run of a model with their class."""

from typing import Any

from PySide6.QtCore import Qt

from app.own_code_detail import NO_RUN, STEPS
from core.contract.names_in_file import names_in
from tests.app.desk import Desk
from tests.app.own_code_hands import (
    MODELS,
    PATIENCE_OF_CHECK_MS,
    RIGHT,
    WRONG,
    ask_for,
    checked,
    choose,
    opened,
    question,
    rest,
    save,
    say_yes,
)

UNLIKE = WRONG.replace("return self.v\n", "return self.v[:1]\n")
"""Keys and values of different numbers of rows come back."""
IDS = (
    "tokens", "cache", "mask", "attention", "next-token", "inspector", "diagnosis", "timeline",
    "spread", "code", "lesson",
)  # fmt: skip


def run_rested(desk: Desk, act):
    """Do something, and wait until the run that it asks for is there, or cannot be."""
    own = desk.window.aids.own_code
    with desk.qtbot.waitSignal(own.run_rested, timeout=PATIENCE_OF_CHECK_MS):
        act()
    return own.run_window


def seen(desk: Desk, window, rule: int):
    """Press the button for a rule, and give the window of the run."""
    choose(window, rule)
    shown = run_rested(desk, window.parts.detail.panels_button.click)
    if shown is not None:
        settled(desk, shown)
    return shown


def settled(desk: Desk, shown) -> None:
    """Until the panels show the step."""
    step = shown.cursor_of_run.selection.step
    beginning = f"step {step} of "
    desk.qtbot.waitUntil(lambda: shown.step_bar.text.startswith(beginning), timeout=5000)


def content(shown, dock_id: str) -> Any:
    """What a panel shows."""
    return shown.dock(dock_id).content


def in_front(desk: Desk, shown, dock_id: str) -> Any:
    """Bring a panel forward, and give what it shows."""
    dock = shown.dock(dock_id)
    dock.raise_()
    desk.qtbot.waitUntil(lambda: not dock.is_behind, timeout=5000)
    return content(shown, dock_id)


def test_the_calls_that_break_a_rule_are_steps_with_all_panels_from_the_first_wrong_one(
    code_desk, monkeypatch, cache_file
):
    window = checked(code_desk, monkeypatch, cache_file)
    shown = seen(code_desk, window, 4)
    assert shown.isVisible()
    assert {dock.id for dock in shown.docks} == set(IDS)
    assert shown.dock("cache").windowTitle() == "Cache, inferred"
    assert shown.state.full_text == "rule 4: first wrong step: 0"
    assert "inferred" in shown.about.full_text
    mask = in_front(code_desk, shown, "mask").sentence
    assert mask.startswith("reads 16 rows, 5 written")
    assert "never written" in in_front(code_desk, shown, "attention").sentence
    assert in_front(code_desk, shown, "cache").sentence.startswith("holds 5 of 16")
    assert "right would be" in in_front(code_desk, shown, "next-token").sentence
    assert "first wrong step: 0" in in_front(code_desk, shown, "timeline").sentence
    assert "reaches layers 0–3" in in_front(code_desk, shown, "spread").sentence
    assert content(shown, "diagnosis").sentence == (
        "step 0: mask, layer 0: token 0 sees token 0 and 11 rows of no token, expected 0"
    )
    assert "it goes on with 5 tokens, then 2 one by one" in shown.rule.label.text()


def test_keys_go_from_step_to_step_and_the_line_that_raises_is_marked(
    code_desk, monkeypatch, cache_file
):
    window = checked(code_desk, monkeypatch, cache_file)
    shown = seen(code_desk, window, 11)
    code_desk.qtbot.waitUntil(shown.isActiveWindow, timeout=5000)
    marks = []
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right):
        code_desk.qtbot.keyClick(shown, key)
        settled(code_desk, shown)
        marks.append(shown.source.marked)
    assert shown.step_bar.text.endswith("offers 2 tokens · refused: needs 2, 1 free of 2")
    assert marks == [None, 19]
    assert "In step 1 it raises" in shown.rule.label.text()
    assert "length 1 → 3 of 2" in in_front(code_desk, shown, "cache").sentence


def test_a_saved_repair_turns_the_run_right_and_meanwhile_it_says_that_it_is_old(
    code_desk, monkeypatch, cache_file
):
    window = checked(code_desk, monkeypatch, cache_file)
    shown = seen(code_desk, window, 9)
    assert shown.state.full_text == "rule 9: first wrong step: 0"
    said = []
    window.began.connect(lambda: said.append(shown.state.full_text))
    run_rested(
        code_desk, lambda: save(code_desk, window, lambda: cache_file.write_text(RIGHT, "utf-8"))
    )
    settled(code_desk, shown)
    assert "of the file as it was at" in said[0]
    assert "the file is checked again" in said[0]
    assert "no step is wrong" in shown.state.full_text
    assert shown.run.wish.text == RIGHT
    code_desk.qtbot.waitUntil(
        lambda: "feeds 'T' at position 0" in shown.step_bar.text, timeout=5000
    )
    assert content(shown, "diagnosis").sentence == "nothing is wrong in step 0"


def test_a_file_that_cannot_be_checked_any_more_leaves_an_old_run_that_says_so(
    code_desk, monkeypatch, cache_file
):
    window = checked(code_desk, monkeypatch, cache_file)
    shown = seen(code_desk, window, 9)
    save(code_desk, window, lambda: cache_file.write_text("class Other(:\n", "utf-8"))
    assert shown.state.full_text.startswith("rule 9: of the file as it was at")
    assert shown.run.wish.text == WRONG


def test_calls_that_no_model_makes_are_not_offered_and_say_why(code_desk, monkeypatch, cache_file):
    window = checked(code_desk, monkeypatch, cache_file)
    choose(window, 17)
    button = window.parts.detail.panels_button
    assert not button.isEnabled()
    assert button.toolTip() == NO_RUN


def test_where_nothing_can_be_read_the_reason_stands_at_the_button(
    code_desk, monkeypatch, cache_file
):
    cache_file.write_text(UNLIKE, "utf-8")
    window = checked(code_desk, monkeypatch, cache_file)
    assert seen(code_desk, window, 2) is None
    said = window.parts.detail.of_run.text()
    assert said.startswith("no run: the run ends before step 0")
    choose(window, 9)
    assert not window.parts.detail.of_run.isVisibleTo(window)


def test_another_rule_is_shown_in_the_same_window(code_desk, monkeypatch, cache_file):
    window = checked(code_desk, monkeypatch, cache_file)
    shown = seen(code_desk, window, 9)
    assert seen(code_desk, window, 11) is shown
    assert shown.state.full_text == "rule 11: first wrong step: 0"


def test_it_goes_with_the_window_of_the_code(code_desk, monkeypatch, cache_file):
    window = checked(code_desk, monkeypatch, cache_file)
    seen(code_desk, window, 9)
    own = code_desk.window.aids.own_code
    window.close()
    code_desk.qtbot.waitUntil(lambda: own.run_window is None, timeout=5000)
    assert opened(code_desk) is None


def test_the_calls_of_a_model_are_seen_step_by_step_and_again_when_it_is_repaired(
    code_desk, monkeypatch, tmp_path
):
    text = (MODELS / "nano.py").read_text("utf-8")
    path = tmp_path / "mine.py"
    only = "\n\ndef make_model():\n    return pos_restart()\n"
    path.write_text(text + only, "utf-8")
    ask_for(code_desk, monkeypatch, path)
    asked = question(code_desk)
    asked.names.setCurrentIndex([named.name for named in names_in(path)].index("make_model"))
    window = say_yes(code_desk)
    rest(code_desk, window)
    detail, own = window.parts.detail, code_desk.window.aids.own_code
    assert detail.panels_button.text() == STEPS
    run_rested(code_desk, detail.panels_button.click)
    shown = own.reading_window
    assert shown.run.first_wrong == 1
    assert shown.selection.step == 1
    assert shown.views[2].sentence.endswith("first wrong step: 1")
    repaired = only.replace("pos_restart", "right")
    run_rested(
        code_desk,
        lambda: save(code_desk, window, lambda: path.write_text(text + repaired, "utf-8")),
    )
    assert own.reading_window.run.first_wrong is None
