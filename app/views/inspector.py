"""The tensors of a step: their shapes, one of them in numbers, and the story of a slot."""

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetricsF, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.elided_label import ElidedLabel
from app.theme import USUAL_PX, Theme, quiet_choice
from app.widgets.sentence import Sentence
from app.widgets.tensor_image import TensorImage
from app.widgets.tensor_table import TensorTable
from app.widgets.tensor_words import statistics
from core.readouts.inspector import InspectorReadout
from core.readouts.tensor_sheet import TensorEntry, TensorSheet
from core.selection import Selection

BLANK = "shapes and numbers of the step appear here"
FIRST_TENSOR = "q"
_WAYS = (("Map", "Show the tensor as a heat map"), ("Table", "Show the tensor as a table"))
_NAME_LETTERS = 9
_ROW_PAD_PX = 2
_LIST_SHARE = 0.6
_STORY_SHARE = 0.28


class InspectorView(QWidget):
    """Shows an `InspectorReadout`. The tensor that was chosen stays chosen."""

    selected = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__()
        self._theme = theme
        self._readout: InspectorReadout | None = None
        self._sheet: TensorSheet | None = None
        self._tensor = FIRST_TENSOR
        self.setAccessibleName("Inspector")
        self._make_parts()
        self._lay_out()
        self.setFocusProxy(self._list)
        self.clear()

    @property
    def sheet(self) -> TensorSheet | None:
        """The tensor shown; None: none."""
        return self._sheet

    @property
    def story(self) -> str:
        """What is told of the slot looked at, in full."""
        return "" if self._readout is None else self._readout.story

    def show_readout(self, readout: InspectorReadout) -> None:
        """Show the shapes, and the tensor that was chosen."""
        self._readout = readout
        self._fill_list()
        has_tensors = bool(readout.tensors)
        self._body.setVisible(has_tensors)
        self._blank.setVisible(not has_tensors)
        if readout.why_none != self._blank.text():
            self._blank.setText(readout.why_none)
        self.setAccessibleDescription(readout.sentence)
        self._tell_story()
        self._show_sheet()

    @Slot(object)
    def show_pointed(self, selection: Selection | None) -> None:
        """Light up what the mouse is over, in whichever view; None: nothing."""
        self._image.show_pointed(selection)

    def clear(self) -> None:
        """Show nothing, and say what will be here."""
        self._readout = None
        self._body.hide()
        self._story.hide()
        self._blank.setText(BLANK)
        self._blank.show()
        self.setAccessibleDescription(BLANK)
        self._show_sheet()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The story takes as many lines as it needs, up to a share of the height."""
        super().resizeEvent(event)
        self._list.fit(int(self.width() * _LIST_SHARE))
        self._tell_story()

    def _make_parts(self) -> None:
        theme = self._theme
        self._list = _ShapeList(theme)
        self._list.currentRowChanged.connect(self._choose_row)
        self._title, self._figures = ElidedLabel(), ElidedLabel()
        self._title.setFont(theme.sans(px=theme.small_px))
        self._figures.setFont(theme.mono(px=theme.small_px - 1))
        for label in (self._title, self._figures):
            label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._image = TensorImage(theme)
        self._image.picked.connect(self.selected)
        self._image.pointed.connect(self.pointed)
        self._table = TensorTable(theme)
        self._table.chosen.connect(self._choose_entry)
        self._ways = QButtonGroup(self)
        self._story = Sentence(theme)
        self._story.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._story.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._blank = QLabel(BLANK)
        self._blank.setWordWrap(True)
        self._blank.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._blank.setContentsMargins(theme.margin_px, 0, theme.margin_px, 0)
        self._blank.setForegroundRole(QPalette.ColorRole.PlaceholderText)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(self._theme.margin_px, 0, 2, 0)
        head.setSpacing(0)
        head.addWidget(self._title, 1)
        for number, (name, tip) in enumerate(_WAYS):
            button = QToolButton()
            button.setText(name)
            button.setToolTip(tip)
            button.setAccessibleName(tip)
            button.setCheckable(True)
            button.setChecked(number == 0)
            button.setAutoRaise(True)
            button.setFont(self._theme.sans(px=self._theme.small_px))
            button.setFixedHeight(self._theme.target_px)
            self._ways.addButton(button, number)
            head.addWidget(button)
        self._pictures = QStackedWidget()
        self._pictures.addWidget(self._image)
        self._pictures.addWidget(self._table)
        self._ways.idClicked.connect(self._show_way)
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        right.addLayout(head)
        right.addWidget(self._pictures, 1)
        right.addWidget(self._figures)
        self._figures.setContentsMargins(self._theme.margin_px, 0, 0, 2)
        self._body = QWidget()
        row = QHBoxLayout(self._body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(1)
        row.addWidget(self._list)
        row.addLayout(right, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addWidget(self._body, 1)
        column.addWidget(self._blank, 1)
        column.addWidget(self._story)

    def _fill_list(self) -> None:
        readout = self._readout
        if readout is None:
            return
        with QSignalBlocker(self._list):
            self._list.show_entries(readout.tensors)
            ids = [entry.id for entry in readout.tensors]
            shown = self._tensor if self._tensor in ids else FIRST_TENSOR
            self._list.setCurrentRow(ids.index(shown) if shown in ids else -1)

    def _shown_tensor(self) -> str | None:
        readout, row = self._readout, self._list.currentRow()
        if readout is None or not 0 <= row < len(readout.tensors):
            return None
        return readout.tensors[row].id

    @Slot(int)
    def _choose_row(self, row: int) -> None:
        self._tensor = self._shown_tensor() or self._tensor
        self._show_sheet()

    @Slot(int)
    def _show_way(self, way: int) -> None:
        self._pictures.setCurrentIndex(way)
        self._show_sheet()

    def _show_sheet(self) -> None:
        """Convert the chosen tensor, and no other, for the picture in front."""
        readout, tensor = self._readout, self._shown_tensor()
        sheet = None if readout is None or tensor is None else readout.sheet(tensor)
        self._sheet = sheet
        is_table = self._pictures.currentIndex() == 1
        selection = Selection() if readout is None else readout.selection
        self._image.show_sheet(None if is_table else sheet, selection)
        self._table.show_sheet(sheet if is_table else None)
        self._title.set_full_text("" if sheet is None else sheet.title)
        self._figures.set_full_text("" if sheet is None else statistics(sheet))

    @Slot(int, int)
    def _choose_entry(self, row: int, column: int) -> None:
        sheet, readout = self._sheet, self._readout
        if sheet is None or readout is None:
            return
        selection = readout.selection
        chosen: dict[str, Any] = {}
        for axis, place in ((sheet.rows, row), (sheet.columns, column)):
            chosen |= axis.choose(selection, place)
        if chosen:
            chosen = {"slot": None, "position_id": None, **chosen}
            self.selected.emit(replace(selection, **chosen))

    def _tell_story(self) -> None:
        """As many whole words as there are lines for; all of them in the tool tip."""
        full = self.story
        self._story.setVisible(bool(full))
        if not full:
            return
        margins, line_px = self._story.contentsMargins(), self._story.fontMetrics().lineSpacing()
        n_lines = max(1, int(self.height() * _STORY_SHARE / line_px))
        most_px = n_lines * line_px + margins.top() + margins.bottom()
        self._story.setFixedHeight(self._story.say(full, self.width(), most_px))


class _ShapeList(QListWidget):
    """Names and shapes, one below the other, as wide as the widest."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._most_px: int | None = None
        self._entries: tuple[TensorEntry, ...] = ()
        self.setFont(theme.mono(px=theme.small_px))
        self.setPalette(quiet_choice(theme))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Tensors of the step")
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setViewportMargins(0, 2, 0, 0)

    def show_entries(self, entries: tuple[TensorEntry, ...]) -> None:
        """Show these; what is there already stays."""
        if entries == self._entries:
            return
        self._entries = entries
        texts = [f"{each.id:<{_NAME_LETTERS}}{list(each.shape)}" for each in entries]
        row_px = round(QFontMetricsF(self.font()).height()) + _ROW_PAD_PX
        while self.count() > len(texts):
            self.takeItem(self.count() - 1)
        for row, (entry, text) in enumerate(zip(entries, texts, strict=True)):
            item = self.item(row)
            if item is None:
                item = QListWidgetItem()
                item.setSizeHint(QSize(0, row_px))
                self.addItem(item)
            if text != item.text():
                item.setText(text)
                item.setToolTip(f"{entry.id}: {entry.meaning}")
        self._use_width()

    def fit(self, most_px: int) -> None:
        """No wider than this: where the texts are, in smaller letters."""
        if most_px != self._most_px:
            self._most_px = most_px
            self._use_width()

    def _use_width(self) -> None:
        texts, widest = [self.item(row).text() for row in range(self.count())], 0
        font, least_px = self.font(), min(USUAL_PX[-1], self._theme.small_px)
        for px in range(self._theme.small_px, least_px - 1, -1):
            font = self._theme.mono(px=px)
            metrics = QFontMetricsF(font)
            advances = (metrics.horizontalAdvance(text) for text in texts)
            widest = round(max(advances, default=0)) + 2 * self._theme.margin_px
            if self._most_px is None or widest <= self._most_px:
                break
        if widest:
            if font.pixelSize() != self.font().pixelSize():
                self.setFont(font)
            self.setFixedWidth(widest)
