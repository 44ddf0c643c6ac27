"""Number types of rows, and what it does to a number to be held in one."""

import numpy as np

from core.arrays import FloatArray

EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Spacing at 1."""

NARROW = ("float16", "bfloat16")


def rounded(numbers: FloatArray, dtype: str) -> FloatArray:
    """The nearest numbers of a type, in float64."""
    numbers = np.asarray(numbers, dtype=np.float64)
    if dtype != "bfloat16":
        with np.errstate(over="ignore"):
            return numbers.astype(dtype).astype(np.float64)
    bits = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    even = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000  # to the nearest, ties to even
    kept = even.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(np.isfinite(numbers), kept, numbers)
