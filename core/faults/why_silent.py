"""Why a fault that is on makes no step of a run wrong."""

from collections.abc import Sequence

from core.faults.activation import PER_RUN
from core.faults.catalog import find_faults
from core.record import StepRecord
from core.spec import FaultUse

_NO_DIFFERENCE = "what its function answered made no difference there"


def silence_words(uses: Sequence[FaultUse], records: Sequence[StepRecord]) -> str:
    """That faults are on (at least one) and nothing is wrong, and why that is so."""
    n = len(records)
    steps = "its one step" if n == 1 else f"its {n} steps"
    ids = " and ".join(use.id for use in uses)
    why = [_why(use, records) for use in uses]
    if len(set(why)) == 1:
        why = why[:1]
    else:
        why = [f"{use.id}, {reason}" for use, reason in zip(uses, why, strict=True)]
    verb = "is" if len(uses) == 1 else "are"
    return f"{ids} {verb} on, and nothing is wrong in {steps}: {'; '.join(why)}"


def _why(use: FaultUse, records: Sequence[StepRecord]) -> str:
    return why_silent(use, records) if use.file is None else _NO_DIFFERENCE


def why_silent(use: FaultUse, records: Sequence[StepRecord]) -> str:
    """The reason why a fault that is on shows nothing, with the run's numbers.

    What the fault needs is looked for in the records. Where the run has it all the same, the reason
    cannot be told, and the scenario in which the fault is known to hide is named instead.
    """
    fault = find_faults(use.id)[-1]
    late = _not_yet(use, len(records))
    if late is not None:
        return late
    reason = None if fault.lacks is None else fault.lacks(records)
    return reason or f"it hides where {fault.why_hidden}"


def _not_yet(use: FaultUse, n_steps: int) -> str | None:
    seam = find_faults(use.id)[-1].seam
    if seam in PER_RUN and use.first_step > 0:
        return (
            f"{seam} is asked once, before step 0, and the fault is on from step {use.first_step}"
        )
    if use.first_step < n_steps:
        return None
    return f"it acts from step {use.first_step} on, and the last step is {n_steps - 1}"
