"""What a view draws, as a table: for screen readers, and for whoever wants the numbers."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QDialog, QTableView, QVBoxLayout, QWidget

from app.theme import Theme

_SIZE = (640, 360)
_MOST_FITTED = 40
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True, eq=False)
class TableData:
    """A table of words.

    Attributes:
        title: what it shows.
        columns: their names.
        rows: their names.
        cell: the words at a row and a column; asked only for what is in sight.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cell: Callable[[int, int], str]


class _Model(QAbstractTableModel):
    def __init__(self, data: TableData) -> None:
        super().__init__()
        self._data = data

    def show_data(self, data: TableData) -> None:
        self.beginResetModel()
        self._data = data
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008, N802  (Qt's own)
        return 0 if parent.isValid() else len(self._data.rows)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008, N802  (Qt's own)
        return 0 if parent.isValid() else len(self._data.columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> str | None:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._data.cell(index.row(), index.column())

    def headerData(  # noqa: N802  (Qt's own)
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> str | None:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        is_column = orientation == Qt.Orientation.Horizontal
        return (self._data.columns if is_column else self._data.rows)[section]


class DataTable(QDialog):
    """A window that blocks nothing; Escape closes it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        """Empty at first."""
        super().__init__(parent)
        self.setModal(False)
        self._model = _Model(TableData("", (), (), lambda row, column: ""))
        self._view = QTableView()
        self._view.setModel(self._model)
        self._view.setFont(theme.mono())
        self._view.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self._view.horizontalHeader().setFont(theme.mono(px=theme.small_px))
        self._view.verticalHeader().setFont(theme.sans(px=theme.small_px))
        self._view.setAlternatingRowColors(True)
        self._view.horizontalHeader().setResizeContentsPrecision(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._view)
        self.setFocusProxy(self._view)
        self.resize(*_SIZE)

    def show_data(self, data: TableData) -> None:
        """Show these words."""
        self.setWindowTitle(data.title)
        self._view.setAccessibleName(data.title)
        self._model.show_data(data)
        if len(data.columns) <= _MOST_FITTED:  # each asks for the words of every row in sight
            self._view.resizeColumnsToContents()
