"""Where a token's place enters the model: added to it, rotated into q and k, or as a bias."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.errors import ModelError
from core.model.weights import Weights

# [T]; the keys of a bias also [T, S].
PositionIds = NDArray[np.int64] | Sequence[int]

# Position ids below this many have their row in a table; the others are computed when asked for.
_MAX_TABLE_ROWS = 65_536
_FIRST_TABLE_ROWS = 512


class Positions(Protocol):
    """One position scheme of one model, in that model's number type and on its device."""

    def embed(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Token embeddings x [..., T, d_model] with their places added, or x itself."""
        ...

    def rotate(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Queries or keys x [..., H, T, D] turned by their places, or x itself."""
        ...

    def bias(self, query_position_ids: PositionIds, key_position_ids: PositionIds) -> Tensor | None:
        """What is added to the scores [H, T, S] of keys placed [S] or, per query, [T, S]."""
        ...


def positions_of(weights: Weights) -> Positions:
    """The position scheme of a model, ready for `weights.dtype` and `weights.device`."""
    config = weights.config
    if weights.position_embedding is not None:
        return Learned(config.name, weights.position_embedding)
    if config.scheme == "rope":
        return Rope(config.d_head, config.rope_theta, weights.dtype, weights.device)
    return Alibi(config.n_heads, weights.dtype, weights.device)


class Learned:
    """A table with one row per position id, added to the token embedding (GPT-2)."""

    def __init__(self, model_name: str, table: Tensor) -> None:
        """Takes the table [n_ctx, d_model]."""
        self._model_name = model_name
        self._table = table

    def embed(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Adds the rows of the table.

        Raises:
            ModelError: a position id is outside the table.
        """
        n_rows = self._table.shape[0]
        lowest, highest = _bounds(position_ids)
        if lowest < 0 or highest >= n_rows:
            outside = lowest if lowest < 0 else highest
            raise ModelError(
                f"{self._model_name} has no position {outside}: its table ends at {n_rows - 1}; "
                "choose a shorter run, or the policy that re-reads the text from position 0"
            )
        if lowest == highest and len(position_ids) == 1:
            return x + self._table[lowest : lowest + 1]
        return x + self._table[_on_device(position_ids, self._table.device)]

    def rotate(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Returns x itself."""
        return x

    def bias(self, query_position_ids: PositionIds, key_position_ids: PositionIds) -> None:
        """There is none."""


class Rope:
    """Pairs of a head's numbers turned by an angle that grows with the position id (Llama).

    The pair is (i, i + D/2), the angle position_id / theta^(2i/D). Angles, cosines and sines are
    computed in float32 (float64 in a float64 model) and then rounded to the model's number type.
    """

    def __init__(
        self, d_head: int, theta: float, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        """Takes the head size D, the base theta, and where and how results are wanted."""
        self._half = d_head // 2
        self._dtype = dtype
        self._device = torch.device(device)
        self._precision = torch.promote_types(dtype, torch.float32)
        exponents = torch.arange(0, d_head, 2, dtype=self._precision) / d_head
        self._frequencies = 1.0 / (theta**exponents)
        self._n_table_rows = 0
        self._cos = self._sin = torch.empty(0, d_head, dtype=dtype, device=self._device)

    def embed(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Returns x itself."""
        return x

    def rotate(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Turns x [..., T, D]; the last axis but one belongs to `position_ids` [T]."""
        cos, signed_sin = self._rows(position_ids)
        swapped = torch.roll(x, self._half, -1)
        return x * cos + swapped * signed_sin

    def bias(self, query_position_ids: PositionIds, key_position_ids: PositionIds) -> None:
        """There is none."""

    def _rows(self, position_ids: PositionIds) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines [T, D] of the position ids."""
        lowest, highest = _bounds(position_ids)
        if lowest < 0 or highest >= _MAX_TABLE_ROWS:
            return self._computed(_on_device(position_ids, torch.device("cpu")))
        if highest >= self._n_table_rows:
            self._grow(highest + 1)
        if len(position_ids) == 1:
            return self._cos[lowest : lowest + 1], self._sin[lowest : lowest + 1]
        rows = _on_device(position_ids, self._device)
        return self._cos[rows], self._sin[rows]

    def _grow(self, n_needed: int) -> None:
        n_rows = max(_FIRST_TABLE_ROWS, 1 << (n_needed - 1).bit_length())
        self._cos, self._sin = self._computed(torch.arange(n_rows))
        self._n_table_rows = n_rows

    def _computed(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """The sign of the sines is that of rotate-half: minus for the first half."""
        angles = position_ids.to(self._precision)[:, None] * self._frequencies
        cos, sin = angles.cos(), angles.sin()
        return (
            torch.cat((cos, cos), -1).to(self._device, self._dtype),
            torch.cat((-sin, sin), -1).to(self._device, self._dtype),
        )


class Alibi:
    """A penalty on the score that grows with the distance, at a slope per head (MPT)."""

    def __init__(self, n_heads: int, dtype: torch.dtype, device: torch.device | str) -> None:
        """Takes the number of query heads, and where and how results are wanted."""
        self._precision = torch.promote_types(dtype, torch.float32)
        self._float = np.float64 if self._precision == torch.float64 else np.float32
        self._device = torch.device(device)
        slopes = torch.tensor(alibi_slopes(n_heads), dtype=self._precision, device=self._device)
        self._slopes = slopes[:, None, None]

    def embed(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Returns x itself."""
        return x

    def rotate(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Returns x itself."""
        return x

    def bias(self, query_position_ids: PositionIds, key_position_ids: PositionIds) -> Tensor:
        """-slope * (query position - key position), at least float32: 0 where the two are equal."""
        queries = np.asarray(query_position_ids, dtype=np.int64)[:, None]
        behind = (np.asarray(key_position_ids, dtype=np.int64) - queries).astype(self._float)
        return self._slopes * torch.as_tensor(behind).to(self._device)


def alibi_slopes(n_heads: int) -> tuple[float, ...]:
    """The slope of each head, as MPT has them: 2^(-8 (h + 1) / n) for a power of two n.

    Other numbers of heads take the slopes of the next power of two: every second one from the
    second on, then every second one from the first on, as many as there are heads.
    """
    n_slopes = 1 << (n_heads - 1).bit_length()
    slopes = [2.0 ** (-8.0 * (head + 1) / n_slopes) for head in range(n_slopes)]
    if n_slopes == n_heads:
        return tuple(slopes)
    return tuple((slopes[1::2] + slopes[0::2])[:n_heads])


def _bounds(position_ids: PositionIds) -> tuple[int, int]:
    """Lowest and highest position id; (0, 0) where there are none."""
    if len(position_ids) == 1:
        only = int(position_ids[0])
        return only, only
    if len(position_ids) == 0:
        return 0, 0
    as_array = np.asarray(position_ids, dtype=np.int64)
    return int(as_array.min()), int(as_array.max())


def _on_device(position_ids: PositionIds, device: torch.device) -> Tensor:
    """A copy: torch warns of arrays that are read-only."""
    return torch.as_tensor(np.array(position_ids, dtype=np.int64)).to(device)
