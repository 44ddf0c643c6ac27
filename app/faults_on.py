"""Which faults are on, wherever in the list they stand."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListView,
    QListWidget,
    QListWidgetItem,
    QWidget,
)

from app.plain_keys import leave_to_window
from app.theme import Theme, quiet_choice, restyle, tick_box_style

ID = Qt.ItemDataRole.UserRole
MOST_LINES = 4
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
        self._rows.setWordWrap(True)
        self._rows.setTextElideMode(Qt.TextElideMode.ElideNone)
        self._rows.setResizeMode(QListView.ResizeMode.Adjust)
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrower row needs more lines for its title."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as its rows, up to a few lines of them."""
        target_px = self._theme.target_px
        self._count.setFixedHeight(target_px)
        layout = self.layout()
        if layout is not None:
            layout.activate()  # the width of the rows, before their heights
        self._rows.doItemsLayout()
        items = [self._rows.item(row) for row in range(self._rows.count())]
        # What Qt (6.11) says of the height of a row is that of one line.
        heights = [self._rows.visualItemRect(item).height() for item in items]
        first_px, all_px = max([target_px, *heights[:1]]), sum(heights)
        self._rows.setFixedHeight(max(first_px, min(all_px, MOST_LINES * target_px)))

    @Slot(QListWidgetItem)
    def _take_off(self, item: QListWidgetItem) -> None:
        self.taken_off.emit(item.data(ID))

    @Slot()
    def _leave(self) -> None:
        leave_to_window(self._rows)

    @Slot(QListWidgetItem)
    def _look_up(self, item: QListWidgetItem) -> None:
        self.looked_up.emit(item.data(ID))
