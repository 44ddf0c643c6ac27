"""The title of a panel, with its buttons and its menu."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from app.icons import icon
from app.theme import Theme


class TitleBar(QWidget):
    """Float, close, and on its menu: a picture of the panel."""

    float_wanted = Signal()
    close_wanted = Signal()
    picture_wanted = Signal(str)

    def __init__(self, title: str, theme: Theme) -> None:
        """Takes the words."""
        super().__init__()
        self._is_folded = False
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.margin_px + 2, 0, 2, 0)
        row.setSpacing(0)
        label = QLabel(title)
        label.setFont(theme.sans(px=theme.small_px + 1, is_bold=True))
        label.setFixedHeight(theme.title_px)
        row.addWidget(label, 1)
        float_button = _button("float", f"Float {title}", theme)
        float_button.clicked.connect(self.float_wanted)
        close_button = _button("close", f"Close {title}", theme)
        close_button.clicked.connect(self.close_wanted)
        row.addWidget(float_button)
        row.addWidget(close_button)
        self._parts = (label, float_button, close_button)

    def set_folded(self, *, is_folded: bool) -> None:
        """Take no room, or the usual one again."""
        if is_folded != self._is_folded:
            self._is_folded = is_folded
            # A dock asks nothing but the size hint how high its title is, hidden or not, and
            # asks it hundreds of times: the layout of the parts answers that without Python.
            for part in self._parts:
                part.setVisible(not is_folded)
            self.setVisible(not is_folded)
            self.updateGeometry()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """What can be done with the panel."""
        menu = QMenu(self)
        menu.addAction("Copy as image", lambda: self.picture_wanted.emit("copy"))
        menu.addAction("Export as PNG…", lambda: self.picture_wanted.emit("export"))
        menu.addSeparator()
        menu.addAction("Float", self.float_wanted.emit)
        menu.addAction("Close", self.close_wanted.emit)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())


def _button(name: str, tooltip: str, theme: Theme) -> QAbstractButton:
    button = QToolButton()
    button.setObjectName("title-button")
    button.setIcon(icon(name, theme))
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the menus have the same for the keyboard
    button.setToolTip(tooltip)
    button.setAccessibleName(tooltip)
    button.setFixedSize(theme.target_px, theme.title_px)
    return button
