"""Which tokens' rows an array holds, told from its contents alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from core.arrays import FloatArray
from core.contract.calls import Told
from core.contract.child.fingerprints import rows

Name = int | str
"""A token's serial, or in words what the row is in its place."""

N_SERIALS = 225
BATCH_STEP = 40
"""Row b of a batch holds the serials from 40·b on."""


@dataclass(frozen=True, slots=True)
class View:
    """What came back, row by row.

    Attributes:
        keys, values: [rows] of the first sequence of the batch.
        others: the same of the other sequences, their serials counted as if they were the first.
        odd_shape: why the arrays are no keys and values of this cache at all; None: they are.
        dtype: their number type; of the keys where the two differ.
    """

    keys: tuple[Name, ...]
    values: tuple[Name, ...]
    others: tuple[tuple[tuple[Name, ...], tuple[Name, ...]], ...] = ()
    odd_shape: str | None = None
    dtype: str = ""

    @property
    def agrees(self) -> bool:
        """Whether keys and values, and all sequences of the batch, show the same tokens."""
        return all(other == (self.keys, self.values) for other in self.others) and (
            self.keys == self.values
        )

    def words(self) -> str:
        """In a report."""
        if self.odd_shape is not None:
            return self.odd_shape
        keys = listed(self.keys)
        if self.keys == self.values:
            return keys
        return f"keys {keys}, values {listed(self.values)}"


def listed(names: Sequence[Name]) -> str:
    """Rows in words: [0, 1, zeros × 3]."""
    parts: list[str] = []
    place = 0
    while place < len(names):
        n = 1
        while place + n < len(names) and names[place + n] == names[place]:
            n += 1
        parts.append(str(names[place]) if n == 1 else f"{names[place]} × {n}")
        place += n
    return f"[{', '.join(parts)}]"


class Reader:
    """Names the rows of arrays in one layout.

    `n_heads`, `d_k` and `d_v` are those of the rows that were appended; `n_layers` as many as may
    have been mixed up.
    """

    def __init__(
        self, layout: str, n_heads: int, d_k: int, d_v: int, batch: int, n_layers: int
    ) -> None:
        """For one class and one set of sizes."""
        self._layout = layout
        self._shapes = ((n_heads, d_k), (n_heads, d_v))
        self._batch = batch
        self._known = (
            _known(n_heads, d_k, 1, "value", d_v, n_layers),
            _known(n_heads, d_v, -1, "key", d_k, n_layers),
        )

    def view(self, pair: tuple[Told, Told], layer: int) -> View:
        """Name the rows of what came back for a layer."""
        found: list[list[tuple[Name, ...]]] = []
        for told, (n_heads, d), known in zip(pair, self._shapes, self._known, strict=True):
            canonical = self._canonical(told.array)
            if canonical is None or canonical.shape[:2] + canonical.shape[3:] != (
                self._batch,
                n_heads,
                d,
            ):
                shape = list(told.array.shape)
                return View((), (), odd_shape=f"an array of shape {shape}", dtype=told.dtype)
            found.append([_names(canonical[b], known, layer, b) for b in range(self._batch)])
        keys, values = found
        others = tuple(zip(keys[1:], values[1:], strict=True))
        return View(keys[0], values[0], others, dtype=pair[0].dtype)

    def _canonical(self, array: FloatArray) -> FloatArray | None:
        """[b, h, n, d]; None: another number of axes."""
        if array.ndim != len(self._layout):
            return None
        present = [axis for axis in "bhnd" if axis in self._layout]
        array = array.transpose([self._layout.index(axis) for axis in present])
        for place, axis in enumerate("bhnd"):
            if axis not in self._layout:
                array = np.expand_dims(array, place)
        return array


@cache
def _known(
    n_heads: int, d: int, sign: int, other: str, d_other: int, n_layers: int
) -> dict[bytes, tuple[int | None, int, str]]:
    """contents -> (layer, serial, what it is) of every row that there can be."""
    serials = list(range(N_SERIALS))
    known: dict[bytes, tuple[int | None, int, str]] = {}
    for layer in range(n_layers):
        if d_other == d:
            for serial, row in zip(
                serials, _by_row(layer, serials, n_heads, d, -sign), strict=True
            ):
                known[row] = (layer, serial, other)
        for serial, row in zip(serials, _by_row(layer, serials, n_heads, d, sign), strict=True):
            known[row] = (layer, serial, "")
    return known


def _by_row(layer: int, serials: list[int], n_heads: int, d: int, sign: int) -> list[bytes]:
    made = rows(layer, serials, n_heads, d, sign).transpose(1, 0, 2)
    return [np.ascontiguousarray(row).tobytes() for row in made]


def _names(
    array: FloatArray, known: dict[bytes, tuple[int | None, int, str]], layer: int, b: int
) -> tuple[Name, ...]:
    names: list[Name] = []
    for row in array.transpose(1, 0, 2):
        found = known.get(np.ascontiguousarray(row).tobytes())
        if found is None:
            names.append(_strange(row))
            continue
        of_layer, serial, what = found
        if what:
            names.append(f"the {what} of {serial}")
        elif of_layer != layer:
            names.append(f"layer {of_layer}'s {serial}")
        else:
            names.append(serial - BATCH_STEP * b if b else serial)
    return tuple(names)


def _strange(row: FloatArray) -> str:
    if not row.any():
        return "zeros"
    if np.isnan(row).all():
        return "nan"
    if np.isinf(row).all():
        return "inf"
    if (row == row.flat[0]).all():
        return f"all {row.flat[0]:g}"
    return "another row"
