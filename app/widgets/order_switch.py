"""The choices that all views with slots share: their order, and how many are shown."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.theme import Theme
from app.widgets.slot_scroll import SlotPart


class OrderSwitch(QWidget):
    """Whether the columns stand by slot or by token, and whether all are shown at once."""

    by_slot_wanted = Signal()
    by_token_wanted = Signal()
    all_wanted = Signal()
    part_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        """By slot at first."""
        super().__init__(parent)
        self._theme = theme
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._slot = self._button("slot", "columns by slot", self.by_slot_wanted.emit)
        self._token = self._button("token", "columns by token", self.by_token_wanted.emit)
        self._all = self._button("all slots", "all slots, however narrow", self._ask_for_all)
        row.addWidget(self._slot)
        row.addWidget(self._token)
        row.addSpacing(theme.margin_px)
        row.addWidget(self._all)
        self._shown: tuple[SlotPart, bool] | None = None
        self.show_part(SlotPart(), has_more=False)

    def show_part(self, part: SlotPart, *, has_more: bool) -> None:
        """Show what is chosen; `has_more`: not all slots are readable at once."""
        if self._shown == (part, has_more):
            return
        self._shown = (part, has_more)
        self._slot.setChecked(part.is_by_slot)
        self._token.setChecked(not part.is_by_slot)
        self._all.setChecked(part.shows_all)
        self._all.setVisible(has_more)
        self.resize(self.sizeHint())

    def _button(self, name: str, tooltip: str, run: Callable[[], None]) -> QToolButton:
        button = QToolButton()
        button.setText(name)
        button.setToolTip(tooltip)
        button.setAccessibleName(tooltip)
        button.setCheckable(True)
        button.setAutoRaise(True)
        button.setFont(self._theme.sans(px=self._theme.small_px))
        button.clicked.connect(run)
        return button

    def _ask_for_all(self) -> None:
        (self.all_wanted if self._all.isChecked() else self.part_wanted).emit()
