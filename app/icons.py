"""The program's own icons, drawn in the colours of the theme."""

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.theme import Theme
from resources import resource_path

_SIZES = (16, 24, 32, 48, 64)


def icon(name: str, theme: Theme) -> QIcon:
    """The icon of a name, in the text colour; faint while its control is disabled.

    Raises:
        OSError: there is no such icon.
    """
    with open(resource_path("icons", f"{name}.svg"), encoding="utf-8") as file:
        svg = file.read()
    made = QIcon()
    for size in _SIZES:
        made.addPixmap(_drawn(svg, theme.text, size), QIcon.Mode.Normal)
        made.addPixmap(_drawn(svg, theme.frame, size), QIcon.Mode.Disabled)
    return made


def _drawn(svg: str, colour: QColor, size: int) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(svg.replace("currentColor", colour.name()).encode()))
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
