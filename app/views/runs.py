"""The runs of this sitting as a list; a click brings one back."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from app.plain_keys import leave_to_window
from app.theme import Theme, quiet_choice
from core.readouts.runs import RunLine, RunsReadout
from core.selection import Selection

COLUMNS = ("run", "steps", "first wrong", "says")
NUMBER = Qt.ItemDataRole.UserRole
SHOWN = "▸ "
_NAME, _STEPS, _WRONG, _SAYS = range(len(COLUMNS))


class RunsView(QWidget):
    """Shows a `RunsReadout`, the oldest run first.

    Signals:
        selected, pointed: never; a run is no part of a step.
        run_wanted: the number of a run that is to be looked at.
    """

    selected = Signal(object)
    pointed = Signal(object)
    run_wanted = Signal(int)

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__()
        self._theme = theme
        self._readout: RunsReadout | None = None
        self._list = self._make_list()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._list)
        self.setAccessibleName("Runs")

    def show_readout(self, readout: RunsReadout) -> None:
        """Show the runs; what is shown already stays as it is."""
        if readout == self._readout:
            return
        self._readout = readout
        with QSignalBlocker(self._list):
            self._list.clear()
            for line in readout.lines:
                item = self._item(line)
                self._list.addTopLevelItem(item)
                if line.is_shown:
                    self._list.setCurrentItem(item)

    def show_pointed(self, selection: Selection | None) -> None:
        """Nothing: no run is part of another view."""

    def clear(self) -> None:
        """There is no run."""
        self._readout = None
        self._list.clear()

    def _make_list(self) -> QTreeWidget:
        made = QTreeWidget()
        made.setAccessibleName("Runs")
        made.setColumnCount(len(COLUMNS))
        made.setHeaderLabels(COLUMNS)
        made.setRootIsDecorated(False)
        made.setUniformRowHeights(True)
        made.setFrameShape(QTreeWidget.Shape.NoFrame)
        made.setPalette(quiet_choice(self._theme))
        made.setFont(self._theme.sans(px=self._theme.small_px + 1))
        header = made.header()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_SAYS, QHeaderView.ResizeMode.Stretch)
        for column in (_STEPS, _WRONG):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        made.itemClicked.connect(self._want)
        made.itemClicked.connect(self._leave)
        made.itemActivated.connect(self._want)
        return made

    def _item(self, line: RunLine) -> QTreeWidgetItem:
        name = f"{SHOWN}{line.name}" if line.is_shown else line.name
        wrong = "none" if line.first_wrong is None else f"step {line.first_wrong}"
        item = QTreeWidgetItem([name, str(line.n_steps), wrong, line.said])
        item.setData(_NAME, NUMBER, line.number)
        item.setToolTip(_NAME, line.name)
        item.setToolTip(_SAYS, line.said)
        if line.first_wrong is not None:
            item.setForeground(_WRONG, QBrush(self._theme.alarm))
        if line.is_shown:
            item.setFont(_NAME, self._theme.sans(px=self._theme.small_px + 1, is_bold=True))
        return item

    @Slot()
    def _leave(self) -> None:
        leave_to_window(self._list)

    @Slot(QTreeWidgetItem)
    def _want(self, item: QTreeWidgetItem) -> None:
        self.run_wanted.emit(item.data(_NAME, NUMBER))
