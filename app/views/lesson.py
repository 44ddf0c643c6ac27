"""The lesson of the fault that is on: it asks first, and its answers are closed until opened."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QScrollArea, QTabBar, QVBoxLayout, QWidget

from app.theme import Theme
from app.widgets.lesson_page import LessonPage
from core.lessons import SCHEME, Lesson, Rule, Topic, parse_show
from core.readouts.lesson import LessonReadout
from core.selection import Selection

BLANK = "the lesson of the fault that is on appears here"
RULES_TITLE = "The rules of a cache"
RULES_HINT = "Switch a fault on, and its lesson stands here."
NO_LESSON = "There is no lesson on this fault. The rule that it breaks:"


@dataclass(frozen=True, slots=True)
class LessonChoices:
    """What was chosen in the view.

    Attributes:
        opened: titles of the parts that are open, by fault.
    """

    opened: Mapping[str, frozenset[str]]


class LessonView(QWidget):
    """Shows a `LessonReadout`. What was opened stays open, lesson by lesson.

    Signals:
        selected, pointed: never; a lesson holds no cell to choose or to be over.
        link_wanted: a `core.lessons.Show`: somebody clicked a link that asks the window for it.
    """

    selected = Signal(object)
    pointed = Signal(object)
    link_wanted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__()
        self._theme = theme
        self._readout: LessonReadout | None = None
        self._opened: dict[str, set[str]] = {}
        self._tabs = QTabBar()
        self._tabs.setExpanding(False)
        self._tabs.setAccessibleName("Lessons of the faults that are on")
        self._tabs.currentChanged.connect(self._show_tab)
        self._scroll = QScrollArea()
        self._scroll.setAccessibleName("Text of the lesson")
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._tabs)
        column.addWidget(self._scroll, 1)
        self.setAccessibleName("Lesson")
        self.clear()

    def show_readout(self, readout: LessonReadout) -> None:
        """Show the lessons of a readout; what is shown already stays as it is."""
        if readout == self._readout:
            return
        self._readout = readout
        self.setAccessibleDescription(readout.sentence)
        with QSignalBlocker(self._tabs):
            while self._tabs.count():
                self._tabs.removeTab(0)
            for topic in readout.topics:
                self._tabs.setTabToolTip(self._tabs.addTab(topic.fault), topic.title)
        self._tabs.setVisible(len(readout.topics) > 1)
        self._show_tab(0)

    def choices(self) -> LessonChoices:
        """What was opened and looked at, for a view that takes this one's place."""
        opened = {fault: frozenset(titles) for fault, titles in self._opened.items()}
        return LessonChoices(opened)

    def choose(self, choices: LessonChoices) -> None:
        """Open and look at the same."""
        self._opened = {fault: set(titles) for fault, titles in choices.opened.items()}

    def show_pointed(self, selection: Selection | None) -> None:
        """Nothing here stands for a token, slot or layer."""

    def clear(self) -> None:
        """Show nothing."""
        self._readout = None
        self._tabs.hide()
        self.setAccessibleDescription("")
        page = LessonPage(self._theme)
        page.add_words(BLANK)
        self._put(page)

    @Slot(int)
    def _show_tab(self, tab: int) -> None:
        if self._readout is None:
            return
        page = LessonPage(self._theme)
        page.link_clicked.connect(self._follow)
        if self._readout.topics:
            self._fill(page, self._readout.topics[tab], self._readout.rules[tab])
        else:
            page.add_heading(RULES_TITLE, RULES_HINT)
            page.add_text("\n\n".join(map(_rule_words, self._readout.rules)))
        self._put(page)

    def _fill(self, page: LessonPage, topic: Topic, rule: Rule) -> None:
        if topic.lesson is None:
            page.add_heading(topic.title, topic.trouble or NO_LESSON)
            page.add_text(_rule_words(rule))
            return
        page.add_heading(topic.title, _about(topic.lesson))
        page.add_lesson(topic.lesson, self._opened.setdefault(topic.fault, set()))

    def _put(self, page: LessonPage) -> None:
        page.end()
        self._scroll.setWidget(page)
        self._scroll.verticalScrollBar().setValue(0)

    @Slot(QUrl)
    def _follow(self, url: QUrl) -> None:
        link = url.toString()
        if link.startswith(SCHEME):
            self.link_wanted.emit(parse_show(link))
        else:
            QDesktopServices.openUrl(url)


def _about(lesson: Lesson) -> str:
    return f"{lesson.id} · {lesson.seam} · level {lesson.level} of 3 · {lesson.minutes} min"


def _rule_words(rule: Rule) -> str:
    """The rule as Markdown, with a link for each fault that breaks it."""
    words = [f"`{rule.seam}` **{rule.sentence}**", rule.text]
    if rule.faults:
        links = ", ".join(f"[{fault}]({SCHEME}fault={fault})" for fault in rule.faults)
        words.append(f"Broken by {links}")
    return "\n\n".join(word for word in words if word)
