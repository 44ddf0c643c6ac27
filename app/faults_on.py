"""Which faults are on, wherever in the list they stand."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QListWidget, QListWidgetItem, QWidget

from app.plain_keys import leave_to_window
from app.theme import Theme, quiet_choice, restyle, tick_box_style

ID = Qt.ItemDataRole.UserRole
MOST_ROWS = 3
"""More than these are scrolled to."""


class FaultsOn(QWidget):
    """How many are on, and a row for each: it is looked at with a click, and unticked in its box.

    It takes no place while none is on.
    """

    looked_up = Signal(str)
    taken_off = Signal(str)

    def __init__(self, theme: Theme) -> None:
        """None is on."""
        super().__init__()
        self._count = QLabel()
        self._rows = QListWidget()
        self._rows.setAccessibleName("Faults that are on")
        self._rows.setToolTip("Click a name to see the fault in the list; untick it to take it off")
        self._rows.setFrameShape(QListWidget.Shape.NoFrame)
        self._rows.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._count, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._rows, 1)
        self.dress(theme)
        self.hide()
        self._rows.itemChanged.connect(self._take_off)
        self._rows.itemClicked.connect(self._look_up)
        self._rows.itemClicked.connect(self._leave)
        self._rows.itemActivated.connect(self._look_up)

    @property
    def words(self) -> str:
        """How many are on: "2 on"."""
        return self._count.text()

    def show_faults(self, on: Sequence[tuple[str, str]]) -> None:
        """These are on: id and title of each."""
        with QSignalBlocker(self._rows):
            self._rows.clear()
            for fault_id, title in on:
                item = QListWidgetItem(title, self._rows)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                item.setCheckState(Qt.CheckState.Checked)
                item.setData(ID, fault_id)
                item.setToolTip(f"{fault_id}\n{title}\n{self._rows.toolTip()}")
        self._count.setText(f"{len(on)} on")
        self._fit()
        self.setVisible(bool(on))

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self._theme = theme
        rows = f"QListWidget::item {{ min-height: {theme.target_px}px; }}"
        restyle(self._rows, tick_box_style(theme) + rows, quiet_choice(theme))
        self._rows.setFont(theme.sans())
        self._count.setFont(theme.sans(px=theme.small_px, is_bold=True))
        self._fit()

    def _fit(self) -> None:
        """As high as its rows, up to a few of them."""
        target_px = self._theme.target_px
        self._count.setFixedHeight(target_px)
        each = max(target_px, self._rows.sizeHintForRow(0))
        self._rows.setFixedHeight(each * min(MOST_ROWS, max(1, self._rows.count())))

    @Slot(QListWidgetItem)
    def _take_off(self, item: QListWidgetItem) -> None:
        self.taken_off.emit(item.data(ID))

    @Slot()
    def _leave(self) -> None:
        leave_to_window(self._rows)

    @Slot(QListWidgetItem)
    def _look_up(self, item: QListWidgetItem) -> None:
        self.looked_up.emit(item.data(ID))
