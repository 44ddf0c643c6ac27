"""The lines of layers below a row of the cache: how high they are, and what sets them apart."""

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter

from app.theme import LIGHT
from app.widgets.off_strips import RowPlaces
from app.widgets.slot_ruler import SlotRuler
from core.readouts.slot_states import LayerRow

N_SLOTS = 8


def row(n_layers: int) -> LayerRow:
    """Layers that differ in every slot."""
    return LayerRow(
        layers=tuple(range(n_layers)),
        state=np.zeros(N_SLOTS, np.uint8),
        is_new=np.zeros(N_SLOTS, bool),
        token_index=np.arange(N_SLOTS),
        is_off=np.ones((n_layers, N_SLOTS), bool),
    )


def strips(n_layers: int, free_px: float) -> list[int]:
    """Heights of the bars in alarm below a row, from top to bottom."""
    theme, ruler = LIGHT.sized(percent=80, is_large=False), SlotRuler(400, N_SLOTS)
    places = RowPlaces.of((row(n_layers),), 0, free_px, theme)
    image = QImage(400, 100, QImage.Format.Format_RGB32)
    image.fill(theme.paper)
    painter = QPainter(image)
    places.draw_lines(painter, ruler, theme, np.arange(N_SLOTS), 0)
    painter.end()
    x = int(ruler.start) + 20
    is_bar = [image.pixel(x, y) == theme.alarm.rgb() for y in range(image.height())]
    edges = np.flatnonzero(np.diff([0, *map(int, is_bar), 0]))
    return (edges[1::2] - edges[::2]).tolist()


@pytest.mark.parametrize("free_px", [24, 28, 34, 60])
def test_layers_that_differ_stay_apart_also_where_lines_are_thin(qapp, free_px: int) -> None:
    assert len(strips(4, free_px)) == 4


def test_lines_of_more_layers_than_there_is_room_for_become_one_pixel_each(qapp) -> None:
    assert strips(16, 30) == [16]
