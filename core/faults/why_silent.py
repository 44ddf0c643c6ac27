"""Why a fault that is on makes no step of a run wrong."""

from collections.abc import Sequence

from core.faults.activation import PER_RUN
from core.faults.catalog import find_faults
from core.record import StepRecord
from core.spec import FaultUse


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
