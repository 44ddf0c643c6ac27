"""The form: what is typed is told, a moment after the last edit, and never lost."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QPlainTextEdit, QSpinBox, QToolButton

from app.draft import Draft
from app.settings_panel import SettingsPanel
from app.theme import LIGHT
from core.spec import Decode, Rollback

DRAFT = Draft("learned", "Ida has a lamp .", capacity=12)


@pytest.fixture
def panel(qtbot) -> SettingsPanel:
    made = SettingsPanel(LIGHT)
    qtbot.addWidget(made)
    made.show_draft(DRAFT)
    made.show()
    return made


def field(panel: SettingsPanel, kind: type, name: str):
    """The control that a screen reader calls so."""
    return next(found for found in panel.findChildren(kind) if found.accessibleName() == name)


def edited(qtbot, panel: SettingsPanel, act) -> Draft:
    with qtbot.waitSignal(panel.edited) as told:
        act()
    return told.args[0]


def test_filling_the_form_is_no_edit(qtbot, panel):
    with qtbot.assertNotEmitted(panel.edited, wait=400):
        panel.show_draft(Draft("tiny-rope", "other", policy="sinks", sinks=2, capacity=9))


@pytest.mark.parametrize(
    ("kind", "name", "act", "changed"),
    [
        (QSpinBox, "Capacity", lambda f: f.setValue(7), {"capacity": 7}),
        (QSpinBox, "Chunk", lambda f: f.setValue(3), {"chunk": 3}),
        (QSpinBox, "Seed", lambda f: f.setValue(5), {"seed": 5}),
        (QDoubleSpinBox, "Temperature", lambda f: f.setValue(0.7), {"temperature": 0.7}),
        (QPlainTextEdit, "Prompt", lambda f: f.setPlainText("x"), {"prompt": "x"}),
        (QComboBox, "Model", lambda f: f.setEditText("tiny-rope"), {"model": "tiny-rope"}),
        (QComboBox, "Policy", lambda f: f.setCurrentIndex(1), {"policy": "window"}),
        (QComboBox, "Number type", lambda f: f.setCurrentText("float64"), {"dtype": "float64"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_edit_is_told_as_the_whole_draft(qtbot, panel, kind, name, act, changed):
    draft = edited(qtbot, panel, lambda: act(field(panel, kind, name)))
    expected = {slot: getattr(DRAFT, slot) for slot in Draft.__slots__}
    assert draft == Draft(**{**expected, **changed})


def test_several_edits_in_a_row_are_told_once(qtbot, panel):
    told: list[Draft] = []
    panel.edited.connect(told.append)

    def type_slowly() -> None:
        for n in range(5):
            field(panel, QPlainTextEdit, "Prompt").setPlainText("Ida" * n)

    edited(qtbot, panel, type_slowly)
    assert [draft.prompt for draft in told] == ["Ida" * 4]


def test_an_edit_that_is_taken_back_in_time_is_not_told(qtbot, panel):
    capacity = field(panel, QSpinBox, "Capacity")
    with qtbot.assertNotEmitted(panel.edited, wait=400):
        capacity.setValue(5)
        capacity.setValue(DRAFT.capacity)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_adds_no_line_end_to_the_prompt_and_shift_enter_does(qtbot, panel, key):
    prompt = field(panel, QPlainTextEdit, "Prompt")
    qtbot.keyClick(prompt, key)
    assert prompt.toPlainText() == DRAFT.prompt
    qtbot.keyClick(prompt, key, Qt.KeyboardModifier.ShiftModifier)
    assert prompt.toPlainText() == "\n" + DRAFT.prompt


def test_an_error_stands_in_the_form_and_the_prompt_stays(panel):
    field(panel, QPlainTextEdit, "Prompt").setPlainText("a long story")
    panel.show_error("capacity", "capacity is 999; choose at most 256")
    shown = [label.text() for label in panel.error_labels() if label.isVisible()]
    assert shown == ["capacity is 999; choose at most 256"]
    assert field(panel, QPlainTextEdit, "Prompt").toPlainText() == "a long story"
    panel.clear_errors()
    assert [label for label in panel.error_labels() if label.isVisible()] == []


def test_sinks_are_offered_by_their_policy_only(panel):
    sinks = field(panel, QSpinBox, "Sinks")
    assert not sinks.isVisible()
    policy = field(panel, QComboBox, "Policy")
    policy.setCurrentIndex(policy.findData("sinks"))
    assert sinks.isVisible()


def test_sinks_are_not_told_to_another_policy(qtbot, panel):
    panel.show_draft(Draft("learned", "x", policy="sinks", sinks=3))
    policy = field(panel, QComboBox, "Policy")
    draft = edited(qtbot, panel, lambda: policy.setCurrentIndex(policy.findData("window")))
    assert (draft.policy, draft.sinks) == ("window", 0)


def test_a_script_is_shown_and_can_be_dropped(qtbot, panel):
    panel.show_draft(Draft("learned", "x", then=(Decode(), Rollback(1))))
    drop = field(panel, QToolButton, "Decode plainly")
    assert drop.isVisible()
    draft = edited(qtbot, panel, drop.click)
    assert draft.then is None
    assert not drop.isVisible()


def test_exact_tokens_of_a_file_hold_until_the_prompt_is_edited(qtbot, panel):
    panel.show_draft(Draft("learned", "abc", prompt_ids=(7, 8, 9)))
    kept = edited(qtbot, panel, lambda: field(panel, QSpinBox, "Capacity").setValue(9))
    assert kept.prompt_ids == (7, 8, 9)
    prompt = field(panel, QPlainTextEdit, "Prompt")
    assert edited(qtbot, panel, lambda: prompt.setPlainText("abcd")).prompt_ids is None


def test_devices_are_those_of_the_machine_and_the_chosen_one_stays(panel):
    panel.show_draft(Draft("learned", "x", device="cuda:3"))
    panel.show_devices(("cpu", "cuda:0"))
    device = field(panel, QComboBox, "Device")
    assert [device.itemText(n) for n in range(device.count())] == ["cpu", "cuda:0", "cuda:3"]
    assert device.currentText() == "cuda:3"


def test_every_field_has_a_name_and_a_meaning(panel):
    for kind in (QComboBox, QSpinBox, QDoubleSpinBox, QPlainTextEdit, QToolButton):
        for found in panel.findChildren(kind):
            if found.parent() is not None and not isinstance(found.parent(), kind):
                assert found.accessibleName()
                assert found.toolTip()
