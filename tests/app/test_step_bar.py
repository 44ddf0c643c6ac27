"""The line of the step: its sentence comes first, then the place of the difference."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QLabel

from app.elided_label import ElidedLabel
from app.step_line import Sign, StepLine
from app.theme import LIGHT
from app.transport import StepBar
from app.widgets.letters import whole_words

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


LONGEST = (
    "step 1 of 6 · decode · feeds '·is' at position 7 · predicts '·painted' · reads '·Mia' next"
)
LONG = f"{SENTENCE} · reads '·Mia' next"


def test_where_the_verdicts_would_cut_the_sentence_letters_are_smaller_and_the_bar_as_high(qtbot):
    theme = LIGHT.sized(percent=150)
    bar = StepBar(theme)
    qtbot.addWidget(bar)
    bar.show()
    bar.show_line(replace(LINE, text=LONGEST))
    sentence = bar.findChild(ElidedLabel)
    found = {}
    for width in (1112, 1400):
        bar.resize(width, bar.sizeHint().height())
        needed = sentence.fontMetrics().horizontalAdvance(LONGEST)
        assert sentence.width() >= needed
        found[width] = sentence.font().pixelSize(), bar.sizeHint().height()
    assert found[1112][0] < found[1400][0] == theme.sans_px
    assert found[1112][1] == found[1400][1]


@pytest.mark.parametrize("is_large", [False, True], ids=["debug", "teach"])
@pytest.mark.parametrize("percent", [100, 125, 150])
@pytest.mark.parametrize("width", [1024, 1280, 1366])
def test_no_sentence_of_the_first_run_is_cut_in_a_narrow_window(qtbot, width, percent, is_large):
    theme = LIGHT.sized(percent=percent, is_large=is_large)
    bar = StepBar(theme)
    qtbot.addWidget(bar)
    bar.show()
    bar.show_line(replace(LINE, text=LONGEST))
    bar.resize(width, bar.sizeHint().height())
    bar.resize(width, bar.sizeHint().height())  # as high as it asks for in this width
    sentence = bar.findChild(ElidedLabel)
    assert sentence.toolTip() == ""  # it has the whole text where some of it is cut
    room = QRect(0, 0, sentence.width(), 9999)
    words = sentence.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, LONGEST)
    assert words.height() <= sentence.height()
    assert sentence.font().pixelSize() >= theme.small_px


def test_the_bar_keeps_its_height_whatever_the_step_is(qtbot):
    bar = StepBar(LIGHT.sized(percent=150))
    qtbot.addWidget(bar)
    bar.resize(1024, 60)
    bar.show()
    heights = set()
    for text in ("step 0 of 0", SENTENCE, LONGEST):
        bar.show_line(replace(LINE, text=text))
        heights.add(bar.sizeHint().height())
    assert len(heights) == 1


def test_a_sentence_without_room_is_cut_between_two_words(qtbot):
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.show()
    words = LONG.split()
    pictures = set()
    for width in range(200, 420, 9):
        label.resize(width, 24)
        label.set_full_text(LONG)
        shown = whole_words(LONG, label.font(), width)
        assert shown.split()[:-1] == words[: len(shown.split()) - 1]
        assert shown.endswith(" …")
        assert label.toolTip() == LONG
        pictures.add(shown)
    assert len(pictures) > 5
