"""Texts laid out once and drawn many times: most of what a step shows was shown before."""

from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF, QStaticText, QTransform

_KEPT, _FONTS_KEPT = 4096, 64
_PLAIN = Qt.TextFormat.PlainText
_UPRIGHT = QTransform()


@dataclass(frozen=True, slots=True)
class Letters:
    """A text in a font, in one line or broken into several.

    Attributes:
        layout: what a painter draws, in its own pen, from its upper left corner.
        width: in logical pixels; where it is broken, that of the room.
        height: of all lines, likewise.
    """

    layout: QStaticText
    width: float
    height: float


@lru_cache(_KEPT)
def letters(text: str, font: QFont, room_px: float | None = None) -> Letters:
    """A text in a font, broken where the room ends; None: in one line.

    Fonts that look the same are equal.
    """
    layout = QStaticText(text)
    layout.setTextFormat(_PLAIN)
    if room_px is not None:
        layout.setTextWidth(room_px)
    layout.prepare(_UPRIGHT, font)
    if room_px is not None:
        return Letters(layout, room_px, layout.size().height())
    metrics, height = _measures(font)
    return Letters(layout, metrics.horizontalAdvance(text), height)


@lru_cache(_FONTS_KEPT)
def _measures(font: QFont) -> tuple[QFontMetricsF, float]:
    metrics = QFontMetricsF(font)
    return metrics, metrics.height()


@lru_cache(_KEPT)
def shortened(text: str, font: QFont, width_px: int) -> str:
    """As much of a text as fits into a width, with dots where some of it does not."""
    return QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, width_px)


def whole_words(text: str, font: QFont, width_px: int) -> str:
    """As many whole words as fit into a width, with dots where there are more.

    A word is cut where it is the only one.
    """
    shown = shortened(text, font, width_px)
    if shown == text or " " not in shown:
        return shown
    words = shown[:-1].rpartition(" ")[0].rstrip(" ·")
    return f"{words} …" if words else "…"
