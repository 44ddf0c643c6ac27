"""The list of faults to switch on."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme, complaint_style, quiet_choice, tick_box_style
from core.faults.catalog import COMBINATIONS, FAULTS

ID = Qt.ItemDataRole.UserRole
TEXT = Qt.ItemDataRole.UserRole + 1
COMBINATION_WORDS = {
    "both-bugs": "Both bugs at once",
    "interview-class": "The interview's cache class",
}


class FaultsPanel(QWidget):
    """Ticks are told as the ids that are on; a combination ticks its members."""

    ticked = Signal(object)
    scenario_wanted = Signal(str)

    def __init__(self, theme: Theme) -> None:
        """All off."""
        super().__init__()
        self._theme = theme
        self._search = QLineEdit()
        self._search.setPlaceholderText("Search faults")
        self._search.setAccessibleName("Search faults")
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._list = self._make_list()
        self._items = {
            fault_id: self._add(fault_id, *words) for fault_id, words in _all_words().items()
        }
        self._about = QLabel()
        self._about.setWordWrap(True)
        self._about.setFont(theme.sans(px=theme.small_px))
        self._error = QLabel()
        self._error.setWordWrap(True)
        self._error.setStyleSheet(complaint_style(theme))
        self._error.hide()
        self._load = QPushButton("Show it")
        self._load.setToolTip("Load the scenario that shows this fault")
        self._load.clicked.connect(self._want_scenario)
        self._lay_out()
        self._list.itemChanged.connect(self._on_tick)
        self._list.currentItemChanged.connect(self._show_current)
        self._list.setCurrentRow(0)

    @property
    def ids(self) -> tuple[str, ...]:
        """Faults that are on, in the order of the list."""
        return tuple(fault.id for fault in FAULTS if self._is_on(fault.id))

    def show_faults(self, ids: tuple[str, ...]) -> None:
        """Tick these; it does not answer. A combination stands for its members."""
        members = {member for fault_id in ids for member in COMBINATIONS.get(fault_id, (fault_id,))}
        with QSignalBlocker(self._list):
            for fault in FAULTS:
                self._tick(fault.id, is_on=fault.id in members)
            self._tick_combinations()
        if ids:
            self._list.setCurrentItem(self._items[ids[0]])

    def show_error(self, message: str) -> None:
        """Show why the ticked faults cannot be switched on together."""
        self._error.setText(message)
        self._error.show()

    @Slot()
    def clear_error(self) -> None:
        """The faults are used: nothing is wrong with them."""
        self._error.clear()
        self._error.hide()

    def _make_list(self) -> QListWidget:
        made = QListWidget()
        made.setAccessibleName("Faults")
        made.setWordWrap(True)
        made.setResizeMode(QListView.ResizeMode.Adjust)
        made.setTextElideMode(Qt.TextElideMode.ElideNone)
        made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        made.setSpacing(1)
        made.setPalette(quiet_choice(self._theme))
        made.setStyleSheet(tick_box_style(self._theme))
        return made

    def _add(self, fault_id: str, title: str, about: str) -> QListWidgetItem:
        item = QListWidgetItem(title, self._list)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Unchecked)
        item.setData(ID, fault_id)
        item.setData(TEXT, about)
        item.setToolTip(f"{fault_id}\n{title}\n{about}")
        return item

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self._theme.margin_px,) * 4)
        column.setSpacing(4)
        column.addWidget(self._search)
        column.addWidget(self._list, 1)
        column.addWidget(self._error)
        row = QHBoxLayout()
        row.addWidget(self._about, 1)
        row.addWidget(self._load, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(row)

    def _is_on(self, fault_id: str) -> bool:
        return self._items[fault_id].checkState() == Qt.CheckState.Checked

    def _tick(self, fault_id: str, *, is_on: bool) -> None:
        state = Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
        self._items[fault_id].setCheckState(state)

    def _tick_combinations(self) -> None:
        for fault_id, members in COMBINATIONS.items():
            self._tick(fault_id, is_on=all(self._is_on(member) for member in members))

    @Slot(QListWidgetItem)
    def _on_tick(self, item: QListWidgetItem) -> None:
        fault_id: str = item.data(ID)
        with QSignalBlocker(self._list):
            for member in COMBINATIONS.get(fault_id, ()):
                self._tick(member, is_on=self._is_on(fault_id))
            self._tick_combinations()
        self._list.setCurrentItem(item)
        self.clear_error()
        self.ticked.emit(self.ids)

    @Slot(str)
    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for item in self._items.values():
            searched = item.toolTip().casefold()
            item.setHidden(not all(word in searched for word in words))

    @Slot()
    def _show_current(self) -> None:
        item = self._list.currentItem()
        self._about.setText(f"{item.data(ID)}: {item.data(TEXT)}" if item else "")
        self._load.setEnabled(item is not None)

    @Slot()
    def _want_scenario(self) -> None:
        item = self._list.currentItem()
        if item is not None:
            self.scenario_wanted.emit(item.data(ID))


def _all_words() -> dict[str, tuple[str, str]]:
    """Title and symptom of every fault and combination, by id."""
    words = {fault.id: (fault.title, fault.symptom) for fault in FAULTS}
    for fault_id, members in COMBINATIONS.items():
        words[fault_id] = (COMBINATION_WORDS.get(fault_id, fault_id), " + ".join(members))
    return words
