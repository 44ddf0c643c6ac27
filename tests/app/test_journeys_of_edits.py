"""What a person changes in the middle of a run, what follows, and how it is taken back."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QTreeWidget,
)

from app.draft import Draft
from app.faults_panel import FROM_HERE
from app.number_field import NumberField
from app.theme import DARK
from app.widgets.canvas import Canvas
from core.faults.scenarios import FILLING, ROOMY, UNEVEN_PROBE
from tests.app.desk import ENDLESS, PATIENCE_MS, Desk


def press_play_and_wait_for_the_end(desk: Desk) -> None:
    desk.control.player.set_speed(64)
    with desk.qtbot.waitSignal(desk.control.player.stopped, timeout=PATIENCE_MS):
        desk.qtbot.keyClick(desk.window, Qt.Key.Key_F5)
    desk.do(desk.control.situation_changed.emit)


def test_play_ends_at_a_full_cache_with_its_reason_and_two_ways_on(shared_desk):
    desk = shared_desk(Draft.of_scenario(FILLING))
    press_play_and_wait_for_the_end(desk)
    words = "Run ended: cache full, needs 1, 0 free of 12. Raise the capacity or choose window"
    assert desk.window.message_bar.text == words
    for action in ("play", "step"):
        button = desk.window.actions_by_id.actions[action]
        assert not button.isEnabled()
        assert words in button.toolTip()
    assert list(desk.offers()) == ["Capacity 24", "Policy window"]
    assert desk.control.situation().is_judged


@pytest.mark.parametrize(
    ("offer", "facts"),
    [("Capacity 24", ("refuse", 24)), ("Policy window", ("window", 12))],
    ids=["capacity", "window"],
)
def test_a_way_on_from_a_full_cache_is_taken_and_the_run_goes_on(shared_desk, offer, facts):
    desk = shared_desk(Draft.of_scenario(FILLING))
    press_play_and_wait_for_the_end(desk)
    n_before = desk.control.cursor.n_records
    desk.do(desk.offers()[offer].click)
    spec = desk.control.cursor.view().spec
    assert (spec.policy, spec.capacity) == facts
    assert desk.field(QComboBox, "Policy").currentData() == facts[0]
    assert desk.field(NumberField, "Capacity").number == facts[1]
    assert desk.control.cursor.n_records == n_before
    assert "refused" not in desk.line
    assert desk.window.actions_by_id.actions["play"].isEnabled()
    desk.press(Qt.Key.Key_F10)
    assert desk.control.cursor.n_records == n_before + 1
    assert desk.control.cursor.first_wrong is None


def test_a_fault_switched_on_in_mid_run_leads_to_its_first_wrong_step(shared_desk):
    desk = shared_desk(n_records=5)
    desk.do(lambda: desk.control.go_to(3))
    desk.tick("mask-top-left")
    cursor = desk.control.cursor
    assert (cursor.n_records, desk.step, cursor.first_wrong) == (5, 1, 1)
    desk.tick("mask-top-left")
    assert (cursor.n_records, cursor.first_wrong) == (5, None)


def test_a_fault_from_this_step_on_leaves_the_steps_before_as_they_were(shared_desk):
    desk = shared_desk(n_records=6)
    before = [record.digest() for record in desk.control.cursor.records]
    desk.do(lambda: desk.control.go_to(3))
    menu = desk.window.faults.menu_of("mask-top-left")
    branch = next(action for action in menu.actions() if action.text() == FROM_HERE)
    desk.do(branch.trigger)
    menu.close()
    after = [record.digest() for record in desk.control.cursor.records]
    assert after[:3] == before[:3]
    assert after[3] != before[3]
    assert desk.step == desk.control.cursor.first_wrong == 3
    assert desk.window.faults.ids == ("mask-top-left",)


def test_a_prompt_is_edited_and_the_edit_is_taken_back_and_done_again(shared_desk):
    desk = shared_desk(n_records=4)
    prompt = desk.field(QPlainTextEdit, "Prompt")
    old, new = prompt.toPlainText(), "Sam inside. Mia outside. Where"
    before = [record.digest() for record in desk.control.cursor.records]
    desk.edit(lambda: prompt.setPlainText(new))
    assert [record.digest() for record in desk.control.cursor.records] != before
    desk.act("undo")
    assert prompt.toPlainText() == old
    assert [record.digest() for record in desk.control.cursor.records] == before
    desk.act("redo")
    assert prompt.toPlainText() == new


def test_quick_edits_start_one_run(shared_desk, qtbot):
    desk = shared_desk(ENDLESS, n_records=3)
    prompt, runs = desk.field(QPlainTextEdit, "Prompt"), []
    count = desk.control.run_asked.connect(lambda: runs.append(prompt.toPlainText()))
    desk.edit(lambda: qtbot.keyClicks(prompt, "e sat"))
    desk.control.run_asked.disconnect(count)
    assert len(runs) == 1


def test_a_token_that_is_forced_is_read_next_and_all_before_it_stays(shared_desk, qtbot):
    desk = shared_desk(ENDLESS, n_records=5)
    desk.do(lambda: desk.control.go_to(2))
    view = desk.content("next-token")
    canvas = desk.the(Canvas, view)
    chosen = desk.control.cursor.records[2].next_token
    before = [record.digest() for record in desk.control.cursor.records]
    rows = desk.window.dock("next-token").spec.readout(desk.control.cursor.view()).rows
    other = next(row for row in rows if row.token_id != chosen)
    at = next(
        (10.0, y)
        for y in range(canvas.height())
        if (found := canvas.hit(QPointF(10.0, y))) and f"id {other.token_id}" in found.tip
    )
    place = QPointF(*at).toPoint()
    desk.do(lambda: qtbot.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=place))
    records = desk.control.cursor.records
    assert records[3].token_ids == (other.token_id,)
    assert [record.digest() for record in records[:2]] == before[:2]
    assert desk.step == 2
    assert desk.control.cursor.first_wrong is None


def test_an_old_run_is_brought_back_from_the_list_of_runs(sit_down, qtbot):
    desk = sit_down(n_records=4)
    before = desk.control.cursor.records
    desk.tick("mask-top-left")
    runs = desk.window.dock("runs")
    runs.raise_()
    listed = desk.the(QTreeWidget, runs)
    qtbot.waitUntil(lambda: listed.topLevelItemCount() == 2)
    at = listed.visualItemRect(listed.topLevelItem(0)).center()
    desk.do(lambda: qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=at))
    assert all(new is old for new, old in zip(desk.control.cursor.records, before, strict=True))
    assert desk.window.faults.ids == ()
    desk.press(Qt.Key.Key_F10)
    assert desk.control.cursor.n_records == 5


SILENT = {
    "cap-early": "the cache never filled: ",
    "evict-newest": "",
    "gqa-tile": "",
}


@pytest.mark.parametrize("fault_id", SILENT)
def test_a_silent_fault_says_why_and_its_button_loads_what_shows_it(shared_desk, fault_id):
    desk = shared_desk(Draft.of_scenario(ROOMY), n_records=3)
    own = desk.field(QPlainTextEdit, "Prompt").toPlainText()
    desk.tick(fault_id)
    assert desk.control.cursor.first_wrong is None
    words = desk.window.message_bar.text
    assert words.startswith(f"{fault_id} is on, and nothing is wrong in its 3 steps: ")
    assert SILENT[fault_id] in words
    desk.do(desk.offers()["Load the scenario that shows it"].click)
    assert desk.step == desk.control.cursor.first_wrong
    assert desk.window.faults.ids == (fault_id,)
    desk.act("undo")
    assert desk.field(QPlainTextEdit, "Prompt").toPlainText() == own
    assert desk.field(NumberField, "Capacity").number == 64


def test_the_reason_of_a_fault_that_needs_a_full_cache_has_the_runs_numbers(shared_desk):
    desk = shared_desk(Draft.of_scenario(ROOMY), n_records=1)
    desk.tick("cap-early")
    assert "the cache never filled: 7 of 64" in desk.window.message_bar.text


def choose(box: QComboBox, text: str) -> None:
    box.addItem(text)
    box.setCurrentText(text)


def choose_policy(box: QComboBox, name: str) -> None:
    box.setCurrentIndex(box.findData(name))


PROBED = Draft.of_scenario(UNEVEN_PROBE)
SINKS = replace(Draft.of_scenario(ROOMY), policy="sinks", sinks=1)
WRONG = {
    "capacity": (ENDLESS, NumberField, "Capacity", lambda f: f.set_number(9999), "choose at most"),
    "prompt": (ENDLESS, QPlainTextEdit, "Prompt", lambda f: f.clear(), "the prompt is empty"),
    "model": (ENDLESS, QComboBox, "Model", lambda f: f.setEditText("/nowhere"), "neither a known"),
    "device": (ENDLESS, QComboBox, "Device", lambda f: choose(f, "cuda:9"), "cpu"),
    "dtype": (ENDLESS, QComboBox, "Number type", lambda f: choose(f, "float8"), "float8"),
    "policy": (PROBED, QComboBox, "Policy", lambda f: choose_policy(f, "window"), "probe"),
    "sinks": (SINKS, NumberField, "Sinks", lambda f: f.set_number(64), "sinks"),
    "re-assign": (SINKS, QCheckBox, "Re-assign positions", lambda f: f.setChecked(True), "learned"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_setting_is_told_under_its_field_and_the_run_stays(shared_desk, case):
    draft, kind, name, act, message = WRONG[case]
    desk = shared_desk(draft, n_records=3)
    before = desk.control.cursor.records
    field = desk.field(kind, name)
    desk.edit(lambda: act(field))
    assert len(desk.errors) == 1
    assert message in desk.errors[0]
    label = next(each for each in desk.window.setup.error_labels() if each.isVisible())
    desk.qtbot.waitUntil(lambda: label.heightForWidth(label.width()) <= label.height())
    gap = label.mapTo(desk.window, label.rect().topLeft()).y()
    gap -= field.mapTo(desk.window, field.rect().bottomLeft()).y()
    assert 0 < gap < 12
    assert not label.visibleRegion().isEmpty()
    assert desk.control.cursor.records == before
    desk.press(Qt.Key.Key_F10)
    assert desk.control.cursor.n_records == len(before) + 1


def test_a_wrong_setting_that_is_mended_takes_its_message_away(shared_desk):
    desk = shared_desk(ENDLESS, n_records=3)
    capacity = desk.field(NumberField, "Capacity")
    desk.edit(lambda: capacity.set_number(9999))
    assert len(desk.errors) == 1
    desk.edit(lambda: capacity.set_number(32))
    assert desk.errors == []
    assert desk.control.cursor.view().spec.capacity == 32


def test_colours_and_letters_change_while_the_run_goes_on(sit_down, qtbot):
    desk = sit_down(replace(ENDLESS, capacity=200))
    desk.control.player.set_speed(64)
    qtbot.keyClick(desk.window, Qt.Key.Key_F5)
    for action in ("theme-dark", "text-larger", "layout-teach", "text-smaller", "layout-debug"):
        n = desk.control.cursor.n_records
        desk.window.actions_by_id.actions[action].trigger()
        qtbot.waitUntil(lambda n=n: desk.control.cursor.n_records > n, timeout=PATIENCE_MS)
        assert desk.control.player.is_playing
    with qtbot.waitSignal(desk.control.player.stopped, timeout=PATIENCE_MS):
        qtbot.keyClick(desk.window, Qt.Key.Key_F5)
    desk.do(desk.control.situation_changed.emit)
    assert desk.window.looks.theme.name == DARK.name
    assert desk.line.startswith(f"step {desk.step} of {desk.control.cursor.newest} · decode")
    assert desk.window.message_bar.text == ""


def test_what_is_looked_at_is_the_same_in_each_layout(shared_desk):
    desk = shared_desk(n_records=5)
    desk.do(lambda: desk.control.go_to(2))
    line = desk.line
    for action in ("layout-teach", "layout-debug"):
        desk.act(action)
        assert desk.line == line
        assert desk.sentence_label("tokens").text().startswith("decode: reads ")


def test_a_fault_is_found_by_its_words(shared_desk, qtbot):
    desk = shared_desk(n_records=3)
    search = desk.the(QLineEdit, desk.window.faults)
    qtbot.keyClicks(search, "row 0 causal")
    listed = desk.the(QListWidget, desk.window.faults)
    shown = [listed.item(row) for row in range(listed.count()) if not listed.item(row).isHidden()]
    desk.tick("mask-top-left")
    search.clear()
    assert any(item is desk.row_of("mask-top-left") for item in shown)
    assert desk.step == 1
