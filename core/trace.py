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
    is_written = versions != ABSENT
    needed: list[int] = sorted(set(versions[is_written].tolist()))
    if needed:
        firsts = [records[version].layers[layer].first_read for version in needed]
        given = np.concatenate([first.row for first in firsts])
        given_in = np.repeat(needed, [len(first.row) for first in firsts])
        kv = np.concatenate([first.kv for first in firsts], axis=2)
        n_rows = 1 + int(max(given.max(), rows.max()))
        places = _places(given_in * n_rows + given, (versions * n_rows + rows)[is_written])
        read[:, :, is_written] = kv[:, :, places]
    return frozen(read)


def _places(keys: IntArray, wanted: IntArray) -> IntArray:
    """Where each of `wanted` stands in `keys`."""
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], wanted)]
