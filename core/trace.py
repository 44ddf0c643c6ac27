"""The account of a run: its spec, its model, and one record after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray, distinct, frozen
from core.model.config import ModelConfig
from core.outcome import EndReason
from core.packing import packed
from core.record import LayerRecord, Rows, StepRecord
from core.spec import RunSpec


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Which model a run used.

    Attributes:
        name: as the spec names it.
        path: its folder; None for a built-in model.
        config: its shape.
    """

    name: str
    path: str | None
    config: ModelConfig


@dataclass(slots=True)
class Trace:
    """Append only: what was recorded is never changed.

    Attributes:
        spec: what decides the run; grows with it when more steps are asked for.
        model: the model used.
        records: one per step.
        end: why the run is over; None while it can go on.
    """

    spec: RunSpec
    model: ModelInfo
    records: list[StepRecord] = field(default_factory=list[StepRecord])
    end: EndReason | None = None

    def pack_newest(self) -> StepRecord:
        """Keep the newest record in memory of its own; what it says stays."""
        self.records[-1] = packed(self.records[-1])
        return self.records[-1]

    def digests(self) -> list[str]:
        """A hash per record; equal runs have equal lists."""
        return [record.digest() for record in self.records]


def rows_as_read(records: Sequence[StepRecord], step: int, layer: int) -> FloatArray:
    """[2, Hkv, S, D] keys and values that attention read in a step; zeros if never written.

    Put together from the records in which each row's bytes were first read.
    """
    record = records[step].layers[layer]
    n_heads, _, d_head = record.new_keys.shape
    n_rows = len(record.row_version)
    read = np.zeros((2, n_heads, n_rows, d_head), dtype=record.new_keys.dtype)
    found = _sources(records, record, layer)
    if found is not None:
        kv = np.concatenate([first.kv for first in found.firsts], axis=2)
        read[:, :, found.is_written] = kv[:, :, found.places]
    return frozen(read)


def head_as_read(
    records: Sequence[StepRecord], step: int, layer: int, part: int, head: int
) -> FloatArray:
    """[S, D] what `rows_as_read` gives at [part, head], without the others: 0 keys, 1 values."""
    record = records[step].layers[layer]
    shape = len(record.row_version), record.new_keys.shape[-1]
    read = np.zeros(shape, dtype=record.new_keys.dtype)
    found = _sources(records, record, layer)
    if found is not None:
        kv = np.concatenate([first.kv[part, head] for first in found.firsts])
        read[found.is_written] = kv[found.places]
    return frozen(read)


@dataclass(frozen=True, slots=True, eq=False)
class _Sources:
    """Where the S rows that a layer read come from.

    Attributes:
        is_written: [S] whether a record has the row.
        firsts: the rows of the steps that first read some of them.
        places: for each written row, its place among the rows of all `firsts`.
    """

    is_written: BoolArray
    firsts: tuple[Rows, ...]
    places: IntArray


def _sources(records: Sequence[StepRecord], record: LayerRecord, layer: int) -> _Sources | None:
    """The sources of what a layer read; None: nothing of it was ever written."""
    rows, versions = record.plan.read_rows, record.row_version
    is_written = versions != ABSENT
    needed = distinct(versions[is_written])
    if not needed:
        return None
    firsts = tuple(records[version].layers[layer].first_read for version in needed)
    given = np.concatenate([first.row for first in firsts])
    given_in = np.repeat(needed, [len(first.row) for first in firsts])
    n_rows = 1 + int(max(given.max(), rows.max()))
    places = _places(given_in * n_rows + given, (versions * n_rows + rows)[is_written])
    return _Sources(is_written, firsts, places)


def _places(keys: IntArray, wanted: IntArray) -> IntArray:
    """Where each of `wanted` stands in `keys`."""
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], wanted)]
