"""The list of faults to switch on.

More than 300 lines: the ticks, what they stand for and the search are about the same rows.
"""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPoint, QRect, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from app.faults_on import FaultsOn
from app.plain_keys import leave_to_window
from app.theme import Theme, complaint_style, quiet_choice, restyle, tick_box_style
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.families import FAMILIES, FAMOUS, OTHERS, family_of
from core.faults.fault import Fault
from core.faults.known import LoadedFault

ID = Qt.ItemDataRole.UserRole
TEXT = Qt.ItemDataRole.UserRole + 1
INNER = Qt.ItemDataRole.UserRole + 2
COMBINATION_WORDS = {
    "both-bugs": "Both bugs at once",
    "interview-class": "The interview's cache class",
}
TIER_WORDS = {"A": "Met most often", "B": "Met less often"}
FIRST = "Start here"
COMBINED = "Together"
OWN = "Your own"
LOAD = "Load fault…"
_HEADING_PX, _ENDLESS_PX = 20, 9999
_LEAST_TARGETS, _LOW_TARGETS = 6, 10
"""Least height, and below which there is little room, in targets of a click."""
_Told = tuple[str, str, str]
"""Id, title and symptom."""
_Section = tuple[str, list[_Told]]
"""Inner heading, or none, and the faults below it."""
FROM_HERE = "From this step on"


class FaultsPanel(QWidget):
    """Ticks are told as the ids that are on; a combination ticks its members."""

    ticked = Signal(object)
    scenario_wanted = Signal(str)
    from_here_wanted = Signal(str)
    load_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        """All off."""
        super().__init__()
        self._search = QLineEdit()
        self._search.setPlaceholderText("Search faults")
        self._search.setAccessibleName("Search faults")
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._is_ticked = False
        self._theme = theme
        self._above, self._below = QHBoxLayout(), QHBoxLayout()
        self._list = self._make_list()
        self._on = FaultsOn(theme)
        self._on.looked_up.connect(self._look_up)
        # Queued: the row that tells it goes away with it.
        self._on.taken_off.connect(self._take_off, Qt.ConnectionType.QueuedConnection)
        self._items: dict[str, QListWidgetItem] = {}
        self._groups: list[tuple[QListWidgetItem, list[QListWidgetItem]]] = []
        for title, sections in _chapters():
            self._add_chapter(title, sections)
        self._own: tuple[str, ...] = ()
        self._about = QLabel()
        self._about.setWordWrap(True)
        self._error = QLabel()
        self._error.setWordWrap(True)
        self._error.hide()
        self._load = QPushButton("Show it")
        self._load.setToolTip("Load the scenario that shows this fault")
        self._load.clicked.connect(self._want_scenario)
        self._lay_out()
        self.dress(theme)
        self._list.itemPressed.connect(self._on_press)
        self._list.itemChanged.connect(self._on_tick)
        self._list.itemClicked.connect(self._on_click)
        self._list.currentItemChanged.connect(self._show_current)
        self._list.customContextMenuRequested.connect(self._open_menu)
        self._list.setCurrentItem(next(iter(self._items.values())))

    @property
    def ids(self) -> tuple[str, ...]:
        """Faults that are on, in the order of the list."""
        return tuple(fault_id for fault_id in self._single if self._is_on(fault_id))

    @property
    def _single(self) -> tuple[str, ...]:
        """All but the combinations, in the order of the list."""
        return (*(fault.id for fault in FAULTS), *self._own)

    def show_own(self, faults: Sequence[LoadedFault]) -> None:
        """List these below the program's, in place of those from files that were listed before."""
        told = [(f.id, f.title, f.symptom or f"from {f.path.name}") for f in faults]
        on = self.ids
        with QSignalBlocker(self._list):
            if self._own:
                heading, items = self._groups.pop()
                for item in (heading, *items):
                    self._list.takeItem(self._list.row(item))
            for fault_id in self._own:
                del self._items[fault_id]
            self._own = tuple(fault_id for fault_id, _, _ in told)
            self._add_chapter(OWN, [("", told)])
            for fault_id in self._own:
                self._tick(fault_id, is_on=fault_id in on)
        self._tell_on()
        self.dress(self._theme)
        self._filter(self._search.text())
        self._list.setCurrentItem(self._items[self._own[-1]])

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self._theme = theme
        rows = f"QListWidget::item {{ min-height: {theme.target_px}px; }}"
        restyle(self._list, tick_box_style(theme) + rows, quiet_choice(theme))
        self._list.setFont(theme.sans())
        self._on.dress(theme)
        self._about.setFont(theme.sans(px=theme.small_px))
        restyle(self._error, complaint_style(theme))
        with QSignalBlocker(self._list):
            for heading, _ in self._groups:
                is_inner = bool(heading.data(INNER))
                heading.setFont(theme.sans(px=theme.small_px, is_bold=not is_inner))
                heading.setForeground(theme.dim if is_inner else theme.text)
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(*(theme.margin_px,) * 4)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The fault that is looked at stays in sight."""
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """Only now its parts have their widths."""
        super().showEvent(event)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        """The same for every fault, so that the panels beside it do not move."""
        return QSize(super().minimumSizeHint().width(), _LEAST_TARGETS * self._theme.target_px)

    def _fit(self) -> None:
        """Headings and the symptom have the lines that they need in this width."""
        self._place_button()
        layout = self.layout()
        if layout is not None:
            layout.activate()
        # Twice the margin of Qt's item views, at both sides of a text.
        style, margin = self._list.style(), QStyle.PixelMetric.PM_FocusFrameHMargin
        inset_px = 2 * (style.pixelMetric(margin, None, self._list) + 1)
        room = QRect(0, 0, self._list.viewport().width() - inset_px, _ENDLESS_PX)
        with QSignalBlocker(self._list):
            for heading, _ in self._groups:
                metrics = QFontMetrics(heading.font())
                words = metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, heading.text())
                spare_px = self._theme.px(_HEADING_PX) - metrics.lineSpacing()
                heading.setSizeHint(QSize(0, words.height() + max(0, spare_px)))
        self._fit_about()

    def _fit_about(self) -> None:
        needed_px = self._about.heightForWidth(self._about.width())  # none of no words: −1
        self._about.setMinimumHeight(max(0, needed_px))
        layout, item = self.layout(), self._list.currentItem()
        if layout is not None and item is not None:
            layout.activate()  # the list has another height: the row stays in sight
            self._list.scrollToItem(item)

    def show_faults(self, ids: tuple[str, ...]) -> None:
        """Tick these; it does not answer. A combination stands for its members."""
        members = {member for fault_id in ids for member in COMBINATIONS.get(fault_id, (fault_id,))}
        with QSignalBlocker(self._list):
            for fault_id in self._single:
                self._tick(fault_id, is_on=fault_id in members)
            self._tick_combinations()
        self._tell_on()
        if ids and ids[0] in self._items:  # one from a file may be listed no more
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

    def menu_of(self, fault_id: str) -> QMenu:
        """What can be done with a fault beside ticking it."""
        menu = self._menu()
        show = menu.addAction("Show it", lambda: self.scenario_wanted.emit(fault_id))
        show.setToolTip("Load the scenario that shows this fault")
        if fault_id not in COMBINATIONS:
            branch = menu.addAction(FROM_HERE, lambda: self.from_here_wanted.emit(fault_id))
            branch.setToolTip("Keep the steps before the one looked at; the fault acts from it on")
        return menu

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        return menu

    def _make_list(self) -> QListWidget:
        made = QListWidget()
        made.setAccessibleName("Faults")
        made.setWordWrap(True)
        made.setResizeMode(QListView.ResizeMode.Adjust)
        made.setTextElideMode(Qt.TextElideMode.ElideNone)
        made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        made.setMinimumHeight(1)  # words come first where there is little room
        made.setSpacing(0)
        made.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        return made

    def _add_chapter(self, title: str, sections: Sequence[_Section]) -> None:
        """A heading, and below it faults under headings of their own, or under none."""
        heading, below = self._add_heading(title, is_inner=False), list[QListWidgetItem]()
        for name, faults in sections:
            inner = self._add_heading(name, is_inner=True) if name else None
            items = [self._add_item(*fault) for fault in faults]
            if inner is not None:
                self._groups.append((inner, items))
            below += items
        self._groups.append((heading, below))

    def _add_heading(self, words: str, *, is_inner: bool) -> QListWidgetItem:
        heading = QListWidgetItem(words, self._list)
        heading.setFlags(Qt.ItemFlag.NoItemFlags)
        heading.setData(INNER, is_inner)
        return heading

    def _add_item(self, fault_id: str, title: str, about: str) -> QListWidgetItem:
        item = QListWidgetItem(title, self._list)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Unchecked)
        item.setData(ID, fault_id)
        item.setData(TEXT, about)
        item.setToolTip(f"{fault_id}\n{title}\n{about}")
        self._items[fault_id] = item
        return item

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setSpacing(4)
        self._above.addWidget(self._search, 1)
        column.addLayout(self._above)
        column.addWidget(self._on)
        column.addWidget(self._list, 1)
        column.addWidget(self._error)
        self._below.addWidget(self._about, 1)
        column.addLayout(self._below)
        self._place_button()

    def _place_button(self) -> None:
        """Beside the symptom, or where that needs the width, beside the search."""
        is_low = self.height() < _LOW_TARGETS * self._theme.target_px
        row, other = (self._above, self._below) if is_low else (self._below, self._above)
        if row.indexOf(self._load) < 0:
            other.removeWidget(self._load)
            row.addWidget(self._load, 0, Qt.AlignmentFlag.AlignTop)

    def _is_on(self, fault_id: str) -> bool:
        return self._items[fault_id].checkState() == Qt.CheckState.Checked

    def _tick(self, fault_id: str, *, is_on: bool) -> None:
        state = Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
        self._items[fault_id].setCheckState(state)

    def _tick_combinations(self) -> None:
        for fault_id, members in COMBINATIONS.items():
            self._tick(fault_id, is_on=all(self._is_on(member) for member in members))

    @Slot()
    def _on_press(self) -> None:
        self._is_ticked = False

    @Slot()
    def _on_click(self) -> None:
        """A click that ticked is done; one on a name leaves the list the keys to go on with."""
        if self._is_ticked:
            leave_to_window(self._list)

    @Slot(QListWidgetItem)
    def _on_tick(self, item: QListWidgetItem) -> None:
        self._is_ticked = True
        fault_id: str = item.data(ID)
        with QSignalBlocker(self._list):
            for member in COMBINATIONS.get(fault_id, ()):
                self._tick(member, is_on=self._is_on(fault_id))
            self._tick_combinations()
        self._list.setCurrentItem(item)
        self.clear_error()
        self._tell_on()
        self.ticked.emit(self.ids)

    def _tell_on(self) -> None:
        """Those that are on stand above the list, as they may be out of sight in it."""
        self._on.show_faults([(i, self._items[i].text()) for i in self.ids])
        self._fit_about()

    @Slot(str)
    def _look_up(self, fault_id: str) -> None:
        """Bring a fault into sight; a search that hides it is over."""
        item = self._items[fault_id]
        if item.isHidden():
            self._search.clear()
        self._list.setCurrentItem(item)
        self._list.scrollToItem(item)

    @Slot(str)
    def _take_off(self, fault_id: str) -> None:
        self._items[fault_id].setCheckState(Qt.CheckState.Unchecked)

    @Slot(str)
    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for heading, items in self._groups:
            for item in items:
                searched = item.toolTip().casefold()
                item.setHidden(not all(word in searched for word in words))
            heading.setHidden(all(item.isHidden() for item in items))
        self._choose_a_match()

    def _choose_a_match(self) -> None:
        """What is chosen is in sight: "Show it" is about the row that is looked at."""
        current = self._list.currentItem()
        if current is None or current.isHidden():
            items = [item for _, group in self._groups for item in group]
            rows = [self._list.row(item) for item in items if not item.isHidden()]
            self._list.setCurrentRow(min(rows, default=-1))

    @Slot()
    def _show_current(self) -> None:
        item = self._list.currentItem()
        self._about.setText(f"{item.data(ID)}: {item.data(TEXT)}" if item else "")
        self._fit_about()
        self._load.setEnabled(item is not None)

    @Slot()
    def _want_scenario(self) -> None:
        item = self._list.currentItem()
        if item is not None:
            self.scenario_wanted.emit(item.data(ID))

    @Slot(QPoint)
    def _open_menu(self, at: QPoint) -> None:
        item = self._list.itemAt(at)
        fault_id = None if item is None else item.data(ID)
        menu = self._menu() if fault_id is None else self.menu_of(fault_id)
        load = menu.addAction(LOAD, self.load_wanted.emit)
        load.setToolTip("Run a file of Python of your own, and list its faults")
        menu.popup(self._list.viewport().mapToGlobal(at))


def _chapters() -> Iterator[tuple[str, list[_Section]]]:
    """Heading, then what stands below it: inner heading, and the faults under it."""
    by_id = {fault.id: fault for fault in FAULTS}
    yield FIRST, [("", [_told(by_id[fault_id]) for fault_id in FAMOUS])]
    others = [fault for fault in FAULTS if fault.id not in FAMOUS]
    for tier, words in TIER_WORDS.items():
        told: dict[str, list[_Told]] = {name: [] for name in (*FAMILIES.values(), OTHERS)}
        for fault in others:
            if fault.tier == tier:
                told[family_of(fault.id)].append(_told(fault))
        yield words, [(name, faults) for name, faults in told.items() if faults]
    named = COMBINATION_WORDS
    made = [(i, named.get(i, i), " + ".join(ids)) for i, ids in COMBINATIONS.items()]
    yield COMBINED, [("", made)]


def _told(fault: Fault) -> _Told:
    return fault.id, fault.title, fault.symptom
