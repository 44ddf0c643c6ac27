"""The list of findings and rules: what a line says is whole, and stays in its place."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QListView, QStyleOptionViewItem

from app.own_code_list import LinePainter, OwnCodeModel, lines_of
from app.theme import LIGHT
from core.contract.own_report import Row

LONG = "a rule with so many words that a narrow list has to break it into several lines"
RULE = Row("rule 40", "waiting", LONG, number=40)
STATES = ("waiting", "pass", "fail", "follows", "not_offered")


def heights(qtbot, width: int, rule: Row, percent: int = 100) -> tuple[int, int]:
    """Of the line of a rule, and of its words in all the width that there is."""
    theme = LIGHT.sized(percent=percent)
    listed, model = QListView(), OwnCodeModel()
    qtbot.addWidget(listed)
    listed.setModel(model)
    painter = LinePainter(theme, listed)
    listed.setItemDelegate(painter)
    listed.resize(width, 300)
    listed.show()
    model.show_lines(lines_of((), (rule,), "Rules"))
    hint = painter.sizeHint(QStyleOptionViewItem(), model.index(1))
    room = QRect(0, 0, listed.viewport().width(), 9999)
    words = QFontMetrics(theme.sans()).boundingRect(room, Qt.TextFlag.TextWordWrap, rule.title)
    return hint.height(), words.height()


@pytest.mark.parametrize("percent", [100, 150])
@pytest.mark.parametrize("width", [360, 480, 560])
def test_a_rule_has_the_lines_that_its_words_need(qtbot, width, percent):
    line_px, words_px = heights(qtbot, width, RULE, percent)
    assert line_px >= words_px
    short_px, _ = heights(qtbot, width, replace(RULE, title="short"), percent)
    assert line_px > short_px


@pytest.mark.parametrize("width", range(330, 700, 37))
def test_a_line_is_as_high_whatever_came_of_its_rule(qtbot, width):
    found = {heights(qtbot, width, replace(RULE, state=state))[0] for state in STATES}
    found |= {heights(qtbot, width, replace(RULE, state="follows", root=40))[0]}
    assert len(found) == 1
