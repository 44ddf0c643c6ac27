"""What is read in a lesson: texts of which some can be opened and closed."""

import re

from PySide6.QtCore import Qt, QUrl, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.theme import Theme
from app.widgets.markdown_text import MarkdownText
from core.lessons import PART_TITLES, SOURCE, Lesson

ANSWER_FIRST = "Answer first, then open."
OPEN_ALL, CLOSE_ALL = "Open all answers", "Close all answers"
_CLOSED, _OPEN = "▸", "▾"


class LessonPage(QWidget):
    """What is scrolled: a heading, and texts of which some can be opened and closed."""

    link_clicked = Signal(QUrl)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._sections: list[_Section] = []
        self._all = _FlatButton(theme, theme.sans(), theme.new)
        self._all.hide()
        self._all.clicked.connect(self._toggle_all)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, theme.margin_px, 0, theme.margin_px)
        self._column.setSpacing(0)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Base)

    def add_heading(self, title: str, about: str) -> None:
        """A title, and a line of less weight under it."""
        self._add_label(title, self._theme.sans(px=self._theme.sans_px + 2, is_bold=True))
        self.add_words(about)

    def add_words(self, words: str) -> None:
        """A line of less weight."""
        label = self._add_label(words, self._theme.sans(px=self._theme.small_px))
        label.setForegroundRole(QPalette.ColorRole.PlaceholderText)

    def add_text(self, markdown: str) -> None:
        """A text that is always shown."""
        self._column.addWidget(_text(self._theme, markdown, self))

    def add_lesson(self, lesson: Lesson, opened: set[str]) -> None:
        """The question, and under it each answer, closed unless it was opened before."""
        self.add_text(lesson.part(PART_TITLES[0]))
        self.add_words(ANSWER_FIRST)
        for part in lesson.parts[1:]:
            section = _Section(self._theme, part.title, part.text, opened)
            section.link_clicked.connect(self.link_clicked)
            section.toggled.connect(self._name_all)
            self._sections.append(section)
            self._column.addWidget(section)
        self._column.addSpacing(self._theme.margin_px)
        self._column.addWidget(self._all)
        self._all.show()
        self._name_all()

    def end(self) -> None:
        """Nothing more is added."""
        self._column.addStretch(1)

    def _add_label(self, words: str, font: QFont) -> QLabel:
        label = QLabel(words)
        label.setFont(font)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setContentsMargins(self._theme.margin_px, 0, self._theme.margin_px, 2)
        self._column.addWidget(label)
        return label

    @Slot()
    def _toggle_all(self) -> None:
        is_opening = not self._is_all_open()
        for section in self._sections:
            section.set_open(is_open=is_opening)

    @Slot()
    def _name_all(self) -> None:
        words = CLOSE_ALL if self._is_all_open() else OPEN_ALL
        self._all.say(words)
        self._all.setAccessibleName(words)

    def _is_all_open(self) -> bool:
        return all(section.is_open for section in self._sections)


class _Section(QWidget):
    """A title that opens and closes the text under it, by mouse or by key."""

    link_clicked = Signal(QUrl)
    toggled = Signal()

    def __init__(self, theme: Theme, title: str, markdown: str, opened: set[str]) -> None:
        """Takes the titles that are open in this lesson, and keeps its own among them."""
        super().__init__()
        self._theme, self._title, self._markdown, self._opened = theme, title, markdown, opened
        self._text: MarkdownText | None = None
        self._button = _FlatButton(theme, theme.sans(is_bold=True), theme.text)
        self._button.clicked.connect(self._toggle)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self._button)
        self._fit()

    @property
    def is_open(self) -> bool:
        """Whether the text is shown."""
        return self._title in self._opened

    def set_open(self, *, is_open: bool) -> None:
        """Show the text, or hide it."""
        if is_open != self.is_open:
            self._toggle()

    @Slot()
    def _toggle(self) -> None:
        self._opened ^= {self._title}
        self._fit()
        self.toggled.emit()

    def _fit(self) -> None:
        if self.is_open and self._text is None:
            self._text = _text(self._theme, self._markdown, self)
            self._column.addWidget(self._text)
        if self._text is not None:
            self._text.setVisible(self.is_open)
        self._button.say(f"{_OPEN if self.is_open else _CLOSED} {self._title}")
        self._button.setAccessibleName(self._title)
        self._button.setAccessibleDescription("open" if self.is_open else "closed")


class _FlatButton(QPushButton):
    """As wide as the page, however long its words are; answers to Enter as well as to Space."""

    def __init__(self, theme: Theme, font: QFont, colour: QColor) -> None:
        super().__init__()
        self._words = ""
        self._inset_px = theme.margin_px
        self.setFont(font)
        self.setMinimumHeight(theme.target_px)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setStyleSheet(
            f"QPushButton {{ border: 2px solid transparent; background: transparent;"
            f" color: {colour.name()}; text-align: left; padding: 2px {theme.margin_px - 2}px; }}"
            f"QPushButton:hover {{ background: {theme.raised.name()}; }}"
            f"QPushButton:focus {{ border-color: {theme.new.name()}; }}"
        )

    def say(self, words: str) -> None:
        """Show these, or as many of them as there is room for."""
        self._words = words
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.width() - 2 * self._inset_px
        shown = self.fontMetrics().elidedText(self._words, Qt.TextElideMode.ElideRight, room)
        self.setText(shown)
        self.setToolTip("" if shown == self._words else self._words)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


def _text(theme: Theme, markdown: str, owner: "LessonPage | _Section") -> MarkdownText:
    """A text whose links its owner hands on; a public report is a link to it."""
    text = MarkdownText(theme, SOURCE.sub(_report_link, markdown))
    text.anchorClicked.connect(owner.link_clicked)
    return text


def _report_link(found: re.Match[str]) -> str:
    repository, number = found[0].split("#")
    return f"[{found[0]}](https://github.com/{repository}/issues/{number})"
