"""How far apart two computations of one number may be before it is called a difference.

Every bound is a multiple of the number type's spacing at 1 (its eps), times the largest number in
the comparison. The multiples were measured: see `tests/core/test_tolerance.py`.
"""

import numpy as np

from core.arrays import FloatArray

_EPS = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
_LOGITS = 64
_FIELDS = 256


def logits_band(dtype: str, reference: FloatArray) -> float:
    """Error of a logit up to which it counts as right."""
    return _LOGITS * _EPS[dtype] * largest(reference)


def field_band(dtype: str, reference: FloatArray) -> float:
    """Difference up to which two values of one tensor inside a layer count as equal."""
    return _FIELDS * _EPS[dtype] * largest(reference)


def largest(values: FloatArray) -> float:
    """The largest finite absolute value, at least 1."""
    finite = np.abs(values[np.isfinite(values)])
    return max(1.0, float(finite.max(initial=0.0)))
