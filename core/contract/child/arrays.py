"""Between the plain arrays of a test and those that the user's class takes."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from .fingerprints import rows

CANONICAL = "hnd"


class Arrays:
    """Makes arrays for one class, and reads those that it gives back.

    `layout` names the axes (b, h, n, d); b is the batch, of which each row is the same but for its
    head numbers; a layout without h has one head.
    """

    def __init__(self, library: str, layout: str) -> None:
        """Of one library and layout."""
        self._library = library
        self.layout = layout

    def made(self, ask: dict[str, Any], sign: int) -> Any:
        """Rows as asked for.

        `ask` has layer, tokens, n_heads, d, batch, dtype and kind; `fill` (a number) in the place
        of fingerprints, `special` (place of a row -> "nan" or "inf").
        """
        batch = [
            rows(ask["layer"], [t + 40 * b for t in ask["tokens"]], ask["n_heads"], ask["d"], sign)
            for b in range(ask.get("batch", 1))
        ]
        plain = np.stack(batch)  # b h n d
        if ask.get("numbers") is not None:
            given = np.frombuffer(base64.b64decode(ask["numbers"]), dtype=np.float64)
            plain = given.reshape(plain.shape)
        if ask.get("fill") is not None:
            plain = np.full_like(plain, ask["fill"])
        for place, what in ask.get("special", {}).items():
            plain[:, :, int(place)] = np.nan if what == "nan" else np.inf
        plain = _arranged(plain, self.layout)
        return _of_kind(self._typed(plain, ask["dtype"]), ask.get("kind", "plain"), self.layout)

    def _typed(self, plain: np.ndarray, dtype: str) -> Any:
        if self._library == "torch":
            import torch

            return torch.from_numpy(np.ascontiguousarray(plain)).to(getattr(torch, dtype))
        return np.ascontiguousarray(plain.astype(dtype))

    def index(self, numbers: list[int]) -> Any:
        """Whole numbers, as the library's own where that is torch."""
        if self._library == "torch":
            import torch

            return torch.tensor(numbers)
        return list(numbers)

    def told(self, array: Any) -> dict[str, Any]:
        """An array that came back: shape in its own layout, number type, and its numbers."""
        dtype = str(array.dtype).removeprefix("torch.")
        if hasattr(array, "detach"):
            array = array.detach().to("cpu")
            plain = (array.double() if array.is_floating_point() else array).numpy()
        else:
            plain = np.asarray(array)
        plain = np.ascontiguousarray(plain, dtype=np.float64)
        return {
            "shape": list(plain.shape),
            "dtype": dtype,
            "data": base64.b64encode(plain.tobytes()).decode("ascii"),
        }


def _arranged(plain: np.ndarray, layout: str) -> np.ndarray:
    """[b, h, n, d] in the order of a layout; axes that it lacks have one place, which is taken."""
    axes = "bhnd"
    for axis in axes:
        if axis not in layout:
            plain = plain.take(0, axis=axes.index(axis))
            axes = axes.replace(axis, "")
    return plain.transpose([axes.index(axis) for axis in layout])


def _of_kind(array: Any, kind: str, layout: str) -> Any:
    """The same numbers, held in memory in another way."""
    if kind == "plain":
        return array
    if kind == "meta":
        return array.to("meta")
    if kind == "read_only":
        array.setflags(write=False)
        return array
    if kind.startswith("with_a_leading_axis"):
        return _doubled(array) if kind.endswith("2") else array[None]
    n, d = layout.index("n"), layout.index("d")
    if kind == "transposed":
        return _copied(array.swapaxes(n, d)).swapaxes(n, d)
    every_other: list[slice] = [slice(None)] * array.ndim
    if kind == "strided":
        wide = _repeated(array, n)
        every_other[n] = slice(None, None, 2)
        return wide[tuple(every_other)]
    every_other[n] = slice(None, None, -1)
    if kind == "negative":
        return _copied(array[tuple(every_other)])[tuple(every_other)]
    raise ValueError(kind)


def _copied(array: Any) -> Any:
    return array.contiguous() if hasattr(array, "contiguous") else np.ascontiguousarray(array)


def _doubled(array: Any) -> Any:
    if hasattr(array, "repeat_interleave"):
        return array[None].repeat_interleave(2, 0)
    return np.stack([array, array])


def _repeated(array: Any, axis: int) -> Any:
    if hasattr(array, "repeat_interleave"):
        return array.repeat_interleave(2, axis)
    return np.repeat(array, 2, axis=axis)


def overwrite(array: Any, number: float) -> None:
    """Write a number all over an array, in place."""
    array[...] = number
