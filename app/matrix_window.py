"""The matrix as a window of its own: what each fault does, by model and policy; a click opens it.

It shows a measurement that `kvscope matrix` made, the shipped one at first, and measures nothing
itself.
"""

from pathlib import Path

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPen, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.draft import Draft
from app.elided_label import ElidedLabel
from app.matrix_measures import MEASURES
from app.matrix_model import MatrixModel
from app.theme import Theme
from core.errors import CoreError
from core.matrix_cell import Cell
from core.matrix_file import MatrixFile, read_matrix
from core.matrix_runs import broken_spec
from resources import resource_path

SHIPPED = resource_path("matrix.jsonl")
FILES = "Matrix (*.jsonl *.json);;All files (*)"
FIRST_SIZE, FRAME_SIZE = QSize(1240, 760), QSize(16, 48)
LEAST_SIZE = (640, 400)
COLUMN_PX, LEAST_COLUMN_PX = 68, 52
"""Width of a column, and the least in which its words have room, in small letters."""
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class _CellPainter(QStyledItemDelegate):
    """Draws a cell, a line between two models, and a ring around the current cell."""

    def __init__(self, model: MatrixModel, table: QTableView) -> None:
        super().__init__(table)
        self._model = model
        self._table = table

    def initStyleOption(  # noqa: N802  (a name of Qt)
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """The ring below takes the place of Qt's own marks."""
        super().initStyleOption(option, index)
        option.state &= ~(QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_Selected)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Paint one cell."""
        super().paint(painter, option, index)
        theme, rect = self._model.theme, QRect(option.rect)
        painter.save()
        if self._model.begins_model(index.column()):
            painter.fillRect(rect.left(), rect.top(), 2, rect.height(), theme.dead)
        if index == self._table.currentIndex():
            painter.setPen(QPen(theme.new if self._table.hasFocus() else theme.dead, 2))
            painter.drawRect(rect.adjusted(1, 1, -1, -1))
        painter.restore()


class _Table(QTableView):
    """A table in which Enter does what a click does, and whose columns share a narrow window."""

    entered_at = Signal(QModelIndex)

    def __init__(self, cells: MatrixModel) -> None:
        """Takes what it shows."""
        super().__init__()
        self._cells = cells
        self.setModel(cells)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Columns have another share of it."""
        super().resizeEvent(event)
        self.fit_columns()

    def fit_columns(self) -> None:
        """As wide as they like to be; else with small letters as all find room, or words need."""
        theme = self._cells.theme
        share_px = self.viewport().width() // max(1, self._cells.columnCount())
        least_px, most_px = theme.px(LEAST_COLUMN_PX), theme.px(COLUMN_PX)
        self._cells.has_small_letters = share_px < most_px
        self.horizontalHeader().setDefaultSectionSize(max(least_px, min(most_px, share_px)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens; all else moves, as in any table."""
        if event.key() in ENTER:
            self.entered_at.emit(self.currentIndex())
            return
        super().keyPressEvent(event)


class MatrixWindow(QWidget):
    """Asks for runs; whoever made the window makes them."""

    run_wanted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        """Shows the shipped measurement."""
        super().__init__(None, Qt.WindowType.Window)
        self.setObjectName("matrix-window")
        self.setWindowTitle("Matrix")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumSize(*LEAST_SIZE)
        self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize() - FRAME_SIZE))
        self._file: MatrixFile | None = None
        self.model = MatrixModel(theme)
        self.measure = QComboBox()
        self.about, self.sentence = ElidedLabel(), QLabel()
        self.table = _Table(self.model)
        self.file_button = QPushButton("Open file…")
        self.run_button = QPushButton("Open this run")
        self._build()
        self._connect()
        self.dress(theme)
        self.open_path(SHIPPED)

    def open_path(self, path: Path) -> None:
        """Show the measurement of a file; what cannot be read is said, and changes nothing."""
        try:
            file = read_matrix(path)
        except CoreError as error:
            self.sentence.setText(str(error))
            return
        self._file = file
        self.model.show_file(file)
        self.table.fit_columns()
        name = "as shipped" if path == SHIPPED else path.name
        self.setWindowTitle(f"Matrix, {name}")
        self._say_about()
        self.table.setCurrentIndex(self.model.index(0, 0))
        self.table.setFocus()

    def dress(self, theme: Theme) -> None:
        """Take other colours and sizes; the application's palette does the rest."""
        self.model.dress(theme)
        self.table.verticalHeader().setDefaultSectionSize(theme.target_px)
        self.table.setStyleSheet(_table_style(theme))
        self.table.fit_columns()
        colours = self.about.palette()
        colours.setColor(self.about.foregroundRole(), theme.dim)
        self.about.setPalette(colours)

    # Making it.

    def _build(self) -> None:
        self.measure.addItems([measure.title for measure in MEASURES])
        self.measure.setAccessibleName("What each cell shows")
        self.table.setItemDelegate(_CellPainter(self.model, self.table))
        self.table.setAccessibleName("Faults by model and policy")
        self.table.setAccessibleDescription("Arrows move, Enter opens the run of the cell")
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.setCornerButtonEnabled(False)
        for header in (self.table.horizontalHeader(), self.table.verticalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.setHighlightSections(False)
        self.sentence.setWordWrap(True)
        self.sentence.setAccessibleName("The cell in words")
        # Two lines are kept free, so that the table does not move as the sentence grows.
        self.sentence.setMinimumHeight(2 * self.sentence.fontMetrics().lineSpacing())
        self.run_button.setToolTip("Load this run in the main window (Enter)")
        self.file_button.setToolTip(
            "Open what kvscope matrix --resume FILE wrote; nothing in it is ever run"
        )
        column = QVBoxLayout(self)
        above, below = QHBoxLayout(), QHBoxLayout()
        above.addWidget(self.measure)
        above.addWidget(self.about, 1)
        above.addWidget(self.file_button)
        below.addWidget(self.sentence, 1)
        below.addWidget(self.run_button)
        column.addLayout(above)
        column.addWidget(self.table, 1)
        column.addLayout(below)
        for keys in (QKeySequence(Qt.Key.Key_Escape), QKeySequence("Ctrl+W")):
            QShortcut(keys, self, self.close)

    def _connect(self) -> None:
        self.measure.currentIndexChanged.connect(self._show_measure)
        self.file_button.clicked.connect(self._ask_for_file)
        self.run_button.clicked.connect(self._open_current)
        self.table.clicked.connect(self._open)
        self.table.entered_at.connect(self._open)
        self.table.selectionModel().currentChanged.connect(self._tell)
        self._show_measure(0)

    # What a person does.

    @Slot(int)
    def _show_measure(self, number: int) -> None:
        self.model.show_measure(MEASURES[number])
        self._say_about()

    def _say_about(self) -> None:
        prompts = "" if self._file is None else f"{self._file.n_prompts} prompts a cell · "
        self.about.set_full_text(f"{prompts}shade: {MEASURES[self.measure.currentIndex()].shade}")

    @Slot()
    def _ask_for_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Open matrix", "", FILES)
        if path:
            self.open_path(Path(path))

    @Slot(QModelIndex)
    def _tell(self, index: QModelIndex) -> None:
        self.sentence.setText(self.model.sentence_at(index))
        cell = self.model.cell_at(index)
        self.run_button.setEnabled(cell is not None and cell.why_not is None)

    @Slot()
    def _open_current(self) -> None:
        self._open(self.table.currentIndex())

    @Slot(QModelIndex)
    def _open(self, index: QModelIndex) -> None:
        cell = self.model.cell_at(index)
        if self._file is None or cell is None or cell.why_not is not None:
            return
        try:
            draft = draft_of(self._file, cell)
        except CoreError as error:
            self.sentence.setText(str(error))
            return
        self.run_wanted.emit(draft)


def _table_style(theme: Theme) -> str:
    """Quiet lines, and headers without relief."""
    frame, raised = theme.frame.name(), theme.raised.name()
    return (
        f"QTableView {{ gridline-color: {frame}; border: 1px solid {frame}; }}"
        f"QHeaderView, QTableCornerButton::section {{ background: {raised}; border: 0; }}"
        f"QHeaderView::section {{ background: {raised}; color: {theme.text.name()}; border: 0;"
        f" border-bottom: 1px solid {frame}; padding: 2px 6px; }}"
        "QHeaderView::section:horizontal { padding: 2px 0; }"
    )


def draft_of(file: MatrixFile, cell: Cell) -> Draft:
    """The run of a cell that shows what the cell says.

    Raises:
        CoreError: a file that does not say the prompt, or a cell without such a run.
    """
    prompt = file.prompt_of(cell)
    return Draft.of_spec(broken_spec(cell, prompt), prompt.text)
