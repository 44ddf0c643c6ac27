"""Plain keys such as Space, arrows and letters are shortcuts, but not inside a control."""

from PySide6.QtCore import QEvent, QObject, Qt, Slot
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
    QWidget,
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
"""A button is not among them: it keeps Space only."""
_STRONG = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
_FIRST_F_KEY, _LAST_F_KEY = Qt.Key.Key_F1, Qt.Key.Key_F35


class PlainKeys(QObject):
    """Listens to the control that has the focus, and claims plain keys for it.

    Qt asks with a ShortcutOverride before a shortcut takes a key; accepted, the key goes to the
    control as usual. Only one widget is listened to: a filter on the whole application would
    bring every paint event to Python.
    """

    def __init__(self, application: QApplication, parent: QObject) -> None:
        """Follow the focus of the application."""
        super().__init__(parent)
        application.focusChanged.connect(self._follow)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  (a name of Qt)
        """Accept the question whether a key is the control's own."""
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        if not _is_plain(event) or not _is_own_key(watched, event):
            return False
        event.accept()
        return True

    @Slot(QWidget, QWidget)
    def _follow(self, old: QWidget | None, new: QWidget | None) -> None:
        if old is not None:
            old.removeEventFilter(self)
        if new is not None:
            new.installEventFilter(self)


def leave_to_window(control: QWidget) -> None:
    """Take the focus off a control that a click has done its work in: plain keys are shortcuts."""
    if control.hasFocus():
        control.window().setFocus(Qt.FocusReason.OtherFocusReason)


def _is_own_key(widget: QObject, event: QKeyEvent) -> bool:
    is_for_button = isinstance(widget, QAbstractButton) and event.key() == Qt.Key.Key_Space
    return is_for_button or isinstance(widget, CONTROLS)


def _is_plain(event: QKeyEvent) -> bool:
    if event.modifiers() & _STRONG:
        return False
    return not _FIRST_F_KEY <= event.key() <= _LAST_F_KEY
