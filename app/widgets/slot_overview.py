"""All slots in one thin strip, with a frame around those that are shown below it."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from app.theme import Theme
from app.widgets import code_image, marks
from app.widgets.slot_ruler import SlotRuler

STRIP_PX = 6
_LEAST_FRAME_PX = 8.0


def draw(
    painter: QPainter,
    ruler: SlotRuler,
    top: float,
    states: NDArray[np.uint8],
    colours: NDArray[np.uint32],
    theme: Theme,
    scale: float,
) -> None:
    """Draw [n_columns] states; of those that share a pixel the highest is seen."""
    place = QRectF(ruler.start, top, ruler.end - ruler.start, STRIP_PX)
    codes = code_image.pooled(states[None], 1, int(place.width() * scale))
    painter.drawImage(place, code_image.image(codes, colours))
    marks.outline(painter, place.adjusted(-1, -1, 1, 1), theme.frame)
    left = place.left() + place.width() * ruler.first / ruler.n_columns
    width = max(_LEAST_FRAME_PX, place.width() * ruler.n_shown / ruler.n_columns)
    left = min(left, place.right() - width)
    frame = QRectF(left, top, width, STRIP_PX)
    marks.outline(painter, frame.adjusted(-2, -2, 2, 2), theme.text, px=1.5)


def first_at(ruler: SlotRuler, x: float) -> int:
    """The first column to show so that the place pointed at is in the middle."""
    share = (x - ruler.start) / (ruler.end - ruler.start)
    return round(share * ruler.n_columns - ruler.n_shown / 2)
