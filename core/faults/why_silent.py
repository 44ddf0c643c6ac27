"""Why a fault that is on makes no step of a run wrong."""

from collections.abc import Sequence

from core.faults.activation import PER_RUN
from core.faults.catalog import find_faults
from core.faults.families import family_of
from core.faults.fault import Fault
from core.model.config import Scheme
from core.record import StepRecord
from core.spec import FaultUse, RunSpec

_NO_DIFFERENCE = "what its function answered made no difference there"
_POSITIONS: dict[Scheme, str] = {
    "learned": "learned positions",
    "rope": "RoPE",
    "alibi": "ALiBi",
}
_WITHOUT: dict[tuple[Scheme, ...], str] = {
    ("rope",): "nothing is rotated",
    ("learned",): "no position is added to a token",
}
"""By the schemes in which a fault of positions shows: what the others do not have."""


def silence_words(spec: RunSpec, scheme: Scheme, records: Sequence[StepRecord]) -> str:
    """That a run's faults (at least one) are on and nothing is wrong, and why that is so.

    Args:
        spec: of the run.
        scheme: of its model.
        records: of the run.
    """
    uses, n = spec.faults, len(records)
    steps = "its one step" if n == 1 else f"its {n} steps"
    ids = " and ".join(use.id for use in uses)
    why = [_why(use, spec, scheme, records) for use in uses]
    if len(set(why)) == 1:
        why = why[:1]
    else:
        why = [f"{use.id}, {reason}" for use, reason in zip(uses, why, strict=True)]
    verb = "is" if len(uses) == 1 else "are"
    return f"{ids} {verb} on, and nothing is wrong in {steps}: {'; '.join(why)}"


def _why(use: FaultUse, spec: RunSpec, scheme: Scheme, records: Sequence[StepRecord]) -> str:
    return why_silent(use, spec, scheme, records) if use.file is None else _NO_DIFFERENCE


def why_silent(use: FaultUse, spec: RunSpec, scheme: Scheme, records: Sequence[StepRecord]) -> str:
    """The reason why a fault that is on shows nothing, with the run's numbers.

    What the fault needs is looked for in the model, the settings and the records. Where the run has
    it all the same, the reason is not known, and the command that shows the fault is named instead.
    """
    fault = find_faults(use.id)[-1]
    return (
        _not_yet(use, len(records))
        or _without_positions(fault, scheme)
        or _not_set(fault, spec)
        or (None if fault.lacks is None else fault.lacks(records))
        or f"its records do not tell why; kvscope run --fault {use.id} alone shows it"
    )


def _without_positions(fault: Fault, scheme: Scheme) -> str | None:
    """That a fault of positions has none of its kind; others depend on no scheme by themselves."""
    if scheme in fault.schemes or family_of(fault.id) != "Position":
        return None
    return f"with {_POSITIONS[scheme]} {_WITHOUT[fault.schemes]}, so that it cannot show"


def _not_set(fault: Fault, spec: RunSpec) -> str | None:
    """That a run has not the setting whose function is wrong."""
    if fault.seam == "quantise" and spec.kv_dtype is None:
        return "rows are kept as they are computed, not in 8 bits"
    if fault.seam == "evict" and fault.shows_in.sinks and not spec.sinks:
        return "no token is kept as a sink"
    return None


def _not_yet(use: FaultUse, n_steps: int) -> str | None:
    seam = find_faults(use.id)[-1].seam
    if seam in PER_RUN and use.first_step > 0:
        return (
            f"{seam} is asked once, before step 0, and the fault is on from step {use.first_step}"
        )
    if use.first_step < n_steps:
        return None
    return f"it acts from step {use.first_step} on, and the last step is {n_steps - 1}"
