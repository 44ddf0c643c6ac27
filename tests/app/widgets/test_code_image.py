"""Images of codes made smaller, and the atlas of all heads, pixel by pixel."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter

from app.theme import LIGHT
from app.widgets import code_image
from app.widgets.head_atlas import HeadAtlas


def codes_of(*shape: int, seed: int = 0) -> code_image.Codes:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("size", [1, 7, 8, 12, 50, 64, 97, 1000])
@pytest.mark.parametrize("most", [1, 2, 7, 10, 40])
def test_a_mark_of_one_cell_is_seen_however_small_the_image(size: int, most: int) -> None:
    for place in range(size):
        codes = np.zeros((3, size), dtype=np.uint8)
        codes[1, place] = 255
        small = code_image.pooled(codes, 3, most)
        assert small.shape == (3, min(size, max(most, small.shape[1])))
        assert small.shape[1] <= max(most, 1) or size <= most
        assert small[1].max() == 255
        assert np.count_nonzero(small) == 1
        found = int(small[1].argmax()) / small.shape[1]
        assert abs(found - place / size) <= 1 / small.shape[1] + 1 / size


@pytest.mark.parametrize("shape", [(5, 9), (48, 1), (2, 3, 20, 31)])
def test_pooled_codes_are_the_highest_of_all_that_they_stand_for(shape: tuple[int, ...]) -> None:
    codes = codes_of(*shape)
    small = code_image.pooled(codes, 4, 6)
    assert small.shape[-2] <= 4
    assert small.shape[-1] <= 6
    assert np.array_equal(small.max(axis=(-1, -2)), codes.max(axis=(-1, -2)))


def test_rows_that_were_transposed_are_pooled_alike() -> None:
    rows_first = codes_of(48, 3, 4, 128)
    turned = rows_first.transpose(1, 2, 0, 3)
    expected = code_image.pooled(np.ascontiguousarray(turned), 11, 10)
    assert np.array_equal(code_image.pooled(turned, 11, 10), expected)


def test_nothing_is_done_to_what_is_small_enough() -> None:
    codes = codes_of(4, 5)
    assert np.array_equal(code_image.pooled(codes, 4, 5), codes)


@pytest.mark.parametrize("scale", [1.0, 1.25, 1.5, 2.0])
@pytest.mark.parametrize(("n_layers", "n_heads"), [(4, 4), (12, 12), (1, 2)])
def test_each_tile_of_the_atlas_has_its_head_s_colour_where_it_is_clicked(
    qapp, scale: float, n_layers: int, n_heads: int
) -> None:
    atlas = HeadAtlas(QRectF(13, 5, 250, 200), n_layers, n_heads)
    codes = np.empty((n_layers, n_heads, 6, 6), dtype=np.uint8)
    codes[:] = 3 + np.arange(n_layers * n_heads).reshape(n_layers, n_heads)[:, :, None, None]
    colours = code_image.palette(LIGHT)
    image = QImage(int(300 * scale), int(220 * scale), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(LIGHT.paper)
    painter = QPainter(image)
    atlas.draw(painter, codes, colours, LIGHT, scale)
    painter.end()
    for layer in range(n_layers):
        for head in range(n_heads):
            middle = atlas.tile(layer, head).center()
            assert atlas.head_at(middle) == (layer, head)
            found = image.pixel((middle * scale).toPoint())
            assert found == int(colours[codes[layer, head, 0, 0]])
    gap = atlas.tile(0, 0).bottomRight() + QPointF(1.5, 1.5)
    assert image.pixel((gap * scale).toPoint()) in (LIGHT.paper.rgb(), LIGHT.frame.rgb())
