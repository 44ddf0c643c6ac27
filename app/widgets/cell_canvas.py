"""A canvas of cells in rows and columns, through which the keys move."""

from PySide6.QtCore import QPointF

from app.widgets.canvas import Hit
from app.widgets.kept_canvas import KeptCanvas


class CellCanvas(KeptCanvas):
    """Sub-classes say how many cells there are, and where."""

    def grid(self) -> tuple[int, int]:
        """Rows and columns of cells that the keyboard moves through."""
        return 0, 0

    def start(self) -> tuple[int, int]:
        """The cell at which the keyboard begins."""
        return 0, 0

    def middle(self, row: int, column: int) -> QPointF:
        """Where the middle of a cell is; it is brought into sight."""
        return QPointF()

    def at_place(self, row: int, column: int) -> Hit | None:
        """What is in a cell."""
        return self.hit(self.middle(row, column))

    def move_by(self, rows: int, columns: int) -> None:
        """Point at the next cell; the first key points at the one that is looked at."""
        n_rows, n_columns = self.grid()
        if not n_rows or not n_columns:
            return
        row, column = self.place or self.start()
        if self.place is not None:
            row, column = row + rows, column + columns
        self.place = (min(max(0, row), n_rows - 1), min(max(0, column), n_columns - 1))
        self.point_there()
