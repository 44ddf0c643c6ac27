"""A person's ways through the window, with the real engine, models and panels."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QPushButton

from app.draft import Draft
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.fault import Fault
from core.faults.scenarios import FILLING
from tests.app.desk import ENDLESS, PATIENCE_MS, Desk


def test_step_ten_times_and_ten_times_back(shared_desk):
    desk = shared_desk(ENDLESS)
    for _ in range(10):
        desk.press(Qt.Key.Key_F10)
    assert desk.line.startswith("step 10 of 10 · decode · feeds")
    before = desk.control.cursor.records
    for _ in range(10):
        desk.press(Qt.Key.Key_Left)
    assert desk.line.startswith("step 0 of 10 · prefill")
    after = desk.control.cursor.records
    assert all(old is new for old, new in zip(before, after, strict=True))


def test_without_a_fault_every_sign_is_right(shared_desk):
    desk = shared_desk(n_records=6)
    verdicts = desk.control.cursor.view().verdicts
    assert len(verdicts) == 6
    assert [step for step, verdict in verdicts.items() if verdict.is_wrong] == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_ticking_a_fault_leads_to_the_step_that_it_promises(shared_desk, fault: Fault):
    desk = shared_desk(Draft.of_scenario(fault.shows_in), n_records=None)
    assert desk.control.cursor.first_wrong is None
    desk.tick(fault.id)
    cursor = desk.control.cursor
    assert cursor.selection.step == fault.promise.step
    assert cursor.verdict.first_difference.field == fault.promise.field
    assert desk.line.startswith(f"step {fault.promise.step} of ")
    assert len(cursor.view().clean) > 0


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_scenario_that_shows_a_fault_is_one_button_away_and_its_ends_are_shown(
    shared_desk, fault: Fault
):
    desk = shared_desk()
    desk.faults_list.setCurrentItem(desk.row_of(fault.id))
    desk.do(desk.the(QPushButton, desk.window.faults).click)
    assert desk.step == fault.promise.step
    assert desk.window.faults.ids == (fault.id,)
    for step in (0, desk.control.cursor.n_records - 1):
        if step != desk.step:
            desk.do(lambda step=step: desk.control.go_to(step))
    assert desk.window.message_bar.text == ""


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_combination_runs_with_all_its_faults(shared_desk, name):
    desk = shared_desk(n_records=4)
    desk.tick(name)
    used = {use.id for use in desk.control.cursor.view().spec.faults}
    assert used == set(COMBINATIONS[name])
    assert desk.control.cursor.first_wrong is not None


def test_two_faults_on_one_seam_are_refused_in_words(shared_desk):
    desk = shared_desk(n_records=3)
    desk.tick("cap-counter-first")
    desk.tick("store-uneven")
    assert len(desk.errors) == 1
    assert "both replace the seam admit" in desk.errors[0]
    assert [use.id for use in desk.control.cursor.view().spec.faults] == ["cap-counter-first"]


def test_another_policy_in_the_middle_of_a_run_keeps_the_step(shared_desk):
    desk = shared_desk(replace(ENDLESS, capacity=9), n_records=4)
    desk.press(Qt.Key.Key_Left)
    policy = desk.field(QComboBox, "Policy")
    desk.edit(lambda: policy.setCurrentIndex(policy.findData("window")))
    view = desk.control.cursor.view()
    assert (view.spec.policy, len(view.records), view.selection.step) == ("window", 4, 2)
    assert desk.control.cursor.first_wrong is None


def test_a_prompt_that_does_not_fit_is_a_refused_step(shared_desk):
    desk = shared_desk(replace(ENDLESS, capacity=3))
    assert "refused: needs" in desk.line


def test_a_saved_run_is_opened_and_is_the_same(sit_down, qtbot, tmp_path):
    desk = sit_down(replace(Draft.of_scenario(FILLING), temperature=0.8, seed=3), n_records=5)
    digests = [record.digest() for record in desk.control.cursor.records]
    path = tmp_path / "run.kvtrace"
    with qtbot.waitSignal(desk.control.noticed, timeout=PATIENCE_MS):
        desk.control.save_trace(path, full=False)
    with qtbot.waitSignal(desk.control.rested, timeout=PATIENCE_MS):
        desk.control.open_trace(path)
    assert [record.digest() for record in desk.control.cursor.records] == digests
    assert "every step is the recorded one, bit for bit" in desk.window.message_bar.text
    assert desk.field(QPlainTextEdit, "Prompt").toPlainText() == FILLING.prompt


def test_a_file_that_is_no_trace_is_told_in_one_line(sit_down, qtbot, tmp_path):
    desk = sit_down()
    path = tmp_path / "cat.kvtrace"
    path.write_text("meow", encoding="utf-8")
    with qtbot.waitSignal(desk.control.noticed, timeout=PATIENCE_MS):
        desk.control.open_trace(path)
    assert str(path) in desk.window.message_bar.text
    assert desk.control.cursor.n_records == 1


def test_closing_in_the_middle_of_a_long_run_leaves_nothing_behind(sit_down):
    desk = sit_down(ENDLESS)
    desk.control.run(replace(ENDLESS, capacity=256), 240, "newest", None)
    desk.window.close()
    assert desk.control.close(PATIENCE_MS)


def test_the_mask_comes_forward_where_it_is_wrong_first(sit_down, start_run, qtbot):
    desk = sit_down(start_run)
    desk.window.resize(1280, 800)
    desk.window.layouts.choose("teach")
    mask = desk.window.dock("mask")
    qtbot.waitUntil(lambda: mask.is_behind)
    desk.do(lambda: desk.control.try_fault("mask-top-left"))
    qtbot.waitUntil(lambda: not mask.is_behind)


@pytest.mark.parametrize("layout", ["debug", "teach"])
def test_the_mask_that_is_wrong_is_in_front_in_a_small_window(sit_down, start_run, qtbot, layout):
    desk = sit_down(start_run, size=(1024, 640))
    desk.window.layouts.choose(layout)
    desk.window.dock("faults").raise_()
    mask = desk.window.dock("mask")
    qtbot.waitUntil(lambda: mask.is_behind)
    desk.tick("mask-top-left")
    qtbot.waitUntil(lambda: not mask.is_behind)


def make_smaller(desk: Desk) -> None:
    desk.window.resize(1024, 640)


def make_text_larger(desk: Desk) -> None:
    make_smaller(desk)
    for _ in range(3):
        desk.window.looks.larger_text()


def teach_in_a_smaller_window(desk: Desk) -> None:
    make_smaller(desk)
    desk.window.layouts.choose("teach")


@pytest.mark.parametrize("change", [make_smaller, make_text_larger, teach_in_a_smaller_window])
def test_the_mask_that_is_wrong_stays_in_sight_when_it_loses_its_own_place(
    sit_down, start_run, qtbot, change
):
    desk = sit_down(start_run)
    desk.tick("mask-top-left")
    mask, attention = desk.window.dock("mask"), desk.window.dock("attention")
    assert not mask.is_behind
    assert not attention.is_behind
    change(desk)
    qtbot.waitUntil(lambda: attention.is_behind)
    assert not mask.is_behind


def test_of_two_panels_in_one_place_the_one_that_shows_the_wrong_field_best_is_in_front(
    sit_down, start_run, qtbot
):
    desk = sit_down(start_run)
    make_text_larger(desk)
    cache, attention = desk.window.dock("cache"), desk.window.dock("attention")
    qtbot.waitUntil(lambda: cache in desk.window.tabifiedDockWidgets(attention))
    attention.raise_()
    qtbot.waitUntil(lambda: cache.is_behind)
    desk.do(lambda: desk.control.try_fault("pos-restart"))
    qtbot.waitUntil(lambda: attention.is_behind)
    assert not cache.is_behind
