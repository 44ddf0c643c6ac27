"""The first five minutes: the run that the window opens with, and what its six faults say.

Everything is read where it stands, without pointing at it.
"""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QLabel, QListWidget

from app.advice import hint
from app.notice import Notice
from app.widgets.value_list import ValueList
from core.readouts.attention import attention_readout
from tests.app.desk import Desk

LINES = {
    "mask-top-left": (1, "step 1 of 6 · decode · feeds '·is' at position 7 · predicts '·painted'"),
    "pos-restart": (1, "step 1 of 6 · decode · feeds '·is' at position 0"),
    "mask-unwritten": (0, "step 0 of 6 · prefill · feeds 7 tokens at positions 0–6"),
    "store-row-zero": (1, "step 1 of 6 · decode · feeds '·is' at position 7"),
    "cap-early": (5, "step 5 of 5 · decode · offers '.' · refused: needs 1, 1 free of 12"),
    "cap-counter-first": (6, "step 6 of 6 · decode · offers '·The' · refused: needs 1, 0 free"),
}
WORDS = {
    "mask-top-left": {
        "mask": ["sees 1 of 8: position 0; blind to 1–7; this is causal row 0, row 7 is right"],
        "attention": ["all 16 heads: 1.000 on slot 0"],
    },
    "pos-restart": {
        "cache": ["position of slot 7 is 0, expected 7"],
        "code": ["position_ids = [0], expected [7]", "past_len = 7"],
    },
    "mask-unwritten": {
        "mask": ["reads 12 rows, 7 written; ", " % of the weight on rows never written"],
    },
    "store-row-zero": {
        "cache": ["slot 0 holds token 7; token 0 gone; slot 7 counted, never written"],
    },
    "cap-early": {"cache": ["refused: needs 1, 1 free of 12; should be accepted"]},
    "cap-counter-first": {"cache": ["refused, as it should be; but length 12 → 13 of 12"]},
}
"""What the table of faults promises, by the dock that has to say it."""


def readable_words(desk: Desk, dock_id: str) -> str:
    """What can be read in a dock as it stands: all of it in sight, and nothing cut."""
    dock = desk.window.dock(dock_id)
    assert not dock.is_behind
    if dock_id == "code":
        return words_of_code(desk)
    label = desk.sentence_label(dock_id)
    assert label.isVisible()
    assert is_whole(label)
    assert label.text() == desk.content(dock_id).accessibleDescription()
    return label.text()


def words_of_code(desk: Desk) -> str:
    """The values beside the code; a wrong one stands in front of what was expected."""
    values = desk.the(ValueList, desk.content("code"))
    assert values.height() >= values.n_lines * values.line_px
    said = [
        f"{v.name} = {v.text}" + (f", expected {v.expected}" if v.is_wrong else "")
        for v in values.values
    ]
    return "; ".join(said)


def is_whole(label: QLabel) -> bool:
    """Whether a label has room for all of its letters, by their own measure."""
    return label.heightForWidth(label.width()) <= label.height()


def test_the_hint_covers_no_sentence(sit_down, start_run):
    desk = sit_down(start_run)
    desk.window.resize(1280, 800)
    desk.window.show_notice(hint(desk.control.try_fault))
    desk.do(desk.control.situation_changed.emit)
    bar, label = desk.window.message_bar, desk.sentence_label("timeline")
    said = QRect(label.mapTo(desk.window, QPoint()), label.size())
    assert bar.isVisible()
    assert label.isVisible()
    assert not bar.geometry().intersects(said)


def the_end_of_a_run_that_is_refused_too_early(desk: Desk) -> QRect:
    """Tells it in a window that is not large; returns the place of the diagnosis."""
    desk.window.resize(1280, 800)
    desk.tick("cap-early")
    desk.control.forward()
    desk.do(desk.control.situation_changed.emit)
    assert desk.content("diagnosis").sentence.startswith("the last slot cannot be used")
    return desk.window.dock("diagnosis").geometry()


def test_a_refusal_that_is_itself_wrong_is_told_beside_its_diagnosis(sit_down, start_run):
    desk = sit_down(start_run)
    diagnosis = the_end_of_a_run_that_is_refused_too_early(desk)
    bar = desk.window.message_bar
    assert bar.text == "Run ended: refused though 1 of 12 is free: see the diagnosis"
    assert desk.offers() == {}
    timeline = desk.window.dock("timeline")
    desk.qtbot.waitUntil(lambda: bar.geometry().bottom() <= timeline.geometry().top())
    assert not bar.geometry().intersects(diagnosis)


@pytest.mark.parametrize("n_words", [5, 40, 120], ids=["short", "long", "very long"])
def test_no_message_covers_a_diagnosis(sit_down, start_run, n_words):
    desk = sit_down(start_run)
    diagnosis = the_end_of_a_run_that_is_refused_too_early(desk)
    desk.window.show_notice(Notice("damaged " * n_words))
    bar = desk.window.message_bar
    desk.qtbot.waitUntil(lambda: not bar.geometry().intersects(diagnosis))


def test_the_hint_goes_along_with_the_strip(sit_down, start_run, qtbot):
    desk = sit_down(start_run)
    desk.window.show_notice(hint(desk.control.try_fault))
    bar, strip, timeline = (
        desk.window.message_bar,
        desk.window.dock("diagnosis"),
        desk.window.dock("timeline"),
    )
    top, lower = strip.y(), strip.y() - bar.y()
    desk.window.resizeDocks([timeline], [timeline.height() + 30], Qt.Orientation.Vertical)
    qtbot.waitUntil(lambda: strip.y() != top)
    assert strip.y() - bar.y() == lower


def test_what_show_it_took_away_is_brought_back_whole(sit_down, start_run):
    desk = sit_down(start_run)
    before = [record.digest() for record in desk.control.cursor.records]
    desk.do(lambda: desk.control.show_fault("evict-off-by-one"))
    desk.act("undo")
    assert [record.digest() for record in desk.control.cursor.records] == before


def test_it_opens_at_the_answer_with_nothing_wrong(sit_down, start_run):
    desk = sit_down(start_run)
    assert desk.line.startswith(
        "step 3 of 6 · decode · feeds '?' at position 9 · predicts '·outside'"
    )
    assert desk.control.cursor.first_wrong is None
    view = desk.control.cursor.view()
    assert len(view.spec.prompt_ids) == 7
    assert (view.spec.policy, view.spec.capacity, len(view.records)) == ("refuse", 12, 7)


def test_it_opens_on_the_head_with_the_most_weight_on_the_source_of_the_answer(sit_down, start_run):
    desk = sit_down(start_run)
    selection = desk.control.cursor.selection
    layers = desk.control.cursor.records[selection.step].layers
    weights = [layer.weights[:, -1, selection.slot].max() for layer in layers]
    chosen = layers[selection.layer].weights[selection.head, -1, selection.slot]
    assert chosen == max(weights)
    assert selection.slot != 0


def test_the_first_decode_has_the_shapes_of_the_eighth_token(sit_down, start_run):
    desk = sit_down(start_run)
    desk.do(lambda: desk.control.go_to(1))
    record = desk.control.cursor.records[1]
    assert record.past_len == 7
    dock = desk.window.dock("inspector")
    dock.raise_()
    desk.do(desk.control.situation_changed.emit)
    readout = dock.spec.readout(desk.control.cursor.view())
    shapes = {entry.id: entry.shape for entry in readout.tensors}
    assert (shapes["q"], shapes["k"]) == ((1, 4, 1, 32), (1, 4, 8, 32))
    assert desk.the(QListWidget, desk.content("inspector")).count() == len(shapes)


def test_the_hint_is_one_button_that_breaks_the_run(sit_down, start_run):
    desk = sit_down(start_run)
    desk.window.show_notice(hint(desk.control.try_fault))
    offers = desk.offers()
    assert list(offers) == ["Try: mask taken from row 0"]
    desk.do(offers["Try: mask taken from row 0"].click)
    assert desk.window.faults.ids == ("mask-top-left",)
    assert desk.step == desk.control.cursor.first_wrong == 1
    assert desk.window.message_bar.text == ""


@pytest.mark.parametrize("fault_id", WORDS)
def test_a_fault_that_is_ticked_leads_to_its_step_and_says_there_what_is_wrong(
    sit_down, start_run, fault_id
):
    desk = sit_down(start_run)
    desk.tick(fault_id)
    step, line = LINES[fault_id]
    assert desk.step == desk.control.cursor.first_wrong == step
    assert desk.line.startswith(line)
    for dock_id, promised in WORDS[fault_id].items():
        words = readable_words(desk, dock_id)
        assert [words.find(said) >= 0 for said in promised] == [True] * len(promised), words
    view = desk.control.cursor.view()
    assert view.spec.force_ids == start_run.held.spec.force_ids
    assert [facts.first_wrong for facts in view.other_runs] == [None]


def test_every_head_looks_at_slot_0_alone_where_the_mask_is_row_0(sit_down, start_run):
    desk = sit_down(start_run)
    desk.tick("mask-top-left")
    readout = attention_readout(desk.control.cursor.view())
    assert readout.sentence.startswith("all 16 heads: 1.000 on slot 0")
    layers = desk.control.cursor.records[1].layers
    assert all((layer.weights[:, -1, 0] == 1).all() for layer in layers)


def test_the_weight_on_unwritten_rows_fades_as_the_buffer_fills(sit_down, start_run):
    desk = sit_down(start_run)
    desk.tick("mask-unwritten")
    n_unwritten = []
    for step in range(6):
        if step != desk.step:
            desk.do(lambda step=step: desk.control.go_to(step))
        words = desk.sentence_label("mask").text()
        said = words.startswith("reads 12 rows, ")
        n_unwritten.append(12 - int(words.split(", ")[1].split()[0]) if said else 0)
    assert n_unwritten == [5, 4, 3, 2, 1, 0]


def test_a_fault_that_ends_a_run_early_does_not_shorten_the_next_one(sit_down, start_run):
    desk = sit_down(start_run)
    desk.tick("cap-early")
    assert desk.control.cursor.n_records == 6
    desk.tick("cap-early")
    assert desk.control.cursor.n_records == 7
    desk.tick("cap-counter-first")
    assert desk.step == desk.control.cursor.first_wrong == 6
