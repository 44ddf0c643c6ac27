"""How far apart two computations of one number may be before it is called a difference.

Every bound is a multiple of the number type's spacing at 1 (its eps), times the largest number in
the comparison. The multiples were measured on runs without a fault, in these units: logits up to
41 in float32 and float64 (101 in a deep model with chaotic weights), 22 in the 16-bit types;
tensors inside a layer up to 60 (198) and 29.

The 16-bit types are a matter of their own. What a model computes in them is off by amounts that
would be faults elsewhere, so their band for logits is narrow, and what lies outside it is called
wrong only above four times the error of forwards without a cache. Between the two the verdict is
"rounding". Where there is no such forward to compare with (a trace or a model of somebody else's,
two runs of the battery), it is wrong above twice what was measured in models of four layers
(`wrong_floor`: 22 units; up to 33 of 48 in twelve layers of random weights).
`tests/benchmarks/FALSE_ALARMS.md` has 4,000 runs.
"""

from collections.abc import Mapping

import numpy as np

from core.arrays import BoolArray, FloatArray

FieldNoise = Mapping[str, FloatArray]
"""By tensor of a layer: [L] the largest error."""

_OF_FLOATS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
_EPS = {**_OF_FLOATS, **{f"{name}+int8": eps for name, eps in _OF_FLOATS.items()}}

# Rows of 8 bits: a value half-way between two steps goes up in one computation and down in the
# other, which moves a row by a step, a 127th of its largest value. In float64 that was never seen;
# in runs without a fault, logits were off by up to 60,807 units in float32 (1,000 runs; 0.7 % of
# the largest), 46 in float16 (1,000 runs) and 10 in bfloat16 (120 runs).
LOGITS_FACTOR = {
    "float64": 256,
    "float32": 256,
    "float16": 8,
    "bfloat16": 8,
    "float64+int8": 256,
    "float32+int8": 2**17,
    "float16+int8": 64,
    "bfloat16+int8": 16,
}
WRONG_FACTOR = {
    "float64": 256,
    "float32": 256,
    "float16": 48,
    "bfloat16": 48,
    "float64+int8": 256,
    "float32+int8": 2**17,
    "float16+int8": 128,
    "bfloat16+int8": 48,
}
FIELDS_FACTOR = {
    "float64": 512,
    "float32": 512,
    "float16": 64,
    "bfloat16": 64,
    "float64+int8": 512,
    "float32+int8": 2**18,
    "float16+int8": 256,
    "bfloat16+int8": 64,
}

NOISE_FACTOR = 4.0
"""Nothing is wrong below this many times the error of a torch forward without a cache in the
engine's own number type, largest over the run so far: of the same layer and tensor, or of the
logits (seen without a fault: up to 5.3 times in float64, 4.0 in float32, 3.5 in bfloat16, 2.4 in
float16; 10 in models that make rounding grow. So it does not suffice alone: `core.rounding` looks
closer), nor below the band of this file."""


def logits_band(dtype: str, reference: FloatArray) -> float:
    """Error of a logit up to which it counts as right."""
    return LOGITS_FACTOR[dtype] * _EPS[dtype] * largest(reference)


def wrong_floor(dtype: str, reference: FloatArray) -> float:
    """Error of a logit below which it is not called wrong where nothing says what rounding does."""
    return WRONG_FACTOR[dtype] * _EPS[dtype] * largest(reference)


def field_band(dtype: str, reference: FloatArray) -> float:
    """Difference up to which two values of one tensor inside a layer count as equal."""
    return FIELDS_FACTOR[dtype] * _EPS[dtype] * largest(reference)


def gap(values: FloatArray, reference: FloatArray) -> FloatArray:
    """[...] absolute difference; none where both are the same infinity, or both no number."""
    with np.errstate(invalid="ignore"):
        difference = np.abs(values - reference)
    if np.isfinite(difference).all():
        return difference
    is_same = (values == reference) | (np.isnan(values) & np.isnan(reference))
    return np.where(is_same, 0.0, difference)


def largest_gap(values: FloatArray, reference: FloatArray) -> float:
    """The largest of the differences; infinite or NaN where `values` has what the other has not."""
    return float(gap(values, reference).max())


def beyond(off_by: FloatArray, band: FloatArray) -> BoolArray:
    """[...] whether each error is more than `band`, or no number where `band` is not infinite."""
    return ~(off_by <= band) & (band < np.inf)


def row_bands(dtype: str, reference: FloatArray) -> FloatArray:
    """[N] the same for each row of keys or values [Hkv, N, D].

    A row is measured against the largest number up to it, so that later rows decide nothing.
    """
    finite = np.where(np.isfinite(reference), reference, 0.0)
    by_row = np.abs(finite).max(axis=(0, 2), initial=1.0)
    return FIELDS_FACTOR[dtype] * _EPS[dtype] * np.maximum.accumulate(by_row)


def largest(values: FloatArray) -> float:
    """The largest finite absolute value, at least 1."""
    finite = np.abs(values[np.isfinite(values)])
    return max(1.0, float(finite.max(initial=0.0)))


def kl_divergence(reference: FloatArray, logits: FloatArray) -> float:
    """Kullback-Leibler divergence in nats, from the reference to the engine.

    NaN where the engine's logits are no distribution.
    """
    with np.errstate(invalid="ignore"):
        right, mine = _log_softmax(reference), _log_softmax(logits.astype(np.float64))
        return float((np.exp(right) * (right - mine)).sum())


def _log_softmax(logits: FloatArray) -> FloatArray:
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())
