"""The account of a run: its spec, its model, and one record after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.arrays import ABSENT, FloatArray, IntArray, frozen
from core.model.config import ModelConfig
from core.outcome import EndReason
from core.record import StepRecord
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

    def digests(self) -> list[str]:
        """A hash per record; equal runs have equal lists."""
        return [record.digest() for record in self.records]


def rows_as_read(records: Sequence[StepRecord], step: int, layer: int) -> FloatArray:
    """[2, Hkv, S, D] keys and values that attention read in a step; zeros if never written.

    Put together from the records in which each row's bytes were first read.
    """
    record = records[step].layers[layer]
    rows, versions = record.plan.read_rows, record.row_version
    n_heads, _, d_head = record.new_keys.shape
    read = np.zeros((2, n_heads, len(rows), d_head), dtype=record.new_keys.dtype)
    for version in sorted({int(v) for v in versions if v != ABSENT}):
        first = records[version].layers[layer].first_read
        columns = np.flatnonzero(versions == version)
        read[:, :, columns] = first.kv[:, :, _places(first.row, rows[columns])]
    return frozen(read)


def _places(sorted_or_not: IntArray, wanted: IntArray) -> IntArray:
    """Where each of `wanted` stands in `sorted_or_not`."""
    order = np.argsort(sorted_or_not, kind="stable")
    return order[np.searchsorted(sorted_or_not[order], wanted)]
