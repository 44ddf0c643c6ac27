"""How a command stands in the palette: its name at the left, its keys at the right."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem

from app.widgets.letters import whole_words

NAME, KEYS = Qt.ItemDataRole.UserRole + 1, Qt.ItemDataRole.UserRole + 2
"""What an item says at the left, and at the right."""
_PAD_PX, _GAP_PX, _ABOVE_PX = 6, 12, 10
_MIDDLE = Qt.AlignmentFlag.AlignVCenter

Index = QModelIndex | QPersistentModelIndex


class CommandLines(QStyledItemDelegate):
    """Draws the words of an item; the style draws what is under them."""

    def __init__(self, view: QListView) -> None:
        """Takes the list, for its colours and letters."""
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """High enough to be clicked."""
        return QSize(0, self._view.fontMetrics().height() + _ABOVE_PX)

    def initStyleOption(  # noqa: N802  (a name of Qt)
        self, option: QStyleOptionViewItem, index: Index
    ) -> None:
        """The style draws no words."""
        super().initStyleOption(option, index)
        option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The keys whole, and as much of the name as they leave."""
        super().paint(painter, option, index)
        name, keys = str(index.data(NAME)), str(index.data(KEYS))
        font, place = self._view.font(), QRect(option.rect).adjusted(_PAD_PX, 0, -_PAD_PX, 0)
        keys_px = self._view.fontMetrics().horizontalAdvance(keys)
        shown = whole_words(name, font, place.width() - keys_px - _GAP_PX)
        painter.save()
        painter.setFont(font)
        painter.setPen(self._ink(index, QPalette.ColorRole.Text))
        painter.drawText(place, _MIDDLE, shown)
        painter.setPen(self._ink(index, QPalette.ColorRole.PlaceholderText))
        painter.drawText(place, _MIDDLE | Qt.AlignmentFlag.AlignRight, keys)
        painter.restore()

    def _ink(self, index: Index, role: QPalette.ColorRole) -> QColor:
        """The colour of words; on the chosen line there is one for all."""
        group = QPalette.ColorGroup.Active
        if not index.flags() & Qt.ItemFlag.ItemIsEnabled:
            group = QPalette.ColorGroup.Disabled
        elif index == self._view.currentIndex():
            role = QPalette.ColorRole.HighlightedText
        return self._view.palette().color(group, role)
