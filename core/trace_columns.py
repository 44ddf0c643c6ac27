"""Many small arrays as a few long ones: a column per name, written and read in the same order.

Shapes are not stored: both sides say which shape they mean, and a column that is too short or too
long for what is asked of it is a damaged file.
"""

import math
from collections.abc import Mapping

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray, frozen
from core.errors import TraceError

Shape = tuple[int, ...]
_INTEGERS = ("<i8",)
_TRUTHS = ("|b1",)
_FLOATS = ("<f4", "<f8", "<f2")


class ColumnWriter:
    """Collects arrays under names."""

    def __init__(self) -> None:
        """Start empty."""
        self._parts: dict[str, list[np.ndarray]] = {}

    def put(self, name: str, array: np.ndarray, shape: Shape) -> None:
        """Append an array to a column.

        Raises:
            TraceError: it has not the shape that `ColumnReader` will be asked for.
        """
        if array.shape != shape:
            raise TraceError(f"{name} has the shape {list(array.shape)}, not {list(shape)}")
        self._parts.setdefault(name, []).append(array)

    def columns(self) -> dict[str, np.ndarray]:
        """The columns, one-dimensional and contiguous."""
        return {
            name: np.concatenate([part.ravel() for part in parts])
            for name, parts in self._parts.items()
        }


class ColumnReader:
    """Gives arrays back in the order in which they were put."""

    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        """Read from the columns of a file.

        Raises:
            TraceError: one of them is not one-dimensional.
        """
        for name, column in columns.items():
            if column.ndim != 1:
                raise TraceError(f"the tensor {name} has {column.ndim} axes, not one")
        self._columns = columns
        self._used = dict.fromkeys(columns, 0)

    def integers(self, name: str, shape: Shape) -> IntArray:
        """The next array of a column of int64."""
        return self._take(name, shape, _INTEGERS)

    def truths(self, name: str, shape: Shape) -> BoolArray:
        """The next array of a column of bool."""
        return self._take(name, shape, _TRUTHS)

    def floats(self, name: str, shape: Shape) -> FloatArray:
        """The next array of a column of floats, in the number type that the column has."""
        return self._take(name, shape, _FLOATS)

    def finish(self) -> None:
        """Raise TraceError if a column holds more than was asked for."""
        for name, used in self._used.items():
            if used != len(self._columns[name]):
                raise TraceError(
                    f"the tensor {name} has {len(self._columns[name])} numbers, but the steps "
                    f"account for {used}"
                )

    def _take(self, name: str, shape: Shape, dtypes: tuple[str, ...]) -> np.ndarray:
        if name not in self._columns:
            raise TraceError(f"there is no tensor {name}")
        column = self._columns[name]
        if column.dtype.str not in dtypes:
            raise TraceError(f"the tensor {name} holds {column.dtype}; expected {dtypes[0][1:]}")
        start = self._used[name]
        stop = start + math.prod(shape)
        if min(shape) < 0 or stop > len(column):
            raise TraceError(
                f"the tensor {name} has {len(column)} numbers, too few for {list(shape)} "
                f"from number {start} on"
            )
        self._used[name] = stop
        return frozen(column[start:stop].reshape(shape))
