"""A choice between two orders of the same columns."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QToolButton, QWidget

from app.theme import Theme

_ORDERS = {"slot": "keys by slot", "token": "keys by token"}


class OrderSwitch(QWidget):
    """Whether the keys stand by slot or by token."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        """By slot at first."""
        super().__init__(parent)
        self._group = QButtonGroup(self)
        self._is_by_slot = True
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for name, tooltip in _ORDERS.items():
            button = QToolButton()
            button.setText(name)
            button.setToolTip(tooltip)
            button.setAccessibleName(tooltip)
            button.setCheckable(True)
            button.setChecked(name == "slot")
            button.setAutoRaise(True)
            button.setFont(theme.sans(px=theme.small_px))
            self._group.addButton(button)
            row.addWidget(button)
        self._group.buttonClicked.connect(self._choose)

    @property
    def is_by_slot(self) -> bool:
        """Whether they stand by slot."""
        return self._is_by_slot

    @Slot(QAbstractButton)
    def _choose(self, button: QAbstractButton) -> None:
        self._is_by_slot = button.text() == "slot"
        self.changed.emit()
