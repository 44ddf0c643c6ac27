"""The numbers of a token that left are struck through, wherever they are painted."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from app.theme import LIGHT
from app.widgets.slot_numbers import LabelRow, NumberPainter
from app.widgets.slot_ruler import SlotRuler
from core.readouts.slot_labels import NumbersShown

WIDTH, HEIGHT = 300, 24


def drawn(scale: float, *, has_left: bool, left: int = 0) -> np.ndarray:
    """Darkness [rows, columns] of the number 1 of a slot, on paper."""
    image = QImage(round(WIDTH * scale), round(HEIGHT * scale), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(QColor("white"))
    painter = QPainter(image)
    painter.translate(QPoint(left, 0))
    numbers = NumbersShown(
        slot=[0],
        token_index=[1],
        position_id=[1],
        is_counted=[False],
        has_left=[has_left],
        is_token_wrong=[False],
        is_position_wrong=[False],
    )
    ruler = SlotRuler(WIDTH, 1)
    NumberPainter(painter, ruler, LIGHT).draw(LabelRow("token"), numbers, (), 4.0)
    painter.end()
    pixels = np.frombuffer(bytes(image.constBits()), np.uint32).reshape(image.height(), -1)
    return 255 - (pixels & 0xFF).astype(np.int64)


@pytest.mark.parametrize("left", [0, 40], ids=["in a corner", "further right, as on a widget"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_token_that_left_has_a_line_through_its_number(
    qtbot: QtBot, scale: float, left: int
) -> None:
    plain, struck = (drawn(scale, has_left=has_left, left=left) for has_left in (False, True))
    rows = np.flatnonzero((plain != struck).any(axis=1))
    inked = np.flatnonzero(plain.any(axis=1))
    assert inked[0] < rows[0] <= rows[-1] < inked[-1], "a line between top and foot of the digit"
    columns = np.flatnonzero(plain.any(axis=0))
    darkest = struck[rows].max(axis=0)
    assert (darkest[columns[0] : columns[-1] + 1] > 100).all(), "from end to end"


def test_a_line_moves_with_its_number(qtbot: QtBot) -> None:
    here, there = (drawn(2.0, has_left=True, left=left) for left in (0, 40))
    assert np.array_equal(here[:, :-80], there[:, 80:])
