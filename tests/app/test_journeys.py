"""A person's ways through the window, with the real engine, models and panels."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
)

from app.backend import TorchBackend
from app.docks.registry import DOCKS
from app.draft import Draft
from app.first_run import FirstRun, first_run
from app.main_window import MainWindow
from app.plain_keys import PlainKeys
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import LIGHT
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.fault import Fault
from core.faults.scenarios import FILLING, ROOMY

PATIENCE_MS = 30_000
ENDLESS = Draft("tiny-learned", "The kit", capacity=64)
"""A run of random weights, which never ends its text."""


class Desk:
    """A window and the hands that use it."""

    def __init__(self, qtbot, qapp, path: Path, draft: Draft) -> None:
        self.control = RunControl(TorchBackend, draft)
        self.window = MainWindow(self.control, DOCKS, LIGHT, Preferences(path))
        PlainKeys(qapp, self.window)
        qtbot.addWidget(self.window)
        self._qtbot = qtbot
        self.window.show()

    def do(self, act: Callable[[], None]) -> None:
        """Act, and wait until everything that was asked for is shown."""
        with self._qtbot.waitSignal(self.window.settled, timeout=PATIENCE_MS):
            act()

    def edit(self, act: Callable[[], None]) -> None:
        """Change the form, and wait until the run that follows is shown."""
        with self._qtbot.waitSignals(
            [self.window.setup.edited, self.control.rested, self.window.settled],
            timeout=PATIENCE_MS,
            order="none",
        ):
            act()

    def press(self, key: Qt.Key) -> None:
        self.do(lambda: self._qtbot.keyClick(self.window, key))

    def row_of(self, fault_id: str) -> QListWidgetItem:
        listed = self.window.faults.findChild(QListWidget)
        items = [listed.item(row) for row in range(listed.count())]
        return next(found for found in items if found.toolTip().startswith(fault_id + "\n"))

    def tick(self, fault_id: str) -> None:
        item = self.row_of(fault_id)
        self.do(lambda: item.setCheckState(Qt.CheckState.Checked))

    def field(self, kind: type, name: str):
        found = self.window.setup.findChildren(kind)
        return next(field for field in found if field.accessibleName() == name)

    @property
    def line(self) -> str:
        return self.window.step_bar.text

    @property
    def errors(self) -> list[str]:
        labels = (*self.window.setup.error_labels(), *self.window.faults.findChildren(QLabel))
        framed = [label for label in labels if "border-left-width" in label.styleSheet()]
        return [label.text() for label in framed if label.isVisible()]


@pytest.fixture
def sit_down(qtbot, qapp, tmp_path) -> Iterator[Callable[..., Desk]]:
    """Opens the window on a run, with its first step made."""
    desks: list[Desk] = []

    def sit(draft: Draft | FirstRun | None = None, n_records: int | None = 1) -> Desk:
        first = draft if isinstance(draft, FirstRun) else None
        asked = draft if isinstance(draft, Draft) else Draft.of_scenario(ROOMY)
        desk = Desk(qtbot, qapp, tmp_path / "k.ini", first.draft if first else asked)
        desks.append(desk)
        if first is None:
            desk.do(lambda: desk.control.begin(n_records, "newest", None))
        else:
            desk.control.show_recorded(first.draft, first.held)
            desk.do(desk.control.take_over)
        return desk

    yield sit
    for desk in desks:
        desk.window.close()
        assert desk.control.close(PATIENCE_MS)


def test_step_ten_times_and_ten_times_back(sit_down):
    desk = sit_down(ENDLESS)
    for _ in range(10):
        desk.press(Qt.Key.Key_F10)
    assert desk.line.startswith("step 10 of 10 · decode · feeds")
    before = desk.control.cursor.records
    for _ in range(10):
        desk.press(Qt.Key.Key_Left)
    assert desk.line.startswith("step 0 of 10 · prefill")
    after = desk.control.cursor.records
    assert all(old is new for old, new in zip(before, after, strict=True))


def test_without_a_fault_every_sign_is_right(sit_down):
    desk = sit_down(n_records=6)
    verdicts = desk.control.cursor.view().verdicts
    assert len(verdicts) == 6
    assert [step for step, verdict in verdicts.items() if verdict.is_wrong] == []


def test_play_until_the_cache_is_full(sit_down, qtbot):
    desk = sit_down(Draft.of_scenario(FILLING))
    desk.control.player.set_speed(64)
    with qtbot.waitSignal(desk.control.player.stopped, timeout=PATIENCE_MS):
        qtbot.keyClick(desk.window, Qt.Key.Key_F5)
    desk.do(desk.control.situation_changed.emit)
    assert "refused: needs 1, 0 free of" in desk.line
    step = desk.window.actions_by_id.actions["step"]
    assert not step.isEnabled()
    words = "Run ended: cache full, needs 1, 0 free of 12. Raise the capacity or choose window"
    assert words in step.toolTip()
    assert desk.window.message_bar.text == words
    assert desk.control.situation().is_judged


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_ticking_a_fault_leads_to_the_step_that_it_promises(sit_down, fault: Fault):
    desk = sit_down(Draft.of_scenario(fault.shows_in), n_records=None)
    assert desk.control.cursor.first_wrong is None
    desk.tick(fault.id)
    cursor = desk.control.cursor
    assert cursor.selection.step == fault.promise.step
    assert cursor.verdict.first_difference.field == fault.promise.field
    assert desk.line.startswith(f"step {fault.promise.step} of ")
    assert len(cursor.view().clean) > 0


START_RUN_TABLE = {
    "mask-top-left": (1, "step 1 of 6 · decode · feeds '·is' at position 7 · predicts '·painted'"),
    "pos-restart": (1, "step 1 of 6 · decode · feeds '·is' at position 0"),
    "mask-unwritten": (0, "step 0 of 6 · prefill · feeds 7 tokens at positions 0–6"),
    "store-row-zero": (1, "step 1 of 6 · decode · feeds '·is' at position 7"),
    "cap-early": (5, "step 5 of 5 · decode · offers '.' · refused: needs 1, 1 free of 12"),
    "cap-counter-first": (6, "step 6 of 6 · decode · offers '·The' · refused: needs 1, 0 free"),
}


@pytest.mark.parametrize("fault_id", START_RUN_TABLE)
def test_a_fault_ticked_in_the_first_run_leads_to_its_step(sit_down, fault_id):
    first = first_run()
    assert first is not None
    desk = sit_down(first)
    assert desk.line.startswith("step 3 of 6 · decode · feeds '?' at position 9")
    desk.tick(fault_id)
    step, line = START_RUN_TABLE[fault_id]
    assert desk.control.cursor.selection.step == desk.control.cursor.first_wrong == step
    assert desk.line.startswith(line)
    view = desk.control.cursor.view()
    assert view.spec.force_ids == first.held.spec.force_ids
    assert [facts.first_wrong for facts in view.other_runs] == [None]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_scenario_that_shows_a_fault_is_one_button_away(sit_down, fault: Fault):
    desk = sit_down()
    desk.window.faults.findChild(QListWidget).setCurrentItem(desk.row_of(fault.id))
    desk.do(desk.window.faults.findChild(QPushButton).click)
    assert desk.control.cursor.selection.step == fault.promise.step
    assert desk.window.faults.ids == (fault.id,)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_combination_runs_with_all_its_faults(sit_down, name):
    desk = sit_down(n_records=4)
    desk.tick(name)
    used = {use.id for use in desk.control.cursor.view().spec.faults}
    assert used == set(COMBINATIONS[name])
    assert desk.control.cursor.first_wrong is not None


def test_two_faults_on_one_seam_are_refused_in_words(sit_down):
    desk = sit_down(n_records=3)
    desk.tick("cap-counter-first")
    desk.tick("store-uneven")
    assert len(desk.errors) == 1
    assert "both replace the seam admit" in desk.errors[0]
    assert [use.id for use in desk.control.cursor.view().spec.faults] == ["cap-counter-first"]


def test_another_policy_in_the_middle_of_a_run_keeps_the_step(sit_down):
    desk = sit_down(replace(ENDLESS, capacity=9), n_records=4)
    desk.press(Qt.Key.Key_Left)
    policy = desk.field(QComboBox, "Policy")
    desk.edit(lambda: policy.setCurrentIndex(policy.findData("window")))
    view = desk.control.cursor.view()
    assert (view.spec.policy, len(view.records), view.selection.step) == ("window", 4, 2)
    assert desk.control.cursor.first_wrong is None


@pytest.mark.parametrize(
    ("kind", "name", "act", "message"),
    [
        (QSpinBox, "Capacity", lambda f: f.setValue(9999), "choose at most"),
        (QPlainTextEdit, "Prompt", lambda f: f.setPlainText(""), "the prompt is empty"),
        (QComboBox, "Model", lambda f: f.setEditText("/nowhere"), "neither a known name"),
        (QComboBox, "Device", lambda f: (f.addItem("cuda:9"), f.setCurrentText("cuda:9")), "cpu"),
    ],
    ids=["capacity", "prompt", "model", "device"],
)
def test_a_wrong_setting_is_told_beside_its_field_and_the_run_stays(
    sit_down, kind, name, act, message
):
    desk = sit_down(ENDLESS, n_records=3)
    before = desk.control.cursor.records
    desk.edit(lambda: act(desk.field(kind, name)))
    assert len(desk.errors) == 1
    assert message in desk.errors[0]
    assert desk.control.cursor.records == before
    desk.press(Qt.Key.Key_F10)
    assert desk.control.cursor.n_records == 4


def test_a_prompt_that_does_not_fit_is_a_refused_step(sit_down):
    desk = sit_down(replace(ENDLESS, capacity=3))
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


def test_every_panel_has_something_to_show_at_every_step_of_every_scenario(sit_down):
    desk = sit_down()
    for fault in FAULTS:
        desk.do(lambda fault=fault: desk.control.show_fault(fault.id))
        for step in range(desk.control.cursor.n_records):
            if step != desk.control.cursor.selection.step:
                desk.do(lambda step=step: desk.control.go_to(step))
    assert desk.window.message_bar.text == ""


def test_closing_in_the_middle_of_a_long_run_leaves_nothing_behind(sit_down):
    desk = sit_down(ENDLESS)
    desk.control.run(replace(ENDLESS, capacity=256), 240, "newest", None)
    desk.window.close()
    assert desk.control.close(PATIENCE_MS)
