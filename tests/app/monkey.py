"""Hands that do anything at all, in an order that a seed decides."""

import random
from collections import deque
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QTabBar,
    QTreeWidget,
    QWidget,
)
from shiboken6 import isValid

from app.docks.dock import Dock
from app.number_field import NumberField
from app.widgets.canvas import Canvas
from core.faults.catalog import COMBINATIONS, FAULTS
from tests.app.desk import Desk

Key, Button = Qt.Key, Qt.MouseButton
SIZES = ((1024, 640), (1280, 800), (1366, 768), (1440, 900), (1920, 1080))
KEYS = (
    *(Key.Key_F10, Key.Key_F5, Key.Key_F8, Key.Key_Left, Key.Key_Right, Key.Key_Up, Key.Key_Down),
    *(Key.Key_Home, Key.Key_End, Key.Key_Space, Key.Key_Return, Key.Key_Escape, Key.Key_Tab),
    *(Key.Key_T, Key.Key_J, Key.Key_L, Key.Key_K, Key.Key_5, Key.Key_Period, Key.Key_PageDown),
)
PROMPTS = (
    "Mia outside. Sam inside. Where",
    "",
    "a",
    "the kit",
    "Tom is in the park. " * 3,
    "日本 \t",
)
MODELS = ("learned", "rope", "alibi", "tiny-learned", "tiny-rope", "/nowhere", "")
KEPT_OUT = ("quit", "stop")
WORDS = ("row 0", "cap", "zzz", "")
N_TOLD = 15


class Monkey:
    """Acts on a window, and remembers what it did last."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.seed = seed
        self._desk = desk
        self._window = desk.window
        self._chance = random.Random(seed)
        self._done: deque[str] = deque(maxlen=N_TOLD)
        self.n_done = 0
        self._habits: dict[Callable[[], str], int] = {
            self._press_a_key: 22,
            self._click_a_canvas: 20,
            self._click_a_control: 12,
            self._turn_the_wheel: 4,
            self._tick_a_fault: 8,
            self._branch_or_load: 3,
            self._set_something: 10,
            self._take_a_command: 10,
            self._move_a_dock: 4,
            self._resize: 2,
            self._play: 3,
            self._search: 2,
        }

    @property
    def account(self) -> str:
        """The seed, and what was done last, the newest at the end."""
        last = "\n  ".join(self._done)
        return f"seed {self.seed}, after {self.n_done} acts, the last ones:\n  {last}"

    def act(self) -> None:
        """Do one thing, and let the window answer."""
        kinds, weights = list(self._habits), list(self._habits.values())
        habit = self._chance.choices(kinds, weights)[0]
        self._done.append(f"{habit.__name__.strip('_')}: …")
        self._done[-1] = f"{habit.__name__.strip('_')}: {habit()}"
        self.n_done += 1
        QApplication.processEvents()
        self._leave_what_opened()

    # Habits.

    def _press_a_key(self) -> str:
        key = self._chance.choice(KEYS)
        target = QApplication.focusWidget() or self._window
        QTest.keyClick(target, key)
        return f"{key.name} on {_name(target)}"

    def _click_a_canvas(self) -> str:
        seen = [c for c in self._window.findChildren(Canvas) if not c.visibleRegion().isEmpty()]
        return self._click(self._chance.choice(seen)) if seen else "none"

    def _click_a_control(self) -> str:
        kinds = (QAbstractButton, QComboBox, QTabBar, QSlider, QTreeWidget, QAbstractItemView)
        kind = self._chance.choice(kinds)
        seen = [w for w in self._window.findChildren(kind) if not w.visibleRegion().isEmpty()]
        if not seen:
            return "none"
        found = self._chance.choice(seen)
        return self._click(found.viewport() if isinstance(found, QAbstractItemView) else found)

    def _click(self, widget: QWidget) -> str:
        at = self._place_in(widget)
        how = self._chance.choice(("move", "click", "click", "click", "double", "right"))
        name = _name(widget)
        self._let_panels_settle()
        if not isValid(widget):
            return f"{how} at {at.x()}, {at.y()} of {name}, which had gone"
        QTest.mouseMove(widget, at)
        if not isValid(widget):  # a tab bar of docks goes when the move lets Qt lay them out anew
            return f"move at {at.x()}, {at.y()} of {name}, which went"
        if how == "click":
            QTest.mouseClick(widget, Button.LeftButton, pos=at)
        elif how == "double":
            QTest.mouseDClick(widget, Button.LeftButton, pos=at)
        elif how == "right":
            QTest.mouseClick(widget, Button.RightButton, pos=at)
        return f"{how} at {at.x()}, {at.y()} of {name}"

    def _turn_the_wheel(self) -> str:
        seen = [c for c in self._window.findChildren(Canvas) if not c.visibleRegion().isEmpty()]
        if not seen:
            return "none"
        widget = self._chance.choice(seen)
        at, turned = QPointF(self._place_in(widget)), self._chance.choice((-360, -120, 120, 360))
        event = QWheelEvent(
            at,
            widget.mapToGlobal(at),
            QPoint(),
            QPoint(0, turned),
            Button.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(widget, event)
        return f"{turned} over {_name(widget)}"

    def _tick_a_fault(self) -> str:
        on = self._window.faults.ids
        fault_id = self._chance.choice([*(f.id for f in FAULTS), *COMBINATIONS, *on, *on, *on])
        row = self._desk.row_of(fault_id)
        is_on = row.checkState() == Qt.CheckState.Checked
        row.setCheckState(Qt.CheckState.Unchecked if is_on else Qt.CheckState.Checked)
        return fault_id

    def _branch_or_load(self) -> str:
        fault_id = self._chance.choice(FAULTS).id
        act = self._chance.choice(self._window.faults.menu_of(fault_id).actions())
        act.trigger()
        return f"{act.text()} of {fault_id}"

    def _set_something(self) -> str:
        fields = [
            field
            for kind in (QComboBox, NumberField, QCheckBox, QPlainTextEdit)
            for field in self._window.setup.findChildren(kind)
        ]
        field = self._chance.choice(fields)
        name = field.accessibleName()
        if isinstance(field, QPlainTextEdit):
            field.setPlainText(self._chance.choice(PROMPTS))
        elif isinstance(field, QCheckBox):
            field.toggle()
        elif isinstance(field, QComboBox) and field.isEditable():
            field.setEditText(self._chance.choice(MODELS))
        elif isinstance(field, QComboBox):
            field.setCurrentIndex(self._chance.randrange(field.count()))
        else:
            texts = ("0", "1", "2", "5", "8", "12", "40", "9999", "0.8", "-1", "", "many")
            field.lineEdit().setText(self._chance.choice(texts))
        return name

    def _take_a_command(self) -> str:
        actions = self._window.actions_by_id.actions
        names = [name for name in actions if name not in KEPT_OUT]
        name = self._chance.choice([*names, "undo", "undo", "redo", "step", "first-wrong"])
        if actions[name].isEnabled():
            actions[name].trigger()
        return name

    def _let_panels_settle(self) -> None:
        """QTest holds what it clicks without a guard: new tab bars of docks come before that."""
        self._window.layouts.follow_size()
        QApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    def _move_a_dock(self) -> str:
        dock: Dock = self._chance.choice(self._window.docks)
        how = self._chance.choice(("close", "float", "show", "show", "raise", "tab"))
        if how == "close":
            dock.close()
        elif how == "float":
            dock.setFloating(not dock.isFloating())
        elif how == "tab":
            other = self._chance.choice(self._window.docks)
            if other is not dock and not dock.isFloating() and not other.isFloating():
                self._window.tabifyDockWidget(other, dock)
        else:
            dock.show()
            dock.raise_()
        return f"{how} {dock.id}"

    def _resize(self) -> str:
        size = self._chance.choice(SIZES)
        self._window.resize(*size)
        return f"{size}"

    def _play(self) -> str:
        speed = self._chance.choice((2, 64))
        self._desk.control.player.set_speed(speed)
        self._desk.control.play_or_pause()
        return f"at {speed}"

    def _search(self) -> str:
        words = self._chance.choice(WORDS)
        self._desk.the(QLineEdit, self._window.faults).setText(words)
        return words

    # What they share.

    def _place_in(self, widget: QWidget) -> QPoint:
        width, height = max(1, widget.width()), max(1, widget.height())
        return QPoint(self._chance.randrange(width), self._chance.randrange(height))

    def _leave_what_opened(self) -> None:
        """Small windows and menus do not stay: with them in front, all else would go to them."""
        while (popup := QApplication.activePopupWidget()) is not None:
            if self._chance.random() < 0.3:
                QTest.keyClick(popup, Key.Key_Down)
                QTest.keyClick(popup, Key.Key_Return)
            popup.close()
        for top in QApplication.topLevelWidgets():
            is_small = isinstance(top, QDialog) or top.windowType() == Qt.WindowType.Tool
            if top.isVisible() and is_small and not isinstance(top, Dock):
                top.close()


def no_dialogs(monkeypatch, path: Path) -> None:
    """What a native dialog would have answered: names of files, and never a question."""
    from PySide6.QtGui import QDesktopServices
    from PySide6.QtWidgets import QFileDialog, QMessageBox

    trace, yes = str(path / "monkey.kvtrace"), QMessageBox.StandardButton.Yes
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (trace, ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (trace, ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(path))
    monkeypatch.setattr(QMessageBox, "question", lambda *_: yes)
    monkeypatch.setattr(QMessageBox, "exec", lambda *_: 0)
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda *_: True)


def _name(widget: QWidget) -> str:
    parent = widget.parent()
    while isinstance(parent, QWidget) and not isinstance(parent, Dock):
        parent = parent.parent()
    where = f" in {parent.id}" if isinstance(parent, Dock) else ""
    return f"{type(widget).__name__} {widget.accessibleName()!r}{where}"
