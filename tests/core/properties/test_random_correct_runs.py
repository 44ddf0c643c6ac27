"""A sample of what `tests.benchmarks.false_alarms` measures."""

import pytest

from core.spec import DTYPE_NAMES
from tests.helpers.correct_runs import alarms, random_case

N_RUNS = 24


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
def test_nothing_is_called_wrong_in_random_runs_without_a_fault(dtype):
    assert alarms(range(N_RUNS), dtype, seed=7) == []


def test_the_sample_is_of_every_kind_policy_and_scheme():
    cases = [random_case(dtype, 7, n) for dtype in DTYPE_NAMES for n in range(N_RUNS)]
    assert {case.kind for case in cases} == {"plain", "script", "padded", "reused", "beams"}
    assert {case.policy for case in cases} == {"refuse", "window", "reprefill", "sinks", "ranks"}
    assert {case.loaded.config.scheme for case in cases} == {"learned", "rope", "alibi"}
    assert {case.spec.kv_dtype for case in cases} == {None, "int8"}
    assert {case.spec.growable for case in cases} == {True, False}
    assert any(case.spec.temperature > 0 for case in cases)
    assert any(case.model == "learned" for case in cases)
