"""Norms, activations and rotations of the reference, in NumPy float64."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]

_ERF_STEPS = 256  # points of the erf table per unit; a Taylor series goes half a step at most
_ERF_END = 6.0  # from here on erf is 1 in float64
_ERF_POINTS = np.arange(int(_ERF_END * _ERF_STEPS) + 1) / _ERF_STEPS
_ERF_VALUES = np.array([math.erf(point) for point in _ERF_POINTS.tolist()])
_ERF_SLOPES = 2.0 / math.sqrt(math.pi) * np.exp(-np.square(_ERF_POINTS))


def layer_norm(
    x: Float64Array, weight: Float64Array, bias: Float64Array | None, eps: float
) -> Float64Array:
    """[.., d] each row moved to mean 0 and scaled to variance 1, then weighted."""
    centred = x - x.mean(axis=-1, keepdims=True)
    centred /= np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + eps)
    centred *= weight
    return centred if bias is None else centred + bias


def rms_norm(
    x: Float64Array, weight: Float64Array, bias: Float64Array | None, eps: float
) -> Float64Array:
    """[.., d] each row scaled to a mean square of 1, then weighted."""
    scaled = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + eps) * weight
    return scaled if bias is None else scaled + bias


def erf(x: Float64Array) -> Float64Array:
    """The error function, to about 1e-16: `math.erf` at the nearest table point, then Taylor.

    The derivatives of erf at a point a are its slope there times Hermite polynomials of a.
    """
    size = np.minimum(np.abs(x), _ERF_END)
    nearest = np.rint(size * _ERF_STEPS).astype(np.int64)
    # NaN has no place in the table: clipped into it, it comes back through `size`.
    a = np.take(_ERF_POINTS, nearest, mode="clip")
    d = size - a
    aa = a * a
    series = d * (aa * (aa * (2.0 / 15.0) - 0.4) + 0.1)
    series += a * (0.5 - aa / 3.0)
    series *= d
    series += (2.0 * aa - 1.0) / 3.0
    series *= d
    series -= a
    series *= d
    series += 1.0
    series *= d
    series *= np.take(_ERF_SLOPES, nearest, mode="clip")
    series += np.take(_ERF_VALUES, nearest, mode="clip")
    return np.copysign(series, x)


def gelu(x: Float64Array) -> Float64Array:
    """x times the normal distribution function of x."""
    result = erf(x * math.sqrt(0.5))
    result += 1.0
    result *= x
    result *= 0.5
    return result


def gelu_tanh(x: Float64Array) -> Float64Array:
    """The approximation of `gelu` that GPT-2 was trained with."""
    inner = x * x
    inner *= 0.044715
    inner += 1.0
    inner *= x
    inner *= math.sqrt(2.0 / math.pi)
    np.tanh(inner, out=inner)
    inner += 1.0
    inner *= x
    inner *= 0.5
    return inner


def silu(x: Float64Array) -> Float64Array:
    """x times the logistic function of x."""
    return x / (1.0 + np.exp(-x))


def narrowed(rows: Float64Array) -> Float64Array:
    """[.., D] each row in whole steps of a 127th of its largest absolute value; zeros stay."""
    step = np.max(np.abs(rows), axis=-1, keepdims=True, initial=0.0) / 127.0
    step[step == 0.0] = 1.0
    return np.rint(rows / step) * step


NORMS: dict[
    str, Callable[[Float64Array, Float64Array, Float64Array | None, float], Float64Array]
] = {"layer": layer_norm, "rms": rms_norm}
ACTIVATIONS: dict[str, Callable[[Float64Array], Float64Array]] = {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu_gated": silu,
}


def turn(
    positions: NDArray[np.int64], theta: float, d_head: int
) -> tuple[Float64Array, Float64Array]:
    """Cosine and sine, each [.., D / 2], of the angles by which RoPE turns at `positions`."""
    frequencies = theta ** (-2.0 * np.arange(d_head // 2) / d_head)
    angles = positions[..., None] * frequencies
    return np.cos(angles), np.sin(angles)


def rotated(heads: Float64Array, cosine: Float64Array, sine: Float64Array) -> Float64Array:
    """[.., D] the heads turned; component i goes with component i + D / 2, as in Llama."""
    half = heads.shape[-1] // 2
    first, second = heads[..., :half], heads[..., half:]
    result = np.empty(np.broadcast_shapes(heads.shape, (*cosine.shape[:-1], 2 * half)))
    result[..., :half] = first * cosine - second * sine
    result[..., half:] = second * cosine + first * sine
    return result


def alibi_slopes(n_heads: int) -> Float64Array:
    """[Hq] penalty per step of distance, as MPT has it.

    A geometric series down to 2^-8. If the number of heads is no power of two, the series of the
    next power is taken: its second, fourth ... members first, then its first, third ...
    """
    n_series: int = 2 ** math.ceil(math.log2(n_heads))
    series: Float64Array = np.exp2(-8.0 / n_series * np.arange(1, n_series + 1))
    if n_series == n_heads:
        return series
    return np.concatenate([series[1::2], series[0::2]])[:n_heads]
