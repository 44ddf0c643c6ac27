"""The code behind a step: the right rule and the faulty one that runs, with its live values."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme
from app.widgets.code_lines import Folds, ShownLine, below_each_other, beside_each_other
from app.widgets.code_text import CodeText
from app.widgets.value_list import ValueList
from core.readouts.code import CodeReadout, CodeSection
from core.selection import Selection

SIDE_BY_SIDE_PX = 700
BLANK = "the code of the seam that is looked at appears here"
FAULTY_SIGN = "✕ "
_MOST_FOR_VALUES = 0.5
_ARROW_PX = 30
_KEPT = 8
_NO_LIMIT_PX = 16_777_215


class CodeView(QWidget):
    """Shows a `CodeReadout`. The seam that was chosen stays chosen until the faults change.

    Signals:
        selected, pointed: never; code holds no cell to choose or to be over.
    """

    selected = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__()
        self._theme = theme
        self._readout: CodeReadout | None = None
        self._section: CodeSection | None = None
        self._seam: str | None = None
        self._faulty: tuple[str, ...] = ()
        self._offered: tuple[tuple[str, ...], tuple[str, ...], str | None] | None = None
        self._kept: dict[tuple[object, ...], tuple[tuple[ShownLine, ...], ...]] = {}
        self.setAccessibleName("Code")
        self._make_parts()
        self._lay_out()
        self.setFocusProxy(self._below)
        self.clear()

    @property
    def seam(self) -> str | None:
        """The seam shown; None: nothing is."""
        return None if self._section is None else self._section.seam

    def show_readout(self, readout: CodeReadout) -> None:
        """Show the seam that was chosen, or the first faulty one."""
        self._readout = readout
        if readout.faulty_seams != self._faulty or self._seam is None:
            self._faulty, self._seam = readout.faulty_seams, readout.first
        offered = (readout.seams, readout.faulty_seams, self._seam)
        if offered != self._offered:
            self._offered = offered
            self._fill_choices()
        self._show_section()

    @Slot(object)
    def show_pointed(self, selection: Selection | None) -> None:
        """Code has no place that stands for a token or a slot."""

    def clear(self) -> None:
        """Show nothing, and say what will be here."""
        self._readout = self._section = None
        self._head.hide()
        for part in (self._values, self._below, self._faulty_text, self._correct_text):
            part.hide()
        self._blank.show()
        self.setAccessibleDescription(BLANK)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Below each other where it is narrow, beside each other where it is wide."""
        super().resizeEvent(event)
        self._show_code()

    def _make_parts(self) -> None:
        theme = self._theme
        self._tabs = QTabBar()
        self._tabs.setExpanding(False)
        self._tabs.setDrawBase(False)
        self._tabs.setAccessibleName("Seams of the faults that are on")
        self._tabs.currentChanged.connect(self._choose_tab)
        self._seams = QComboBox()
        self._seams.setAccessibleName("Seam")
        self._seams.setToolTip("The decision whose code is shown")
        self._seams.setFont(theme.mono())
        self._seams.currentIndexChanged.connect(self._choose_seam)
        self._docs = QToolButton()
        self._docs.setText("Docs")
        self._docs.setAccessibleName("Whole docstrings")
        self._docs.setToolTip("Show the whole docstrings, not their first lines only")
        self._docs.setCheckable(True)
        self._docs.setAutoRaise(True)
        self._docs.toggled.connect(self._show_code)
        self._values = ValueList(theme)
        self._below = CodeText(theme, "Code of the seam")
        self._faulty_text = CodeText(theme, "The faulty function")
        self._correct_text = CodeText(theme, "The right function")
        for text in (self._below, self._faulty_text, self._correct_text):
            text.resized.connect(self._show_code)
        self._blank = QLabel(BLANK)
        self._blank.setWordWrap(True)
        self._blank.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._blank.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        left, right = (text.verticalScrollBar() for text in (self._faulty_text, self._correct_text))
        left.valueChanged.connect(right.setValue)
        right.valueChanged.connect(left.setValue)

    def _lay_out(self) -> None:
        margin = self._theme.margin_px
        self._head = QWidget()
        head = QHBoxLayout(self._head)
        head.setContentsMargins(margin, 2, margin, 2)
        head.addWidget(self._tabs)
        head.addWidget(self._seams)
        head.addStretch(1)
        head.addWidget(self._docs)
        code = QHBoxLayout()
        code.setSpacing(1)
        for text in (self._below, self._faulty_text, self._correct_text):
            code.addWidget(text, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head)
        column.addWidget(self._values)
        column.addLayout(code, 1)
        column.addWidget(self._blank, 1)

    def _fill_choices(self) -> None:
        readout = self._readout
        if readout is None:
            return
        others = [seam for seam in readout.seams if seam not in readout.faulty_seams]
        seams = [*readout.faulty_seams, *others]
        if [self._seams.itemData(i) for i in range(self._seams.count())] != seams:
            with QSignalBlocker(self._seams):
                self._seams.clear()
                for seam in seams:
                    is_faulty = seam in readout.faulty_seams
                    self._seams.addItem(f"{FAULTY_SIGN if is_faulty else ''}{seam}", seam)
        tabs = list(readout.faulty_seams) if len(readout.faulty_seams) > 1 else []
        if [self._tabs.tabText(i) for i in range(self._tabs.count())] != tabs:
            with QSignalBlocker(self._tabs):
                while self._tabs.count():
                    self._tabs.removeTab(0)
                for seam in tabs:
                    self._tabs.addTab(seam)
        self._follow_choice()

    def _follow_choice(self) -> None:
        """A tab in front names its seam; the list beside the tabs is an arrow only then."""
        is_tab = self._tabs.count() > 0 and self._seam in self._faulty
        with QSignalBlocker(self._seams), QSignalBlocker(self._tabs):
            self._seams.setCurrentIndex(-1 if is_tab else self._seams.findData(self._seam))
            if is_tab:
                self._tabs.setCurrentIndex(self._faulty.index(self._seam or ""))
        self._seams.setMaximumWidth(_ARROW_PX if is_tab else _NO_LIMIT_PX)

    @Slot(int)
    def _choose_tab(self, tab: int) -> None:
        if 0 <= tab < len(self._faulty):
            self._choose(self._faulty[tab])

    @Slot(int)
    def _choose_seam(self, row: int) -> None:
        if row >= 0:
            self._choose(self._seams.itemData(row))

    def _choose(self, seam: str) -> None:
        self._seam = seam
        self._follow_choice()
        self._show_section()

    def _show_section(self) -> None:
        if self._readout is None or self._seam is None:
            return
        section = self._section = self._readout.section(self._seam)
        self._blank.hide()
        # Before the head: a dock keeps the width that tabs which hold nothing ask for.
        self._tabs.setVisible(self._tabs.count() > 0)
        self._head.show()
        self._values.show()
        self._values.show_values(section.values, section.note)
        self._values.setAccessibleDescription(section.sentence)
        self.setAccessibleDescription(section.sentence)
        self._show_code()

    @Slot()
    def _show_code(self) -> None:
        section = self._section
        if section is None:
            return
        most_px = round((self.height() - self._head_px()) * _MOST_FOR_VALUES)
        self._values.setFixedHeight(self._values.height_for(self.width(), most_px))
        is_wide = self.width() >= SIDE_BY_SIDE_PX and section.faulty is not None
        self._below.setVisible(not is_wide)
        self._faulty_text.setVisible(is_wide)
        self._correct_text.setVisible(is_wide)
        panes = (self._faulty_text, self._correct_text) if is_wide else (self._below,)
        columns = self._first_that_fits(section, panes)
        for pane, lines in zip(panes, columns, strict=True):
            pane.show_lines(lines)

    def _first_that_fits(
        self, section: CodeSection, panes: Sequence[CodeText]
    ) -> tuple[tuple[ShownLine, ...], ...]:
        """With as little folded as the room allows; where nothing helps, beside a scroll bar."""
        folds: tuple[Folds, ...] = ("docs", "unchanged", "name")
        if self._docs.isChecked():
            folds = ("nothing",)
        for fold in folds:
            columns = self._laid_out(section, panes, folds=fold, has_bar=False)
            if all(pane.fits(lines) for pane, lines in zip(panes, columns, strict=True)):
                return columns
        return self._laid_out(section, panes, folds=folds[0], has_bar=True)

    def _laid_out(
        self, section: CodeSection, panes: Sequence[CodeText], *, folds: Folds, has_bar: bool
    ) -> tuple[tuple[ShownLine, ...], ...]:
        """The lines of each pane."""
        n_columns = min(pane.n_columns(has_bar=has_bar) for pane in panes)
        functions = (section.correct, section.faulty)
        key = (*functions, section.rows, len(panes), n_columns, folds)
        if key not in self._kept:  # most steps ask the same functions
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = _lines(section, len(panes), n_columns, folds=folds)
        return self._kept[key]

    def _head_px(self) -> int:
        return self._head.sizeHint().height()


def _lines(
    section: CodeSection, n_panes: int, n_columns: int, *, folds: Folds
) -> tuple[tuple[ShownLine, ...], ...]:
    if n_panes > 1:
        return beside_each_other(section, n_columns, folds=folds)
    return (below_each_other(section, n_columns, folds=folds),)
