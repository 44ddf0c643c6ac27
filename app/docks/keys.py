"""Plain keys such as Space, arrows and letters are shortcuts, but not inside a control."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)

CONTROLS = (
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)
_STRONG = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
_FIRST_F_KEY, _LAST_F_KEY = Qt.Key.Key_F1, Qt.Key.Key_F35


def keep_plain_keys(event: QEvent) -> bool:
    """Claim a plain key for the control that has the focus, before a shortcut takes it.

    Qt asks so with a ShortcutOverride, which the control hands up to its window; accepted, the
    key goes to the control as usual.
    """
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    focus = QApplication.focusWidget()
    is_for_button = isinstance(focus, QAbstractButton) and event.key() == Qt.Key.Key_Space
    if not (is_for_button or isinstance(focus, CONTROLS)) or not _is_plain(event):
        return False
    event.accept()
    return True


def _is_plain(event: QKeyEvent) -> bool:
    if event.modifiers() & _STRONG:
        return False
    return not _FIRST_F_KEY <= event.key() <= _LAST_F_KEY
