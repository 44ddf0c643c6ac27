"""A part of a picture that stays the same from step to step."""

from collections.abc import Callable, Hashable

from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPainter, QPixmap


class KeptPart:
    """Draws a part once, and hands out its picture as long as all that it shows is the same.

    It belongs to one canvas, whose theme and size of letters never change: a view is built anew
    for another theme.
    """

    def __init__(self, ground: QColor) -> None:
        """Takes the colour below what is drawn; it may be transparent."""
        self._ground = ground
        self._key: Hashable = None
        self._picture = QPixmap()

    def picture(
        self, size: QSize, scale: float, shown: Hashable, draw: Callable[[QPainter], None]
    ) -> QPixmap:
        """The picture.

        Args:
            size: in logical pixels.
            scale: device pixels per logical pixel.
            shown: all that decides what is drawn, besides the theme.
            draw: draws it, from the upper left corner of the part.
        """
        key = (size.width(), size.height(), scale, shown)
        if key != self._key:
            picture = QPixmap(size * scale)
            picture.setDevicePixelRatio(scale)
            picture.fill(self._ground)
            painter = QPainter(picture)
            try:
                draw(painter)
            finally:
                painter.end()  # a painter that outlives its picture ends the program
            self._picture, self._key = picture, key
        return self._picture
