"""A window with the real engine, and the hands of a person who uses it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QStyle,
    QStyleOptionViewItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.backend import TorchBackend
from app.docks.dock import ReadoutDock
from app.docks.registry import DOCKS
from app.draft import Draft
from app.first_run import FirstRun
from app.main_window import MainWindow
from app.plain_keys import PlainKeys
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import LIGHT, Theme

PATIENCE_MS = 20_000
USUAL_SIZE = (1440, 900)
ENDLESS = Draft("tiny-learned", "The kit", capacity=64)
"""A run of random weights, which never ends its text."""
Kind = TypeVar("Kind", bound=QWidget)


class Backends:
    """Gives every window the same backend, so that the model is loaded once."""

    def __init__(self) -> None:
        self._made: TorchBackend | None = None

    def __call__(self) -> TorchBackend:
        if self._made is None:
            self._made = TorchBackend()
        return self._made


backends = Backends()


class Desk:
    """A window and the hands that use it."""

    def __init__(
        self,
        qapp: QApplication,
        path: Path,
        first: Draft | FirstRun,
        *,
        size: tuple[int, int] = USUAL_SIZE,
        theme: Theme = LIGHT,
    ) -> None:
        self.preferences = Preferences(path)
        self.preferences.theme = theme.name
        draft = first.draft if isinstance(first, FirstRun) else first
        self.control = RunControl(backends, draft)
        self.window = MainWindow(self.control, DOCKS, theme, self.preferences)
        PlainKeys(qapp, self.window)
        self.window.resize(*size)
        self._qtbot: QtBot | None = None

    @property
    def qtbot(self) -> QtBot:
        """The one of the test that sits at the desk."""
        assert self._qtbot is not None
        return self._qtbot

    def sit(self, qtbot: QtBot) -> "Desk":
        """Another test takes the desk."""
        self._qtbot = qtbot
        if self.window.isVisible():
            self._come_to_the_front()
        return self

    def _come_to_the_front(self) -> None:
        """Keys go to the window that is in front: after another one was closed, to none."""
        self.window.activateWindow()
        self.qtbot.waitUntil(self.window.isActiveWindow)

    def open(self, first: Draft | FirstRun, n_records: int | None) -> None:
        """Show the window, and wait for the first run."""
        self.window.show()
        self._come_to_the_front()
        if isinstance(first, FirstRun):
            self.control.show_recorded(first.draft, first.held)
            self.do(self.control.take_over)
        else:
            self.do(lambda: self.control.begin(n_records, "newest", None))

    def begin_anew(self, draft: Draft, n_records: int | None) -> None:
        """Another run, as if the window had been opened on it."""
        self.control.draft_loaded.emit(draft)
        self.do(lambda: self.control.run(draft, n_records, "newest", None))

    def leave(self) -> None:
        """Close the window and end its thread."""
        self.window.close()
        assert self.control.close(PATIENCE_MS)

    # Acting and waiting.

    def do(self, act: Callable[[], object]) -> None:
        """Act, and wait until everything that was asked for is shown."""
        with self.qtbot.waitSignal(self.window.settled, timeout=PATIENCE_MS):
            act()

    def edit(self, act: Callable[[], object]) -> None:
        """Change the form, and wait until the run that follows is shown."""
        with self.qtbot.waitSignals(
            [self.window.setup.edited, self.control.rested, self.window.settled],
            timeout=PATIENCE_MS,
            order="none",
        ):
            act()

    def press(self, key: Qt.Key) -> None:
        self.do(lambda: self.qtbot.keyClick(self.window, key))

    def act(self, action: str) -> None:
        """A command of the menu, and all that follows."""
        self.do(self.window.actions_by_id.actions[action].trigger)

    def tick(self, fault_id: str) -> None:
        """Click the box of a fault, where it is seen."""
        at = self.place_of_box(fault_id)
        listed = self.faults_list
        self.do(lambda: self.qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=at))

    # Finding.

    @property
    def faults_list(self) -> QListWidget:
        return self.the(QListWidget, self.window.faults)

    def row_of(self, fault_id: str) -> QListWidgetItem:
        listed = self.faults_list
        items = [listed.item(row) for row in range(listed.count())]
        return next(found for found in items if found.toolTip().startswith(fault_id + "\n"))

    def place_of_box(self, fault_id: str) -> QPoint:
        """The middle of the tick box, brought into sight."""
        listed, item = self.faults_list, self.row_of(fault_id)
        listed.scrollToItem(item)
        option = QStyleOptionViewItem()
        option.initFrom(listed)
        option.rect = listed.visualItemRect(item)
        option.features |= QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
        part = QStyle.SubElement.SE_ItemViewItemCheckIndicator
        box: QRect = listed.style().subElementRect(part, option, listed)
        return box.center()

    def the(self, kind: type[Kind], inside: QWidget) -> Kind:
        found = inside.findChild(kind)
        assert found is not None
        return found

    def field(self, kind: type[Kind], name: str) -> Kind:
        """A control of the form by its name."""
        found = self.window.setup.findChildren(kind)
        return next(field for field in found if field.accessibleName() == name)

    def content(self, dock_id: str) -> Any:
        """What a dock shows."""
        dock = self.window.dock(dock_id)
        assert isinstance(dock, ReadoutDock)
        return dock.content

    def sentence_label(self, dock_id: str) -> QLabel:
        """The words that stand under a canvas, as they can be read there."""
        content = self.content(dock_id)
        return next(label for label in content.findChildren(QLabel) if label.wordWrap())

    def offers(self) -> dict[str, QPushButton]:
        """The buttons of the message, by their words."""
        buttons = self.window.message_bar.findChildren(QPushButton)
        return {b.text(): b for b in buttons if b.isVisible()}

    @property
    def step(self) -> int:
        return self.control.cursor.selection.step

    @property
    def line(self) -> str:
        return self.window.step_bar.text

    @property
    def errors(self) -> list[str]:
        labels = (*self.window.setup.error_labels(), *self.window.faults.findChildren(QLabel))
        framed = [label for label in labels if "border-left-width" in label.styleSheet()]
        return [label.text() for label in framed if label.isVisible()]
