"""The list of faults to switch on."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QListView,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme
from core.faults.catalog import COMBINATIONS, FAULTS

ID = Qt.ItemDataRole.UserRole
TEXT = Qt.ItemDataRole.UserRole + 1
COMBINATION_WORDS = {
    "both-bugs": "Both: positions restart, mask from row 0",
    "interview-class": "The interview's cache class: three at once",
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
        self._items = {id: self._add(id, *words) for id, words in _all_words().items()}
        self._about = QLabel()
        self._about.setWordWrap(True)
        self._about.setFont(theme.sans(px=theme.small_px))
        self._error = QLabel()
        self._error.setWordWrap(True)
        self._error.setStyleSheet(f"border-left: 3px solid {theme.text.name()}; padding-left: 6px;")
        self._error.hide()
        self._load = QPushButton("Load the scenario that shows it")
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
        members = {member for id in ids for member in COMBINATIONS.get(id, (id,))}
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
        return made

    def _add(self, id: str, title: str, about: str) -> QListWidgetItem:
        item = QListWidgetItem(title, self._list)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Unchecked)
        item.setData(ID, id)
        item.setData(TEXT, about)
        item.setToolTip(f"{id}\n{title}\n{about}")
        return item

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self._theme.margin_px,) * 4)
        column.setSpacing(4)
        column.addWidget(self._search)
        column.addWidget(self._list, 1)
        column.addWidget(self._error)
        column.addWidget(self._about)
        column.addWidget(self._load)

    def _is_on(self, id: str) -> bool:
        return self._items[id].checkState() == Qt.CheckState.Checked

    def _tick(self, id: str, *, is_on: bool) -> None:
        state = Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
        self._items[id].setCheckState(state)

    def _tick_combinations(self) -> None:
        for id, members in COMBINATIONS.items():
            self._tick(id, is_on=all(self._is_on(member) for member in members))

    @Slot(QListWidgetItem)
    def _on_tick(self, item: QListWidgetItem) -> None:
        id: str = item.data(ID)
        with QSignalBlocker(self._list):
            for member in COMBINATIONS.get(id, ()):
                self._tick(member, is_on=self._is_on(id))
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
    for id, members in COMBINATIONS.items():
        words[id] = (COMBINATION_WORDS.get(id, id), " + ".join(members))
    return words
