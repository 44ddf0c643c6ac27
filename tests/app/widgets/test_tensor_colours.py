import numpy as np
import pytest
from PySide6.QtGui import QColor

from app.theme import DARK, LIGHT, Theme
from app.widgets.tensor_colours import HIGHEST, LOWEST, NAN, ZERO, codes_of, colours, pooled


def test_codes_are_even_about_zero_and_mark_what_is_not_finite() -> None:
    values = np.array([[-2.0, -1.0, 0.0, 1.0, 2.0, np.nan, np.inf]], dtype=np.float32)
    assert codes_of(values, "signed", 2.0).tolist() == [[LOWEST, 64, ZERO, 190, HIGHEST, NAN, NAN]]


def test_a_tensor_of_zeros_is_in_the_middle() -> None:
    assert set(codes_of(np.zeros((2, 3)), "signed", 0.0).ravel().tolist()) == {ZERO}


def test_pooling_keeps_the_number_of_largest_magnitude_with_its_sign() -> None:
    values = np.array([[1.0, -3.0, 2.0, 0.5], [0.0, 1.0, -1.0, 0.0]])
    assert pooled(values, 1, 2).tolist() == [[-3.0, 2.0]]
    assert pooled(values, 2, 4) is values


def test_pooling_keeps_what_is_not_a_number() -> None:
    values = np.ones((8, 8))
    values[5, 2] = np.nan
    assert np.isnan(pooled(values, 2, 2)).tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize("size", [(100, 90), (64, 1000), (257, 3)])
def test_one_large_number_survives_every_scale(size: tuple[int, int]) -> None:
    values = np.zeros(size)
    values[size[0] // 2, size[1] // 3] = -9.0
    for rows, columns in ((1, 1), (7, 2), (50, 60)):
        assert pooled(values, rows, columns).min() == -9.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_nothing_is_near_the_ground_and_both_ends_are_far_from_it(theme: Theme) -> None:
    table = [QColor(int(colour)) for colour in colours(theme, "signed")]

    def distance(code: int) -> int:
        colour, ground = table[code], theme.paper
        gaps = (
            colour.red() - ground.red(),
            colour.green() - ground.green(),
            colour.blue() - ground.blue(),
        )
        return sum(map(abs, gaps))

    assert distance(ZERO) < 80
    assert min(distance(LOWEST), distance(HIGHEST)) > 150
    assert table[LOWEST].blue() > table[LOWEST].red()
    assert table[HIGHEST].red() > table[HIGHEST].blue()
    assert table[NAN] == theme.alarm


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_both_halves_of_the_map_differ_without_hue_from_their_middle(theme: Theme) -> None:
    """Lightness goes one way from the middle to each end."""
    table = [QColor(int(colour)).lightness() for colour in colours(theme, "signed")[:255]]
    for end in (LOWEST, HIGHEST):
        assert abs(table[end] - table[ZERO]) > 60
