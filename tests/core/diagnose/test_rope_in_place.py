"""Keys that are turned again when they are read: whether they were left turned."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from core.diagnose.finding import Diagnosis
from core.record import StepRecord
from core.spec import FaultUse
from core.trace import rows_as_read
from tests.helpers.diagnosis_cases import diagnosis_of, loaded_model
from tests.helpers.runs import Judged, judged, run, spec_for

SPEC = spec_for("rope", steps=8, capacity=32)


def run_with(use: FaultUse, **changes: object) -> Judged:
    spec = replace(SPEC, faults=(use,), **changes)
    return judged(spec, loaded_model(spec.model))


def said_of(use: FaultUse, **changes: object) -> Diagnosis:
    [found] = diagnosis_of(run_with(use, **changes))
    return found


def stays(records: Sequence[StepRecord], layer: int, first: int, last: int) -> bool:
    """Whether the keys of the prompt, which are in the first seven slots, are those of before."""
    before, now = (rows_as_read(records, step, layer)[0, :, :7] for step in (first, last))
    return np.array_equal(before, now)


WHERE: tuple[tuple[int, int | None, tuple[int, ...] | None], ...] = (
    (0, None, None),
    (0, None, (1,)),
    (0, None, (3,)),
    (0, None, (1, 2)),
    (2, None, None),
    (2, 3, None),
    (4, 4, (1,)),
    (5, None, (0,)),
)
"""First and last step in which the fault acts, and its layers."""


@pytest.mark.parametrize(("first", "last", "layers"), WHERE)
@pytest.mark.parametrize("fault_id", ["rope-on-read", "rope-write-back"])
def test_where_and_whenever_keys_are_turned_it_is_known_whether_they_stay_so(
    fault_id: str, first: int, last: int | None, layers: tuple[int, ...] | None
) -> None:
    use = FaultUse(fault_id, first, last, layers)
    layer = layers[-1] if layers else 0
    is_kept = stays(run_with(use).trace.records, layer, max(1, first), max(1, first) + 1)
    assert is_kept == (fault_id == "rope-on-read")
    assert said_of(use).preset_like == fault_id


@pytest.mark.parametrize("use", [
    FaultUse("rope-on-read", 8), FaultUse("rope-write-back", 8),
    FaultUse("rope-on-read", 8, layers=(1,)), FaultUse("rope-write-back", 8, layers=(1,)),
], ids=str)  # fmt: skip
def test_after_a_last_read_nobody_can_know_and_the_other_one_is_the_rival(use: FaultUse) -> None:
    """Steps before the fault acts find the keys as they were, which says nothing of it."""
    found = said_of(use)
    assert found.preset_like in ("rope-on-read", "rope-write-back")
    named = {found.preset_like, found.rivals[0].preset_like}
    assert named == {"rope-on-read", "rope-write-back"}


OPEN = {
    "a ring that went round": (spec_for("rope", policy="window", capacity=7, steps=6), (2, 3)),
    "a text read anew": (spec_for("rope", policy="reprefill", capacity=8, steps=6), (0, None)),
}


@pytest.mark.parametrize("where", OPEN)
def test_rows_that_no_later_call_finds_turned_leave_it_open_and_both_are_named(where: str) -> None:
    """The records of the two are the very same."""
    spec, steps = OPEN[where]
    uses = [FaultUse(each, *steps) for each in ("rope-on-read", "rope-write-back")]
    loaded = loaded_model(spec.model)
    one, other = (run(replace(spec, faults=(use,)), loaded).digests() for use in uses)
    assert one == other
    for use in uses:
        [found] = diagnosis_of(judged(replace(spec, faults=(use,)), loaded))
        assert {found.preset_like, found.rivals[0].preset_like} == {use.id for use in uses}
