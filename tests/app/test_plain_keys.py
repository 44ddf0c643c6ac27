"""Plain keys start commands, but not in a control that uses them; function keys always do."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QListWidget,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QSpinBox,
    QTabBar,
    QWidget,
)

from app.plain_keys import PlainKeys


class Canvas(QWidget):
    """Takes the focus and uses no key."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)


KEYS = {
    "Space": Qt.Key.Key_Space,
    "Right": Qt.Key.Key_Right,
    "Home": Qt.Key.Key_Home,
    "J": Qt.Key.Key_J,
    "F10": Qt.Key.Key_F10,
}
CONTROLS = {
    "line": (QLineEdit, {"F10"}),
    "text": (QPlainTextEdit, {"F10"}),
    "number": (QSpinBox, {"F10"}),
    "choice": (QComboBox, {"F10"}),
    "list": (QListWidget, {"F10"}),
    "slider": (lambda: QSlider(Qt.Orientation.Horizontal), {"F10"}),
    "tabs": (QTabBar, {"F10"}),
    "button": (QPushButton, {"Right", "Home", "J", "F10"}),
    "tick": (QCheckBox, {"Right", "Home", "J", "F10"}),
    "canvas": (Canvas, {"Space", "Right", "Home", "J", "F10"}),
}


@pytest.fixture
def window(qapp, qtbot) -> QMainWindow:
    made = QMainWindow()
    qtbot.addWidget(made)
    PlainKeys(qapp, made)
    return made


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_keeps_the_keys_that_it_uses(window, qtbot, control):
    make, expected = CONTROLS[control]
    started: set[str] = set()
    for name in KEYS:
        action = QAction(name, window)
        action.setShortcut(QKeySequence(name))
        action.triggered.connect(lambda checked, name=name: started.add(name))
        window.addAction(action)
    focus = make()
    window.setCentralWidget(focus)
    window.show()
    window.activateWindow()
    focus.setFocus()
    qtbot.waitUntil(focus.hasFocus)
    for key in KEYS.values():
        qtbot.keyClick(focus, key)
    assert started == expected


@pytest.mark.parametrize(
    ("make", "result"),
    [(QCheckBox, lambda box: box.isChecked()), (QLineEdit, lambda line: line.text() == " ")],
    ids=["ticks a box", "types a blank"],
)
def test_space_still_does_its_work(window, qtbot, make, result):
    action = QAction("play", window)
    action.setShortcut("Space")
    window.addAction(action)
    focus = make()
    window.setCentralWidget(focus)
    window.show()
    window.activateWindow()
    focus.setFocus()
    qtbot.waitUntil(focus.hasFocus)
    qtbot.keyClick(focus, Qt.Key.Key_Space)
    assert result(focus)
