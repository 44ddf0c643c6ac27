"""Where rows live: one contiguous, preallocated buffer per layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.arrays import IntArray
from core.engine.dead_rows import DeadRows, LeftAlone
from core.engine.seams import Buffers, allocate
from core.engine.types import are_same

Allocate = Callable[[int, tuple[int, int, int, int], Tensor], Buffers]
RowSelection = slice | Tensor
"""Rows to read: a slice where they follow one another, else a long tensor [S]."""


def selection(rows: IntArray, device: torch.device) -> RowSelection:
    """The cheapest way to read `rows` in this order: a slice (no copy) where that is the same."""
    if is_run(rows):
        first = int(rows[0]) if len(rows) else 0
        return slice(first, first + len(rows))
    return torch.tensor(rows).to(device)


def is_run(numbers: IntArray) -> bool:
    """Whether each of `numbers` [n] is one more than the one before it."""
    if len(numbers) == 0:
        return True
    first = int(numbers[0])
    return are_same(numbers, np.arange(first, first + len(numbers)))


class LayerRows:
    """The keys and values of one layer; those of one row stand side by side in memory.

    Attributes:
        kv: [2, Hkv, R, D] a view of all keys and values, zero until written.
        n_rows: rows that there can be; R of them are there.
    """

    def __init__(self, buffer: Tensor, n_rows: int | None = None) -> None:
        """Take `buffer` [R, 2, Hkv, D] as the memory, which may grow to `n_rows`; None: not."""
        self.n_rows = len(buffer) if n_rows is None else n_rows
        self._borrowed: dict[int, tuple[Tensor, Tensor]] = {}
        self._take(buffer)

    def _take(self, buffer: Tensor) -> None:
        self.kv = buffer.permute(1, 2, 0, 3)
        self._buffer = buffer
        self._strides, self._start = self.kv.stride(), self.kv.storage_offset()
        self._keys_at, self._values_at = buffer.unsqueeze(3).unbind(1)  # [R, Hkv, 1, D] each

    @property
    def n_allocated(self) -> int:
        """R, rows that there are now."""
        return len(self._buffer)

    def grow(self, n_rows: int, grow: Callable[[Tensor, int], Tensor]) -> None:
        """Move to a buffer of `n_rows` rows, by the seam `grow`."""
        self._take(grow(self.kv, n_rows).permute(2, 0, 1, 3).contiguous())

    def write(self, write_rows: IntArray, keys: Tensor, values: Tensor) -> None:
        """Copy keys [Hkv, n, D] and values [Hkv, m, D] to the first n and m of `write_rows`.

        Rows past the end of the buffer are lost.
        """
        if keys.shape[1] == 1 and values.shape[1] == 1:
            self._write_one(int(write_rows[0]), keys, values)
        else:
            self._write_many(0, write_rows, keys)
            self._write_many(1, write_rows, values)
        if self._borrowed:
            for row in write_rows.tolist():
                self._borrowed.pop(row, None)

    def _write_one(self, row: int, keys: Tensor, values: Tensor) -> None:
        if row < self.n_rows:
            self._keys_at[row] = keys
            self._values_at[row] = values

    def _write_many(self, part: int, write_rows: IntArray, heads: Tensor) -> None:
        rows = torch.tensor(write_rows[: heads.shape[1]], device=heads.device)
        is_inside = rows < self.n_rows
        self.kv[part][:, rows[is_inside]] = heads[:, is_inside]

    def fill(self, rows: IntArray, key: float, value: float) -> None:
        """Make all numbers of the keys, and all of the values, of these rows the same."""
        at = torch.tensor(rows).to(self._buffer.device)
        self._buffer[at, 0] = key
        self._buffer[at, 1] = value
        for row in [row for row in self._borrowed if row in rows]:
            del self._borrowed[row]

    def borrow(self, row: int, keys: Tensor, values: Tensor) -> None:
        """Hold keys and values [Hkv, D] of one row by reference: whoever owns them can change it.

        Rows past the end of the buffer are lost.
        """
        if row < self.n_rows:
            self._borrowed[row] = (keys, values)

    def read(self, rows: RowSelection) -> Tensor:
        """[2, Hkv, S, D] what is at `rows` now; a view of the buffer where `rows` is a slice."""
        for row, (keys, values) in self._borrowed.items():
            self._buffer[row, 0] = keys
            self._buffer[row, 1] = values
        if isinstance(rows, slice):
            return self._run(rows.start, rows.stop - rows.start)
        return self._buffer[rows].permute(1, 2, 0, 3)

    def _run(self, first: int, n_rows: int) -> Tensor:
        """`kv[:, :, first : first + n_rows]`, said by strides in one call instead of two."""
        _, n_heads, _, size = self.kv.shape
        start = self._start + first * self._strides[2]
        return self.kv.as_strided((2, n_heads, n_rows, size), self._strides, start)


@dataclass(frozen=True, slots=True, eq=False)
class RowStore:
    """The buffers of all layers, and the memory that single rows are computed into.

    Attributes:
        layers: one buffer a layer, each with its own memory.
        scratch: [2, Hkv, 1, D] key and value of a single new token; used again for every token
            and layer, as real engines do.
        scratch_pair: its keys and its values, each [Hkv, 1, D].
        dead: what becomes of rows that hold nothing that counts.
    """

    layers: tuple[LayerRows, ...]
    scratch: Tensor
    scratch_pair: tuple[Tensor, Tensor]
    dead: DeadRows

    @property
    def n_rows(self) -> int:
        """Rows that each buffer can have."""
        return self.layers[0].n_rows

    @property
    def n_allocated(self) -> int:
        """Rows that each buffer has now."""
        return self.layers[0].n_allocated

    def reach(self, n_rows: int, grows: Sequence[Callable[[Tensor, int], Tensor]]) -> None:
        """Double the buffers, each by its layer's seam `grow`, until they have so many rows."""
        n_now = self.n_allocated
        while n_now < min(n_rows, self.n_rows):
            n_now = min(2 * n_now, self.n_rows)
            for layer, grow in zip(self.layers, grows, strict=True):
                n_before = layer.n_allocated
                layer.grow(n_now, grow)
                self.dead.begun(layer, n_before)

    @classmethod
    def allocate(
        cls,
        n_layers: int,
        n_kv_heads: int,
        n_rows: int,
        d_head: int,
        like: Tensor,
        allocate: Allocate = allocate,
        first_rows: int | None = None,
        dead: DeadRows | None = None,
    ) -> "RowStore":
        """Buffers with the number type and on the device of `like`, by the seam `allocate`.

        They begin with `first_rows` rows and grow up to `n_rows`; None: all are there at once. Rows
        that hold nothing that counts become what `dead` makes of them; None: they stay.
        """
        n_first = n_rows if first_rows is None else min(first_rows, n_rows)
        buffers = allocate(n_layers, (n_first, 2, n_kv_heads, d_head), like)
        layers = tuple(LayerRows(buffer, n_rows) for buffer in buffers)
        dead = dead or LeftAlone()
        for rows in layers:
            dead.begun(rows, 0)
        scratch = like.new_zeros(2, n_kv_heads, 1, d_head)
        return cls(layers, scratch, (scratch[0], scratch[1]), dead)

    def hand_over(self, new_rows: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [Hkv, T, D] of `new_rows` [2, Hkv, T, D], as the store gets them.

        A single token's are in the scratch memory, which the next one overwrites.
        """
        if new_rows.shape[2] > 1:
            return new_rows[0], new_rows[1]
        self.scratch.copy_(new_rows)
        return self.scratch_pair
