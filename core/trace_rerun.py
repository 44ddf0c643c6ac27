"""Makes the run of a small trace file again, and says whether it is the same run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.faults.known import BUILT_IN, KnownFaults
from core.model.loading import LoadedModel, load_model, model_names
from core.record import StepRecord
from core.session import Session
from core.tolerance import logits_band
from core.trace import Trace
from core.trace_versions import versions_here
from core.tracefile import OpenedTrace, Recorded, top_logit

Agreement = Literal["identical", "within the band", "different"]


@dataclass(frozen=True, slots=True, eq=False)
class Rerun:
    """A run that was made again.

    Attributes:
        trace: the run.
        is_same_place: whether machine and versions are those of the file.
        agreement: "identical": every digest is the recorded one. "within the band": the token ids
            are, and the largest logits differ by no more than rounding. Else "different".
        first_different_step: the first step that makes it different; None unless it is.
    """

    trace: Trace
    is_same_place: bool
    agreement: Agreement
    first_different_step: int | None


def model_of(opened: OpenedTrace) -> LoadedModel:
    """The model of a trace: by its name, or from the folder that it was loaded from.

    Raises:
        ModelError: it is not there any more.
    """
    model = opened.recorded.model
    return load_model(model.name if model.name in model_names() else model.path or model.name)


def rerun(opened: OpenedTrace, loaded: LoadedModel, known: KnownFaults = BUILT_IN) -> Rerun:
    """Make the run of a trace file again, as many steps as were recorded.

    Its faults are looked up in `known`; nothing is loaded.

    Raises:
        CoreError: the spec cannot be run here.
    """
    recorded = opened.recorded
    n_recorded = len(recorded.digests)
    # No more steps than were recorded, whatever the file asks for.
    spec = replace(opened.spec, steps=min(opened.spec.steps, n_recorded))
    session = Session(spec, loaded, known=known)
    while len(session.trace.records) < n_recorded and session.advance() is not None:
        pass
    trace = replace(session.trace, spec=opened.spec, end=recorded.end)
    is_same_place = versions_here(opened.spec.device) == opened.versions
    if tuple(trace.digests()) == recorded.digests:
        return Rerun(trace, is_same_place, "identical", None)
    step = _first_different(trace.records, recorded, opened.spec.dtype)
    agreement = "within the band" if step is None else "different"
    return Rerun(trace, is_same_place, agreement, step)


def _first_different(records: Sequence[StepRecord], recorded: Recorded, dtype: str) -> int | None:
    """The first step with other tokens, or with a largest logit beyond the band."""
    for record in records:
        is_same = record.token_ids == recorded.token_ids[record.step] and _is_close(
            record, recorded.top_logits[record.step], dtype
        )
        if not is_same:
            return record.step
    return None if len(records) == len(recorded.digests) else len(records)


def _is_close(record: StepRecord, before: float | None, dtype: str) -> bool:
    now = top_logit(record)
    if now is None or before is None or record.logits is None:
        return now is before
    if np.isnan(now) or np.isnan(before):
        return bool(np.isnan(now) and np.isnan(before))
    return now == before or abs(now - before) <= logits_band(dtype, record.logits)
