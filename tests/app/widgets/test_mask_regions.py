"""Wrong parts of a mask whose cells are too small for frames of their own."""

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from app.theme import DARK, LIGHT, Theme
from app.widgets import marks, mask_cells, mask_regions
from app.widgets.mask_cells import Kind

WIDTH, HEIGHT = 400, 60


def painted(kinds: np.ndarray, theme: Theme, scale: int = 1) -> np.ndarray:
    """[HEIGHT, WIDTH] of the picture's colours."""
    image = QImage(WIDTH * scale, HEIGHT * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(theme.paper)
    painter = QPainter(image)
    mask_regions.draw(painter, kinds.astype(np.uint8), QRectF(0, 0, WIDTH, HEIGHT), theme)
    painter.end()
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    return pixels[scale // 2 :: scale, scale // 2 :: scale].copy()


def block(kind: Kind) -> np.ndarray:
    """Ten rows of eighty cells, the right half of a wrong kind."""
    kinds = np.full((10, 80), Kind.SEEN)
    kinds[:, 40:] = kind
    return kinds


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize("kind", mask_cells.WRONG)
def test_a_large_wrong_part_has_a_frame_and_signs_and_is_no_block_of_alarm(theme, scale, kind):
    alarm = painted(block(kind), theme, scale) == theme.alarm.rgb()
    assert not alarm[:, :195].any()
    for edge in (alarm[1, 210:390], alarm[-2, 210:390], alarm[10:50, 200], alarm[10:50, -2]):
        assert edge.all()
    inside = alarm[6:-6, 210:-6]
    assert 0.01 < inside.mean() < 0.25


def test_what_is_masked_and_should_be_seen_differs_from_a_leak_without_its_frame():
    pictures = [painted(block(kind), LIGHT)[6:-6, 210:-6] for kind in (Kind.BLIND, Kind.LEAK)]
    blind, leak = (set(np.unique(picture).tolist()) for picture in pictures)
    assert LIGHT.live.rgb() in leak - blind


@pytest.mark.parametrize("n_columns", [1, 2])
def test_a_wrong_part_of_one_pixel_is_seen_in_alarm(n_columns):
    kinds = np.full((1, WIDTH), Kind.SEEN)
    kinds[0, 200 : 200 + n_columns] = Kind.BLIND
    assert (painted(kinds, LIGHT)[30, 199:203] == LIGHT.alarm.rgb()).any()


def test_a_right_mask_has_no_alarm():
    kinds = np.where(np.tri(20, dtype=np.bool_), Kind.SEEN, Kind.MASKED)
    assert not (painted(kinds, LIGHT) == LIGHT.alarm.rgb()).any()


def test_wrong_cells_are_filled_where_frames_would_be_all_that_is_seen():
    kinds = np.where(np.indices((60, 400)).sum(axis=0) % 2, Kind.LEAK, Kind.SEEN)
    assert (painted(kinds, LIGHT) == LIGHT.alarm.rgb()).mean() == pytest.approx(0.5)


def test_letters_stand_in_their_place_after_a_hatch_at_scale_2():
    """Qt (6.11) draws prepared letters elsewhere while a scaled picture is the brush."""
    pictures = []
    for is_hatched in (False, True):
        image = QImage(2 * WIDTH, 2 * HEIGHT, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(2)
        image.fill(LIGHT.paper)
        painter = QPainter(image)
        if is_hatched:
            cell = QRectF(300, 0, 50, 50)
            marks.hatch_all(painter, [cell], LIGHT.paper, LIGHT.dead)
        marks.gutter_name(painter, LIGHT, 10, 20, 128, "839 a")
        painter.end()
        pictures.append(image.copy(0, 0, 500, 2 * HEIGHT))
    assert pictures[0] == pictures[1]
