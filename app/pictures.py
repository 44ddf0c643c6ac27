"""A picture of a panel."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QWidget


def picture(widget: QWidget, scale: float) -> QPixmap:
    """What a widget shows, with `scale` device pixels to each of its own."""
    made = QPixmap(widget.size() * scale)
    made.setDevicePixelRatio(scale)
    made.fill(Qt.GlobalColor.transparent)
    widget.render(made)
    return made
