"""The line of the step: its sentence comes first, then the place of the difference."""

import pytest
from PySide6.QtWidgets import QLabel

from app.elided_label import ElidedLabel
from app.step_line import Sign, StepLine
from app.theme import LIGHT
from app.transport import StepBar

SENTENCE = "step 0 of 6 · prefill · feeds 7 tokens at positions 0–6 · predicts '·is'"
LINE = StepLine(
    SENTENCE,
    tuple(Sign(name, "wrong", "✕", "") for name in ("policy", "mechanism", "logits")),
    "first in visible (Mask), layer 0",
    "visible: what is really seen",
)


@pytest.fixture
def bar(qtbot) -> StepBar:
    made = StepBar(LIGHT)
    qtbot.addWidget(made)
    made.show()
    made.show_line(LINE)
    return made


def shown(bar: StepBar, words: str) -> QLabel | None:
    labels = [label for label in bar.findChildren(QLabel) if words in label.text()]
    return next((label for label in labels if label.isVisible()), None)


@pytest.mark.parametrize("width", range(800, 1300, 7))
def test_the_sentence_is_not_cut_by_what_may_stand_beside_it(bar, width):
    bar.resize(width, 24)
    sentence = bar.findChild(ElidedLabel)
    needed = sentence.fontMetrics().horizontalAdvance(SENTENCE)
    is_alone = not shown(bar, "visible") and not shown(bar, "verdict on")
    assert is_alone or sentence.width() > needed


def test_where_there_is_room_the_place_says_what_it_is_and_the_signs_what_they_are(bar):
    bar.resize(1300, 24)
    place = shown(bar, "visible (Mask)")
    assert place is not None
    assert place.toolTip() == "visible: what is really seen"
    assert shown(bar, "verdict on") is not None
