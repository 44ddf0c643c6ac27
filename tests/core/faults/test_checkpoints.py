"""Going back in a preset's run: whatever is replayed, switched on or off, the run stays the same.

That a branch of a finished run repeats it, is in `test_catalog.py`.
"""

from functools import cache

import pytest

from core.faults.catalog import FAULTS
from core.faults.fault import Fault
from core.session import Session
from core.spec import FaultUse, RunSpec
from core.trace_rerun import rerun
from core.tracefile import open_trace, save_trace
from tests.helpers.runs import run, tiny
from tests.helpers.scenarios import scenario_spec

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)


def _spec(fault: Fault, *uses: FaultUse) -> RunSpec:
    """The preset's own scenario, in a scheme in which it shows."""
    return scenario_spec(fault.shows_in, fault.schemes[0], *uses, dtype="float32")


@cache
def _digests(spec: RunSpec) -> list[str]:
    return run(spec).digests()


@each_fault
def test_branches_on_the_way_repeat_a_run_and_leave_it_as_it_is(fault):
    at = fault.promise.step
    spec = _spec(fault, FaultUse(fault.id, at, at + 1))
    uninterrupted = _digests(spec)
    session = Session(spec, tiny(fault.schemes[0]))
    while session.advance() is not None:
        child = session.branch(len(session.trace.records) - 1)
        assert child.run().digests() == uninterrupted
    assert session.trace.digests() == uninterrupted


@each_fault
def test_a_fault_switched_on_later_leaves_the_steps_before_it_as_they_were(fault):
    clean = _digests(_spec(fault))
    for first in (fault.promise.step, fault.promise.step + 1, len(clean)):
        late = _digests(_spec(fault, FaultUse(fault.id, first)))
        assert late[:first] == clean[:first]


@each_fault
def test_a_fault_switched_off_leaves_the_steps_up_to_there_as_they_were(fault):
    always = _digests(_spec(fault, FaultUse(fault.id)))
    for last in (fault.promise.step, len(always) - 2):
        until = _digests(_spec(fault, FaultUse(fault.id, 0, last)))
        assert until[: last + 1] == always[: last + 1]


@each_fault
def test_a_branch_with_the_fault_is_the_run_that_has_it_from_that_step_on(fault):
    session = Session(_spec(fault), tiny(fault.schemes[0]))
    clean = session.run().digests()
    at = fault.promise.step
    child = session.branch(at, faults=(FaultUse(fault.id),))
    assert child.run().digests() == _digests(_spec(fault, FaultUse(fault.id, at)))
    assert session.trace.digests() == clean


@each_fault
def test_a_small_file_of_a_preset_gives_the_uninterrupted_run(fault, tmp_path):
    trace = run(_spec(fault, FaultUse(fault.id)))
    path = tmp_path / "run.kvtrace"
    save_trace(path, trace, full=False)
    again = rerun(open_trace(path), tiny(fault.schemes[0]))
    assert again.agreement == "identical"
    assert again.trace.digests() == trace.digests()
