"""The cells of a matrix for a table: a row for each fault, a column for each model and policy."""

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from app.matrix_measures import MEASURES, Measure, sentence_of, share_of, signs_of
from app.theme import Theme
from core.matrix_cell import Cell
from core.matrix_file import MatrixFile

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_DEEPEST = 0.5
"""Share of the alarm colour in the deepest shade: letters on it can still be read."""
_CENTRE = Qt.AlignmentFlag.AlignCenter


class MatrixModel(QAbstractTableModel):
    """Shows one measure at a time.

    Attributes:
        theme: the colours.
        has_small_letters: whether cells are narrow.
    """

    def __init__(self, theme: Theme) -> None:
        """Empty at first."""
        super().__init__()
        self.theme = theme
        self.has_small_letters = False
        self._measure = MEASURES[0]
        self._rows: list[str] = []
        self._columns: list[tuple[str, str]] = []
        self._cells: dict[tuple[str, str, str], Cell] = {}

    def show_file(self, file: MatrixFile) -> None:
        """Take other cells."""
        self.beginResetModel()
        self._rows = list(dict.fromkeys(cell.fault for cell in file.cells))
        self._columns = list(dict.fromkeys((cell.model, cell.policy) for cell in file.cells))
        self._cells = {(cell.fault, cell.model, cell.policy): cell for cell in file.cells}
        self.endResetModel()

    def show_measure(self, measure: Measure) -> None:
        """Show another number of each cell."""
        self._measure = measure
        self._renew()

    def dress(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self._renew()

    def begins_model(self, column: int) -> bool:
        """Whether the column is the first of another model than the one before it."""
        return column > 0 and self._columns[column][0] != self._columns[column - 1][0]

    def cell_at(self, index: Index) -> Cell | None:
        """The cell of a place; None: it was not measured."""
        if not index.isValid():
            return None
        model, policy = self._columns[index.column()]
        return self._cells.get((self._rows[index.row()], model, policy))

    def sentence_at(self, index: Index) -> str:
        """What a place says, in words."""
        if not index.isValid():
            return ""
        cell = self.cell_at(index)
        if cell is not None:
            return sentence_of(cell)
        model, policy = self._columns[index.column()]
        return f"{self._rows[index.row()]}, {model}, {policy}: not measured"

    # What Qt asks.

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802  (a name of Qt)
        """Faults."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802  (a name of Qt)
        """Models and policies."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """What a place shows."""
        cell = self.cell_at(index)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return "" if cell is None else signs_of(self._measure, cell)
            case Qt.ItemDataRole.BackgroundRole:
                return self._ground(cell)
            case Qt.ItemDataRole.ForegroundRole:
                return self.theme.text if self._share(cell) else self.theme.dim
            case Qt.ItemDataRole.FontRole:
                theme = self.theme
                return theme.sans(px=theme.small_px if self.has_small_letters else theme.sans_px)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _CENTRE
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleTextRole:
                return self.sentence_at(index)
            case _:
                return None

    def headerData(  # noqa: N802  (a name of Qt)
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """A fault's id, or a model over a policy."""
        is_row = orientation == Qt.Orientation.Vertical
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._rows[section] if is_row else "\n".join(self._columns[section])
            case Qt.ItemDataRole.FontRole:
                return self.theme.sans(px=self.theme.small_px) if not is_row else QFont()
            case Qt.ItemDataRole.TextAlignmentRole:
                return None if is_row else _CENTRE
            case _:
                return None

    def _share(self, cell: Cell | None) -> float:
        return 0.0 if cell is None else share_of(self._measure, cell)

    def _ground(self, cell: Cell | None) -> QColor:
        return self.theme.mixed(self.theme.alarm, _DEEPEST * self._share(cell))

    def _renew(self) -> None:
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, max(0, len(self._columns) - 1))
        if self._rows:
            last = self.index(len(self._rows) - 1, len(self._columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
