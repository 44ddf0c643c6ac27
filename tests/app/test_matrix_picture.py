"""The picture of the matrix is drawn without Qt, in the light theme's colours."""

import pytest

from app import matrix_picture
from app.theme import LIGHT


@pytest.mark.parametrize("name", ["paper", "text", "dim", "frame", "alarm"])
def test_the_picture_has_the_colours_of_the_light_theme(name):
    assert getattr(matrix_picture, name.upper()) == getattr(LIGHT, name).name().upper()
