"""A run that is not looked at now, with all that was received of it."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from app.messages import Started
from core.outcome import EndReason
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.selection import Selection
from core.spec import RunSpec
from core.verdict import StepVerdict


@dataclass(frozen=True, slots=True, eq=False)
class HeldRun:
    """Enough to look at the run again at once, and to make it again when it is to go on.

    Attributes:
        started: how it began.
        spec: its specification, as far as it grew.
        records: its steps.
        clean: those of the same run without faults.
        verdicts: by step number.
        end: why no further step can come; None: one can.
        selection: what was looked at.
        history: what the records say of any step.
        clean_history: likewise of `clean`.
    """

    started: Started
    spec: RunSpec
    records: tuple[StepRecord, ...]
    clean: tuple[StepRecord, ...]
    verdicts: Mapping[int, StepVerdict]
    end: EndReason | None
    selection: Selection
    history: RunHistory
    clean_history: RunHistory

    @property
    def n_bytes(self) -> int:
        """About how much memory its numbers take.

        Steps that read equally many tokens count as the middle one of them: a prefill of a
        thousand tokens is much larger than all decode steps after it.
        """
        return sum(
            len(alike) * _n_bytes(alike[len(alike) // 2])
            for records in (self.records, self.clean)
            for alike in _alike(records)
        )


def _alike(records: Iterable[StepRecord]) -> Iterable[list[StepRecord]]:
    """The steps, by how many tokens they read."""
    found: dict[int, list[StepRecord]] = {}
    for record in records:
        found.setdefault(len(record.token_ids), []).append(record)
    return found.values()


def _n_bytes(record: StepRecord) -> int:
    arrays = {id(array): array for array in _arrays(record)}
    return sum(array.nbytes for array in arrays.values())


def _arrays(value: object) -> Iterator[np.ndarray]:
    """All arrays in a frozen dataclass, and in those that it holds."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in cast("tuple[object, ...]", value):
            yield from _arrays(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(cast("Any", value)):
            yield from _arrays(getattr(value, field.name))
