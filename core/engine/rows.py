"""Where rows live: one contiguous, preallocated buffer per layer."""

from dataclasses import dataclass

import torch
from torch import Tensor

from core.arrays import IntArray

RowSelection = slice | Tensor
"""Rows to read: a slice where they follow one another, else a long tensor [S]."""


def selection(rows: IntArray, device: torch.device) -> RowSelection:
    """The cheapest way to read `rows` in this order: a slice (no copy) where that is the same."""
    first = int(rows[0]) if len(rows) else 0
    is_run = bool((rows[1:] - rows[:-1] == 1).all())
    if is_run:
        return slice(first, first + len(rows))
    return torch.tensor(rows).to(device)


class LayerRows:
    """The keys and values of one layer.

    Attributes:
        kv: [2, Hkv, R, D] keys and values, zero until written.
        n_rows: R, rows there are.
    """

    def __init__(self, kv: Tensor) -> None:
        """Take `kv` [2, Hkv, R, D] as the buffer."""
        self.kv = kv
        self.n_rows = kv.shape[2]
        self._keys, self._values = kv[0], kv[1]
        self._borrowed: dict[int, tuple[Tensor, Tensor]] = {}

    def write(self, write_rows: IntArray, keys: Tensor, values: Tensor) -> None:
        """Copy keys [Hkv, n, D] and values [Hkv, m, D] to the first n and m of `write_rows`.

        Rows past the end of the buffer are lost.
        """
        for part, heads in ((self._keys, keys), (self._values, values)):
            if heads.shape[1] == 1:
                row = int(write_rows[0])
                if row < self.n_rows:
                    part.select(1, row).copy_(heads.select(1, 0))
            else:
                rows = torch.tensor(write_rows[: heads.shape[1]], device=part.device)
                is_inside = rows < self.n_rows
                part[:, rows[is_inside]] = heads[:, is_inside]
        for row in write_rows.tolist() if self._borrowed else ():
            self._borrowed.pop(row, None)

    def borrow(self, row: int, keys: Tensor, values: Tensor) -> None:
        """Hold keys and values [Hkv, D] of one row by reference: whoever owns them can change it.

        Rows past the end of the buffer are lost.
        """
        if row < self.n_rows:
            self._borrowed[row] = (keys, values)

    def read(self, rows: RowSelection) -> Tensor:
        """[2, Hkv, S, D] what is at `rows` now; a view of the buffer where `rows` is a slice."""
        for row, (keys, values) in self._borrowed.items():
            self._keys[:, row] = keys
            self._values[:, row] = values
        return self.kv[:, :, rows]


@dataclass(frozen=True, slots=True, eq=False)
class RowStore:
    """The buffers of all layers, and the memory that single rows are computed into.

    Attributes:
        layers: one buffer a layer, each with its own memory.
        scratch: [2, Hkv, 1, D] key and value of a single new token; used again for every token
            and layer, as real engines do.
    """

    layers: tuple[LayerRows, ...]
    scratch: Tensor

    @property
    def n_rows(self) -> int:
        """Rows of each buffer."""
        return self.layers[0].n_rows

    @classmethod
    def allocate(
        cls, n_layers: int, n_kv_heads: int, n_rows: int, d_head: int, like: Tensor
    ) -> "RowStore":
        """Zeroed buffers with the number type and on the device of `like`."""
        layers = tuple(
            LayerRows(like.new_zeros(2, n_kv_heads, n_rows, d_head)) for _ in range(n_layers)
        )
        return cls(layers, like.new_zeros(2, n_kv_heads, 1, d_head))
