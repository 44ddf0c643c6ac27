"""The whole numbers in an array, each once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from core.arrays import distinct

SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=6)


@given(arrays.arrays(np.int64, SHAPES, elements=st.integers(-3, 3)))
def test_the_numbers_are_those_of_the_array_in_order(numbers: np.ndarray) -> None:
    assert distinct(numbers) == np.unique(numbers).tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.bool_, np.float64])
def test_an_empty_array_of_any_kind_has_none(kind: type) -> None:
    assert distinct(np.array([], dtype=kind)) == []
