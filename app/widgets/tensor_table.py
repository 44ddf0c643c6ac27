"""A tensor as a table of exact numbers; only the cells in sight are asked for."""

from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from app.theme import Theme, quiet_choice
from app.widgets.tensor_words import entry_words, short
from core.readouts.tensor_sheet import TensorSheet

_Index = QModelIndex | QPersistentModelIndex
_ROLE = Qt.ItemDataRole
_WIDEST = "−1.234e−05"


class TensorModel(QAbstractTableModel):
    """The entries of a `TensorSheet`; a single row stands as a column, to be read downwards."""

    def __init__(self, theme: Theme) -> None:
        """Without a sheet."""
        super().__init__()
        self._theme = theme
        self._sheet: TensorSheet | None = None

    @property
    def sheet(self) -> TensorSheet | None:
        """What is shown."""
        return self._sheet

    def show_sheet(self, sheet: TensorSheet | None) -> None:
        """Show this; None: nothing."""
        old = self._sheet
        if sheet is not None and old is not None and sheet.values.shape == old.values.shape:
            self._sheet = sheet
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            self.headerDataChanged.emit(Qt.Orientation.Vertical, 0, self.rowCount() - 1)
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)
            return
        self.beginResetModel()
        self._sheet = sheet
        self.endResetModel()

    def place(self, index: _Index) -> tuple[int, int]:
        """Row and column in the tensor."""
        return (index.column(), index.row()) if self._is_turned() else (index.row(), index.column())

    def rowCount(self, parent: _Index | None = None) -> int:  # noqa: N802  (a name of Qt)
        """Rows of the table."""
        return self._shape(parent)[0]

    def columnCount(self, parent: _Index | None = None) -> int:  # noqa: N802  (a name of Qt)
        """Columns of the table."""
        return self._shape(parent)[1]

    def data(self, index: _Index, role: int = _ROLE.DisplayRole) -> Any:  # noqa: ANN401  (Qt's)
        """Four digits; all of them in the tool tip."""
        if self._sheet is None or not index.isValid():
            return None
        row, column = self.place(index)
        value = self._sheet.values[row, column]
        if role == _ROLE.DisplayRole:
            return short(value)
        if role == _ROLE.ToolTipRole:
            return entry_words(self._sheet, row, column)
        if role == _ROLE.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == _ROLE.ForegroundRole and not np.isfinite(value):
            return self._theme.alarm
        return None

    def headerData(  # noqa: N802  (a name of Qt)
        self, section: int, orientation: Qt.Orientation, role: int = _ROLE.DisplayRole
    ) -> Any:  # noqa: ANN401  (Qt's)
        """Numbers of slots, tokens or dimensions; in words in the tool tip."""
        if self._sheet is None:
            return None
        is_row = (orientation == Qt.Orientation.Vertical) != self._is_turned()
        axis = self._sheet.rows if is_row else self._sheet.columns
        if not 0 <= section < axis.n:
            return None
        if role == _ROLE.ToolTipRole:
            return axis.label(section)
        if role != _ROLE.DisplayRole:
            return None
        text = axis.text(section) if orientation == Qt.Orientation.Vertical else ""
        return f"{axis.name} {axis.number(section)} {text}".rstrip()

    def _shape(self, parent: _Index | None) -> tuple[int, int]:
        """Rows and columns of the table; nothing is below a cell."""
        if self._sheet is None or (parent is not None and parent.isValid()):
            return 0, 0
        n_rows, n_columns = self._sheet.values.shape
        return (n_columns, n_rows) if self._is_turned() else (n_rows, n_columns)

    def _is_turned(self) -> bool:
        return self._sheet is not None and self._sheet.values.shape[0] == 1


class TensorTable(QTableView):
    """Arrows move, Enter chooses, Ctrl+C copies with all digits, Esc lets go."""

    chosen = Signal(int, int)

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__()
        self._model = TensorModel(theme)
        self.setModel(self._model)
        self.setAccessibleName("Table of the tensor")
        self.setFont(theme.mono(px=theme.small_px))
        self.setPalette(quiet_choice(theme))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setCornerButtonEnabled(False)
        self.setStyleSheet(_header_style(theme))
        metrics = QFontMetricsF(theme.mono(px=theme.small_px))
        fixed = QHeaderView.ResizeMode.Fixed
        for header, px in (
            (self.verticalHeader(), metrics.height() + 4),
            (self.horizontalHeader(), metrics.horizontalAdvance(_WIDEST) + 8),
        ):
            header.setFont(theme.mono(px=theme.small_px - 1))
            header.setMinimumSectionSize(8)
            header.setSectionResizeMode(fixed)
            header.setDefaultSectionSize(round(px))
            header.setHighlightSections(False)
        self.clicked.connect(self._choose)
        self.activated.connect(self._choose)

    def show_sheet(self, sheet: TensorSheet | None) -> None:
        """Show this; None: nothing."""
        self._model.show_sheet(sheet)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy, or let go."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() == Qt.Key.Key_Escape:
            self.clearSelection()
            self.setCurrentIndex(QModelIndex())
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """Put the chosen numbers, all digits, into the clipboard: tabs between columns."""
        sheet, chosen = self._model.sheet, self.selectedIndexes()
        if sheet is None or not chosen:
            return
        rows: dict[int, list[str]] = {}
        for index in sorted(chosen, key=lambda each: (each.row(), each.column())):
            rows.setdefault(index.row(), []).append(sheet.exact(*self._model.place(index)))
        QGuiApplication.clipboard().setText("\n".join("\t".join(row) for row in rows.values()))

    @Slot(QModelIndex)
    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(*self._model.place(index))


def _header_style(theme: Theme) -> str:
    """Headers as quiet as the labels of a canvas."""
    header = "QHeaderView::section, QHeaderView, QTableCornerButton::section"
    return (
        f"{header} {{ background: {theme.paper.name()};"
        f" color: {theme.dim.name()}; border: none; padding: 0 4px; }}"
        f"QTableView {{ gridline-color: {theme.frame.name()}; }}"
    )
