"""Two fields of a form: side by side, or where that is too narrow for them, one below the other."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from app.theme import Theme

SIDE_BY_SIDE_PX = 240
"""Width from which two fields stand side by side, beside letters of the usual size."""
NO_PLACE_PX = 120
"""A form is narrower than this only before it has a place."""
_GAP_PX = 4


class Pair(QWidget):
    """A label with its field, and another field, with a label or without."""

    def __init__(
        self, label: QLabel, first: QWidget, second_label: QLabel | None, second: QWidget
    ) -> None:
        """Side by side at first."""
        super().__init__()
        self._parts = (label, first, second_label, second)
        self._is_low: bool | None = None
        self._enough_px = self._no_place_px = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(_GAP_PX)
        for field in (first, second):
            field.setSizePolicy(QSizePolicy.Policy.Ignored, field.sizePolicy().verticalPolicy())
        self.arrange(self.width())

    def dress(self, theme: Theme) -> None:
        """Letters of another size need another width."""
        self._enough_px = theme.px(SIDE_BY_SIDE_PX)
        self._no_place_px = theme.px(NO_PLACE_PX)
        self.arrange(self.width())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width may ask for another arrangement."""
        super().resizeEvent(event)
        self.arrange(self.width())

    def minimumSizeHint(self) -> QSize:
        """As narrow as may be: it is the form that says how wide it is."""
        return QSize(0, super().minimumSizeHint().height())

    def arrange(self, width_px: int) -> None:
        """As it stands in this width."""
        is_low = width_px < self._enough_px
        if is_low == self._is_low or width_px < self._no_place_px:
            return
        self._is_low = is_low
        label, first, second_label, second = self._parts
        place = (1, 0) if is_low else (0, 2)
        self._grid.addWidget(label, 0, 0, Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(first, 0, 1)
        if second_label is not None:
            self._grid.addWidget(second_label, *place, Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(second, place[0], place[1] + 1)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(3, 0 if is_low else 1)
        self.updateGeometry()
