"""The array types that cross module borders, and the one rule for them: read only."""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.floating]

ABSENT = -1
"""Stands for "none" inside integer arrays, which cannot hold None. A number by itself is None
then (see `known`), and JSON says null; exported arrays keep it."""


LATER = {"in_digest": "unless default"}
"""Marks a field that came in after the first trace files: left out of a digest while it holds its
default, so that an account which does not need it keeps its digest."""

MEMORY = {"in_digest": "never"}
"""Marks a field that follows from what was done before, and so is no part of a digest."""


PAD = -2
"""Stands for padding where `causal_mask` is told token indices. Records say ABSENT there: a row of
padding holds no token."""


def known(number: int) -> int | None:
    """A number of such an array by itself."""
    return None if number == ABSENT else number


def distinct(numbers: np.ndarray) -> list[int]:
    """The whole numbers in an array of any shape, each once, the least first.

    np.unique imports numpy.ma (2.4) at its first use, and the first picture would wait for that.
    """
    ordered = np.sort(numbers, axis=None)
    is_new = np.ones(ordered.shape, np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new].tolist()


def frozen(array: np.ndarray) -> np.ndarray:
    """The same array, made read only."""
    array.setflags(write=False)
    return array


def as_ids(values: object) -> IntArray:
    """A read-only int64 array of `values`."""
    return frozen(np.array(values, dtype=np.int64))
