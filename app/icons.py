"""The program's own icons, drawn in the colours of the theme."""

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.theme import Theme
from resources import resource_path

_SIZES = (16, 24, 32, 48, 64)


def icon(name: str, theme: Theme) -> QIcon:
    """The icon of a name, in the text colour; faint while its control is disabled.

    Raises:
        OSError: there is no such icon.
    """
    return _icon(name, theme.text.name(), theme.frame.name())


@cache
def _icon(name: str, colour: str, faint: str) -> QIcon:
    """Drawn once: every panel has the same two in its title."""
    svg = resource_path("icons", f"{name}.svg").read_text(encoding="utf-8")
    made = QIcon()
    for mode, ink in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, faint)):
        renderer = QSvgRenderer(QByteArray(svg.replace("currentColor", ink).encode()))
        for size in _SIZES:
            made.addPixmap(_drawn(renderer, size), mode)
    return made


def _drawn(renderer: QSvgRenderer, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
