"""What is filled in slices looks as if it had been filled at once."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from app.theme import LIGHT
from app.widgets import marks

MOST_ROWS = 95
"""Device pixels: what is higher Qt fills in several threads."""


@pytest.mark.parametrize("scale", [1.0, 1.25, 1.5, 2.0])
@pytest.mark.parametrize("height", [0.0, 1.0, 40.0, 63.5, 64.0, 65.0, 128.0, 128.5, 700.0])
def test_slices_are_low_and_leave_no_gap(height: float, scale: float) -> None:
    parts = marks.slices(QRectF(3, 7, 20, height), scale)
    assert all(part.height() * scale <= MOST_ROWS for part in parts)
    assert (parts[0].top(), parts[-1].bottom()) == (7, 7 + height)
    assert all(one.bottom() == other.top() for one, other in pairwise(parts))
    assert {(part.left(), part.width()) for part in parts} == {(3, 20)}


@pytest.mark.parametrize("scale", [1.0, 1.25, 1.5, 2.0])
def test_a_tall_shade_lets_the_same_through_as_one_that_is_filled_at_once(
    qtbot: QtBot, scale: float
) -> None:
    place, colour = QRectF(10, 0, 1, 260), QColor(11, 92, 173, 100)
    pictures = []
    for fill in (marks.shade, QPainter.fillRect):
        picture = QImage(round(60 * scale), round(300 * scale), QImage.Format.Format_RGB32)
        picture.setDevicePixelRatio(scale)
        picture.fill(LIGHT.live)
        painter = QPainter(picture)
        fill(painter, place, colour)
        painter.end()
        pictures.append(picture)
    assert pictures[0] == pictures[1]
