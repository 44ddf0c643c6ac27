"""What a readout is made from: the received part of a run, and what is looked at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.record import StepRecord
from core.selection import Selection
from core.spec import RunSpec
from core.trace import ModelInfo
from core.verdict import StepVerdict


@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """Frozen, so that it may cross threads.

    Attributes:
        spec: what decides the run.
        model: the model used.
        records: the steps so far.
        verdicts: by step number; a step that is not there yet is pending.
        clean: the same spec without a fault, free-running; empty where there is no fault.
        token_text: what a token id shows as.
        selection: what is looked at; `selection.step` is a place in `records`.
    """

    spec: RunSpec
    model: ModelInfo
    records: Sequence[StepRecord]
    verdicts: Mapping[int, StepVerdict]
    clean: Sequence[StepRecord]
    token_text: Callable[[int], str]
    selection: Selection
