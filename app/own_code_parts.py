"""The parts of the window for somebody's code, and where they stand."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QListView,
    QProgressBar,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app.elided_label import ElidedLabel
from app.own_code_account import Account
from app.own_code_detail import OwnCodeDetail
from app.own_code_form import OwnCodeForm
from app.own_code_list import LinePainter, OwnCodeModel
from app.theme import Theme

LIST_PX, DETAIL_PX = 480, 620
PROGRESS_PX = 4


class OwnCodeParts:
    """Made for one window, which says what they do."""

    def __init__(self, window: QWidget, theme: Theme) -> None:
        """Make and lay out all of them."""
        self._theme = theme
        self._sign_colour = theme.dim
        self.file, self.about = QLabel(), ElidedLabel()
        self.names = QComboBox()
        self.options = QPushButton("Options")
        self.again, self.cancel = QPushButton("Check again"), QPushButton("Cancel")
        self.tests, self.copy = QPushButton("Write tests…"), QPushButton("Copy command")
        self.form = OwnCodeForm(theme)
        self.sign, self.state = QLabel(), QLabel()
        self.progress = QProgressBar()
        self.model = OwnCodeModel()
        self.list = QListView()
        self.painter = LinePainter(theme, self.list)
        self.notes = QLabel()
        self.detail = OwnCodeDetail(theme)
        self._name()
        self._lay_out(window)
        self.dress(theme)

    # What is shown.

    def show_file(self, path: Path) -> None:
        """Which file it is."""
        self.file.setText(path.name)
        self.file.setToolTip(str(path))

    def show_checking(self, account: Account) -> None:
        """A check runs, and is so far."""
        self._say("…", account.words, self._theme.new)
        self.progress.setRange(0, account.n)
        self.progress.setValue(account.n_done)
        self.progress.setVisible(True)
        self.cancel.setVisible(True)
        self.again.setEnabled(False)

    def show_rest(self, words: str, *, is_wrong: bool = False, is_right: bool = False) -> None:
        """No check runs."""
        sign = "✕" if is_wrong else "✓" if is_right else ""
        self._say(sign, words, self._theme.alarm if is_wrong else self._theme.dim)
        self.progress.setVisible(False)
        if self.cancel.hasFocus():
            self.list.setFocus()
        self.cancel.setVisible(False)
        self.again.setEnabled(True)

    def show_notes(self, notes: Sequence[str]) -> None:
        """What else is to be known."""
        self.notes.setText("\n".join(notes))
        self.notes.setVisible(bool(notes))

    def offer_tests(self, why_not: str) -> None:
        """Whether tests can be written; empty: they can."""
        self.tests.setEnabled(not why_not)
        usual = "Write what is broken as a pytest file that needs nothing of kvscope"
        self.tests.setToolTip(f"{usual}\nNot now: {why_not}" if why_not else usual)

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        was_alarm = self._sign_colour == self._theme.alarm
        was_new = self._sign_colour == self._theme.new
        self._theme = self.painter.theme = theme
        self._sign_colour = theme.alarm if was_alarm else theme.new if was_new else theme.dim
        self.file.setFont(theme.sans(px=theme.sans_px + 2, is_bold=True))
        for label in (self.notes, self.about):
            label.setFont(theme.sans(px=theme.small_px))
        self.form.dress(theme)
        self.detail.dress(theme)
        for label in (self.about, self.notes):
            _colour(label, theme.dim)
        _colour(self.sign, self._sign_colour)
        self.progress.setStyleSheet(
            f"QProgressBar {{ border: 0; background: {theme.frame.name()}; }}"
            f"QProgressBar::chunk {{ background: {theme.new.name()}; }}"
        )
        self.list.doItemsLayout()

    def _say(self, sign: str, words: str, colour: QColor) -> None:
        self._sign_colour = colour
        self.sign.setText(sign)
        self.sign.setVisible(bool(sign))
        self.state.setText(words)
        _colour(self.sign, colour)

    # Making it.

    def _name(self) -> None:
        self.names.setAccessibleName("What is checked")
        self.names.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.options.setCheckable(True)
        self.options.setToolTip("Arguments of the constructor, promises, an adapter")
        self.options.toggled.connect(self.form.setVisible)
        self.form.setVisible(False)
        self.again.setToolTip("Check the file as it is now (F5); saving it does the same")
        self.cancel.setToolTip("Leave this check (Esc)")
        self.copy.setToolTip("Put the same check, as a command line, on the clipboard")
        self.state.setAccessibleName("How far the check is")
        self.state.setWordWrap(True)
        self.state.setTextFormat(Qt.TextFormat.PlainText)
        self.notes.setWordWrap(True)
        self.notes.setTextFormat(Qt.TextFormat.PlainText)
        self.notes.setAccessibleName("What else is to be known")
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(PROGRESS_PX)
        self.progress.setAccessibleName("Rules asked")
        self.list.setModel(self.model)
        self.list.setItemDelegate(self.painter)
        self.list.setAccessibleName("Findings and rules")
        self.list.setAccessibleDescription("Arrows choose a line; what is behind it stands beside")
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setResizeMode(QListView.ResizeMode.Adjust)

    def _lay_out(self, window: QWidget) -> None:
        column, above, told = QVBoxLayout(window), QHBoxLayout(), QHBoxLayout()
        above.addWidget(self.file)
        above.addWidget(self.names)
        above.addStretch(1)
        for button in (self.options, self.copy, self.tests, self.again):
            above.addWidget(button)
        told.addWidget(self.sign)
        told.addWidget(self.state, 1)
        told.addWidget(self.cancel)
        left, right = QWidget(), QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.addWidget(self.list, 1)
        right.addWidget(self.notes)
        left.setLayout(right)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(left)
        split.addWidget(self.detail)
        split.setSizes([LIST_PX, DETAIL_PX])
        split.setStretchFactor(0, LIST_PX)
        split.setStretchFactor(1, DETAIL_PX)
        split.setChildrenCollapsible(False)
        column.addLayout(above)
        column.addWidget(self.form)
        column.addWidget(self.about)
        column.addLayout(told)
        column.addWidget(self.progress)
        column.addWidget(split, 1)


def _colour(label: QLabel, colour: QColor) -> None:
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, colour)
    label.setPalette(palette)
