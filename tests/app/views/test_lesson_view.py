"""A lesson asks first; its answers open by mouse and by key; its links say what to show."""

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QTextCursor
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QTabBar, QTextBrowser
from pytestqt.qtbot import QtBot

from app.docks.registry import DOCKS
from app.theme import DARK, LIGHT
from app.views.lesson import BLANK, NO_LESSON, RULES_TITLE, LessonView
from app.widgets.lesson_page import ANSWER_FIRST, CLOSE_ALL, OPEN_ALL
from core.faults.catalog import FAULTS
from core.faults.shelf import shelf
from core.lessons import LINK, PART_TITLES, Show, Topic, parse_show
from core.readouts.lesson import LessonReadout
from tests.core.readouts.runs import PLAIN, view_of, with_fault

WITH_LESSON = [fault.id for fault in FAULTS if shelf().topics[fault.id][0].lesson]

Make = Callable[..., LessonView]
ANSWERS = PART_TITLES[1:]


def readout(*faults: str) -> LessonReadout:
    topics = tuple(topic for fault in faults for topic in shelf().topics[fault])
    by_seam = {rule.seam: rule for rule in shelf().rules}
    rules = tuple(by_seam[topic.seam] for topic in topics) or shelf().rules
    return LessonReadout(topics, rules, "words")


@pytest.fixture
def shown(qtbot: QtBot) -> Make:
    def make(*faults: str, width: int = 460) -> LessonView:
        view = LessonView(LIGHT)
        qtbot.addWidget(view)
        view.resize(width, 900)
        view.show_readout(readout(*faults))
        view.show()
        qtbot.waitExposed(view)
        return view

    return make


def button(view: LessonView, name: str) -> QPushButton:
    """The one for a part, by its title, or for all of them, by its words."""
    page = view.findChild(QScrollArea).widget()
    (found,) = [b for b in page.findChildren(QPushButton) if name in (b.accessibleName(), b.text())]
    return found


def texts(view: LessonView) -> list[QTextBrowser]:
    page = view.findChild(QScrollArea).widget()
    return [text for text in page.findChildren(QTextBrowser) if text.isVisible()]


def words(view: LessonView) -> str:
    """All that can be read."""
    page = view.findChild(QScrollArea).widget()
    labels = [label.text() for label in page.findChildren(QLabel)]
    return "\n".join([*labels, *(text.toPlainText() for text in texts(view))])


def place_of(text: QTextBrowser, link: str) -> QPoint:
    """The middle of the first letters of a link."""
    for x in range(0, text.width(), 3):
        for y in range(0, text.height(), 4):
            if text.anchorAt(QPoint(x, y)) == link:
                return QPoint(x + 2, y + 2)
    raise AssertionError(link)


def first_link(fault: str, part: str) -> str:
    (topic,) = shelf().topics[fault]
    return LINK.findall(topic.lesson.part(part))[0]


def test_the_question_is_shown_and_every_answer_is_closed(shown: Make) -> None:
    view = shown("pos-restart")
    said = words(view)
    assert "Position ids start again at 0" in said
    assert "which part of the cache is damaged for good?" in said
    assert ANSWER_FIRST in said
    assert len(texts(view)) == 1
    for title in ANSWERS:
        assert button(view, title).accessibleDescription() == "closed"


@pytest.mark.parametrize("fault", WITH_LESSON)
def test_no_closed_lesson_says_its_rule(shown: Make, fault: str) -> None:
    (topic,) = shelf().topics[fault]
    assert topic.lesson.rule not in words(shown(fault))


def test_a_click_opens_an_answer_and_another_one_closes_it(shown: Make, qtbot: QtBot) -> None:
    view = shown("cap-counter-first")
    qtbot.mouseClick(button(view, "Full answer"), Qt.MouseButton.LeftButton)
    assert "Rule: a refused append changes nothing." in words(view)
    assert button(view, "Full answer").accessibleDescription() == "open"
    assert button(view, "Short answer").accessibleDescription() == "closed"
    qtbot.mouseClick(button(view, "Full answer"), Qt.MouseButton.LeftButton)
    assert "a refused append" not in words(view)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_a_key_opens_an_answer(shown: Make, qtbot: QtBot, key: Qt.Key) -> None:
    view = shown("store-alias-in")
    asked = button(view, "Short answer")
    asked.setFocus()
    qtbot.keyClick(asked, key)
    assert "a reference to the caller's array" in words(view)


def test_every_answer_can_be_reached_with_tab(shown: Make) -> None:
    view = shown("pos-restart")
    for title in ANSWERS:
        assert button(view, title).focusPolicy() & Qt.FocusPolicy.TabFocus


def test_all_answers_open_and_close_together(shown: Make, qtbot: QtBot) -> None:
    view = shown("mask-unwritten")
    qtbot.mouseClick(button(view, OPEN_ALL), Qt.MouseButton.LeftButton)
    assert len(texts(view)) == len(PART_TITLES)
    qtbot.mouseClick(button(view, CLOSE_ALL), Qt.MouseButton.LeftButton)
    assert len(texts(view)) == 1


def test_the_last_answer_opened_by_hand_offers_to_close_all(shown: Make) -> None:
    view = shown("mask-unwritten")
    for title in ANSWERS:
        button(view, title).click()
    assert button(view, CLOSE_ALL).isVisible()


def test_what_was_opened_stays_open_lesson_by_lesson(shown: Make) -> None:
    view = shown("pos-restart")
    button(view, "Short answer").click()
    view.show_readout(readout("mask-top-left"))
    assert button(view, "Short answer").accessibleDescription() == "closed"
    view.clear()
    view.show_readout(readout("pos-restart"))
    assert button(view, "Short answer").accessibleDescription() == "open"
    assert "numbered from 0 in every call" in words(view)


def test_the_same_readout_again_leaves_the_page_as_it_is(shown: Make) -> None:
    view = shown("pos-restart")
    page = view.findChild(QScrollArea).widget()
    view.show_readout(readout("pos-restart"))
    assert view.findChild(QScrollArea).widget() is page


def test_a_view_that_takes_its_place_opens_the_same(shown: Make, qtbot: QtBot) -> None:
    view = shown("pos-restart")
    button(view, "Follow-ups").click()
    other = LessonView(DARK)
    qtbot.addWidget(other)
    other.choose(view.choices())
    other.show_readout(readout("pos-restart"))
    assert button(other, "Follow-ups").accessibleDescription() == "open"


def test_a_clicked_link_says_what_it_wants_to_be_shown(shown: Make, qtbot: QtBot) -> None:
    view = shown("pos-restart")
    button(view, "What you see").click()
    link = first_link("pos-restart", "What you see")
    text = texts(view)[-1]
    qtbot.waitUntil(lambda: text.height() > 100)
    with qtbot.waitSignal(view.link_wanted) as told:
        qtbot.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=place_of(text, link))
    assert told.args == [Show(step=1, dock="cache", slot=7, faults=("pos-restart",))]


def test_a_link_can_be_followed_by_keys(shown: Make, qtbot: QtBot) -> None:
    view = shown("mask-top-left")
    button(view, "What you see").click()
    text = texts(view)[-1]
    text.setFocus(Qt.FocusReason.TabFocusReason)
    text.moveCursor(QTextCursor.MoveOperation.Start)
    qtbot.keyClick(text, Qt.Key.Key_Tab)
    with qtbot.waitSignal(view.link_wanted) as told:
        qtbot.keyClick(text, Qt.Key.Key_Return)
    assert told.args == [parse_show(first_link("mask-top-left", "What you see"))]


class Opener(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(url.toString())


@pytest.fixture
def opener() -> Iterator[Opener]:
    made = Opener()
    QDesktopServices.setUrlHandler("https", made, "open")
    yield made
    QDesktopServices.unsetUrlHandler("https")


def test_a_report_is_opened_by_a_click_and_by_nothing_else(
    shown: Make, qtbot: QtBot, opener: Opener
) -> None:
    view = shown("cap-early")
    button(view, "In the wild").click()
    text = texts(view)[-1]
    qtbot.waitUntil(lambda: text.height() > 100)
    assert opener.opened == []
    link = "https://github.com/pytorch/executorch/issues/5227"
    qtbot.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=place_of(text, link))
    assert opener.opened == [link]


def test_several_faults_have_a_tab_each(shown: Make) -> None:
    view = shown("both-bugs")
    tabs = view.findChild(QTabBar)
    assert [tabs.tabText(i) for i in range(tabs.count())] == ["pos-restart", "mask-top-left"]
    assert "Position ids start again at 0" in words(view)
    tabs.setCurrentIndex(1)
    assert "Causal mask taken from row 0" in words(view)


def test_one_fault_has_no_tabs(shown: Make) -> None:
    assert not shown("pos-restart").findChild(QTabBar).isVisible()


def test_without_a_fault_the_rules_stand_there_with_what_breaks_them(
    shown: Make, qtbot: QtBot
) -> None:
    view = shown()
    assert RULES_TITLE in words(view)
    assert "a refused append changes nothing." in words(view)
    (text,) = texts(view)
    with qtbot.waitSignal(view.link_wanted) as told:
        qtbot.mouseClick(
            text.viewport(),
            Qt.MouseButton.LeftButton,
            pos=place_of(text, "show:fault=mask-unwritten"),
        )
    assert told.args == [Show(faults=("mask-unwritten",))]


def test_a_fault_without_a_lesson_shows_the_rule_that_it_breaks(qtbot: QtBot) -> None:
    view = LessonView(LIGHT)
    qtbot.addWidget(view)
    rule = next(rule for rule in shelf().rules if rule.seam == "rotate")
    view.show_readout(LessonReadout((Topic("x", "Rotated twice", "rotate", None),), (rule,), "x"))
    view.show()
    assert "Rotated twice" in words(view)
    assert NO_LESSON in words(view)
    assert rule.sentence in words(view)


def test_nothing_to_show_is_said(shown: Make) -> None:
    view = shown("pos-restart")
    view.clear()
    assert words(view) == BLANK


@pytest.mark.parametrize("width", [320, 460])
@pytest.mark.parametrize("fault", WITH_LESSON)
def test_no_text_is_wider_than_the_panel_or_cut_below(
    shown: Make, qtbot: QtBot, fault: str, width: int
) -> None:
    view = shown(fault, width=width)
    button(view, OPEN_ALL).click()
    for text in texts(view):
        qtbot.waitUntil(lambda text=text: text.height() >= text.document().size().height())
        assert text.document().size().width() <= text.viewport().width()


def test_a_title_that_has_no_room_is_shortened_and_said_in_full(shown: Make) -> None:
    view = shown("pos-restart", width=200)
    asked = button(view, "Answers that sound right and are not")
    assert asked.text().endswith("…")
    assert asked.toolTip() == "▸ Answers that sound right and are not"
    assert asked.width() <= view.findChild(QScrollArea).viewport().width()


def test_the_panel_shows_the_lesson_of_a_run(qtbot: QtBot) -> None:
    (spec,) = [spec for spec in DOCKS if spec.id == "lesson"]
    view = spec.build(LIGHT)
    qtbot.addWidget(view)
    view.show_readout(spec.readout(view_of(with_fault(PLAIN, "cap-early"), 0)))
    view.show()
    assert "The last slot cannot be used" in words(view)
    view.show_readout(spec.readout(view_of(PLAIN, 0)))
    assert RULES_TITLE in words(view)


def test_every_panel_that_a_lesson_links_to_is_there() -> None:
    lessons = [topic.lesson for topics in shelf().topics.values() for topic in topics]
    links = [link for each in lessons for part in each.parts for link in LINK.findall(part.text)]
    assert {parse_show(link).dock for link in links} <= {spec.id for spec in DOCKS}
