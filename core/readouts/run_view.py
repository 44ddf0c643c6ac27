"""What a readout is made from: the received part of a run, and what is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from core.faults.function_source import OwnCode
from core.readouts.run_history import RunHistory
from core.readouts.run_summary import RunSummary
from core.record import StepRecord
from core.selection import Selection
from core.spec import RunSpec
from core.trace import ModelInfo
from core.verdict import StepVerdict


@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """Frozen, and made anew at each look at the run, which costs nothing: all of it is shared.

    Readouts are made from it in the thread of its maker, who appends to `history`.

    Attributes:
        spec: what decides the run.
        model: the model used.
        records: the steps so far.
        verdicts: by step number; a step that is not there yet is pending.
        clean: the same spec without a fault, free-running; empty where there is no fault.
        token_text: what a token id shows as.
        selection: what is looked at; `selection.step` is a place in `records`.
        history: what the records say of any step, these and perhaps later ones: ask it for steps
            of `records` only.
        clean_history: likewise of `clean`.
        run_number: number of the run; a later one has a higher number.
        other_runs: those that can be looked at again.
        own: what is shown of the faults that were loaded from files.
    """

    spec: RunSpec
    model: ModelInfo
    records: Sequence[StepRecord]
    verdicts: Mapping[int, StepVerdict]
    clean: Sequence[StepRecord]
    token_text: Callable[[int], str]
    selection: Selection
    history: RunHistory
    clean_history: RunHistory
    run_number: int = 0
    other_runs: tuple[RunSummary, ...] = ()
    own: tuple[OwnCode, ...] = ()

    def is_same(self, other: RunView) -> bool:
        """Whether the same is to be seen: readouts of the two are equal."""
        return self.selection == other.selection and all(
            getattr(self, name) is getattr(other, name) for name in _SHARED
        )


_SHARED = tuple(field.name for field in fields(RunView) if field.name != "selection")
