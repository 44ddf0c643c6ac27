"""The form: what is typed is told, a moment after the last edit, and never lost."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QPlainTextEdit,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
)

from app.draft import Draft
from app.number_field import NumberField
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
        (NumberField, "Capacity", lambda f: f.set_number(7), {"capacity": 7}),
        (NumberField, "Chunk", lambda f: f.set_number(3), {"chunk": 3}),
        (NumberField, "Seed", lambda f: f.set_number(5), {"seed": 5}),
        (NumberField, "Temperature", lambda f: f.set_number(0.7), {"temperature": 0.7}),
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
    capacity = field(panel, NumberField, "Capacity")
    with qtbot.assertNotEmitted(panel.edited, wait=400):
        capacity.set_number(5)
        capacity.set_number(DRAFT.capacity)


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
    sinks = field(panel, NumberField, "Sinks")
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
    kept = edited(qtbot, panel, lambda: field(panel, NumberField, "Capacity").set_number(9))
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
    for kind in (QComboBox, NumberField, QPlainTextEdit, QToolButton):
        for found in panel.findChildren(kind):
            if found.parent() is not None and not isinstance(found.parent(), kind):
                assert found.accessibleName()
                assert found.toolTip()


NO_NUMBERS = {
    "Capacity": ("12a", "capacity is ‘12a’; give a whole number of at least 1"),
    "Chunk": ("2.5", "chunk is ‘2.5’; give a whole number of at least 1, or whole"),
    "Seed": ("", "seed is empty; give a whole number of at least 0"),
    "Temperature": ("warm", "temperature is ‘warm’; give a number of at least 0, or greedy"),
}


def typed(qtbot, field: NumberField, text: str) -> None:
    """Type over what stands in a field, and leave it."""
    field.setFocus()
    field.selectAll()
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def complaints(panel: SettingsPanel) -> list[str]:
    return [label.text() for label in panel.error_labels() if label.isVisible()]


@pytest.mark.parametrize(
    ("name", "setting", "text", "number"),
    [
        ("Capacity", "capacity", "0", 0),
        ("Capacity", "capacity", "99999", 99_999),
        ("Capacity", "capacity", "-3", -3),
        ("Chunk", "chunk", "0", 0),
        ("Chunk", "chunk", "4", 4),
        ("Seed", "seed", "99999999999", 99_999_999_999),
        ("Temperature", "temperature", "0.123", 0.123),
        ("Temperature", "temperature", "99", 99.0),
    ],
)
def test_a_number_is_told_as_it_is_typed_whatever_its_size(
    qtbot, panel, name, setting, text, number
):
    box = field(panel, NumberField, name)
    draft = edited(qtbot, panel, lambda: typed(qtbot, box, text))
    assert getattr(draft, setting) == number
    assert box.text() == text


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_a_text_that_is_no_number_stays_is_told_beside_its_field_and_runs_nothing(
    qtbot, panel, name
):
    text, message = NO_NUMBERS[name]
    box = field(panel, NumberField, name)
    before = box.text()
    with qtbot.assertNotEmitted(panel.edited, wait=400):
        typed(qtbot, box, text)
    assert (box.text(), complaints(panel)) == (text, [message])
    with qtbot.assertNotEmitted(panel.edited, wait=400):
        typed(qtbot, box, before)
    assert complaints(panel) == []


def test_another_run_does_not_hide_that_a_text_is_no_number(qtbot, panel):
    with qtbot.waitSignal(panel.complained):
        typed(qtbot, field(panel, NumberField, "Capacity"), "many")
    panel.clear_errors()
    assert complaints(panel) == ["capacity is ‘many’; give a whole number of at least 1"]


def test_what_the_engine_refused_is_told_again_when_it_is_typed_again(qtbot, panel):
    box = field(panel, NumberField, "Capacity")
    edited(qtbot, panel, lambda: typed(qtbot, box, "0"))
    panel.show_error("capacity", "capacity is 0; it must be at least 1")
    with qtbot.waitSignal(panel.complained):
        typed(qtbot, box, "x")
    with qtbot.waitSignal(panel.complained):
        typed(qtbot, box, "0")
    assert complaints(panel) == ["capacity is 0; it must be at least 1"]


@pytest.mark.parametrize(
    ("name", "first", "n", "expected"),
    [
        ("Capacity", "2", -5, "1"),
        ("Capacity", "0", 1, "1"),
        ("Chunk", "whole", 1, "1"),
        ("Chunk", "1", -1, "whole"),
        ("Temperature", "greedy", 3, "0.3"),
        ("Temperature", "0.1", -1, "greedy"),
        ("Seed", "none", 1, "none"),
    ],
)
def test_arrows_end_at_the_least_number_and_at_the_word_below_it(panel, name, first, n, expected):
    box = field(panel, NumberField, name)
    box.lineEdit().setText(first)
    box.stepBy(n)
    assert box.text() == expected


@pytest.mark.parametrize("percent", [100, 125, 150])
@pytest.mark.parametrize("width", [244, 300])
def test_every_setting_can_be_read_in_a_narrow_form(qtbot, percent, width):
    made = SettingsPanel(LIGHT.sized(percent=percent))
    qtbot.addWidget(made)
    made.show_draft(DRAFT)
    made.resize(width, 500)
    with qtbot.waitExposed(made):
        made.show()
    for number in made.findChildren(NumberField):
        if number.isVisible():
            edit = number.lineEdit()
            assert edit.fontMetrics().horizontalAdvance(edit.text()) <= edit.width() - 4
    for box in made.findChildren(QComboBox):
        option = QStyleOptionComboBox()
        box.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        kind = QStyle.ComplexControl.CC_ComboBox
        room = box.style().subControlRect(kind, option, part, box)
        assert box.fontMetrics().horizontalAdvance(box.currentText()) <= room.width()
