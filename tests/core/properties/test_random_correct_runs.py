"""A sample of what `tests.benchmarks.false_alarms` measures."""

import pytest

from core.spec import DTYPE_NAMES
from tests.helpers.correct_runs import alarms, random_case

N_RUNS = 24

GROWING = {
    "float64": (*range(6), 7),
    "float32": (*range(6), 47, 50),
    "float16": (*range(6), 11),
    "bfloat16": (*range(6), 37),
}
"""Runs of models that make rounding grow. Of 7 in float64, 47 and 50 in float32, 5 and 11 in
float16 and 37 in bfloat16 something is called wrong if a row may be off by its band and no more."""


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
def test_nothing_is_called_wrong_in_random_runs_without_a_fault(dtype):
    assert alarms(range(N_RUNS), dtype, seed=7) == []


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
def test_nothing_is_called_wrong_where_the_model_makes_rounding_grow(dtype):
    assert alarms(GROWING[dtype], dtype, seed=7, amplifies=True) == []


def test_the_models_that_make_rounding_grow_are_of_many_shapes():
    cases = [random_case(d, 7, n, amplifies=True) for d, ns in GROWING.items() for n in ns]
    assert {case.policy for case in cases} == {"refuse", "window", "reprefill", "sinks", "ranks"}
    assert {case.loaded.config.scheme for case in cases} == {"learned", "rope", "alibi"}
    assert {case.loaded.config.n_layers for case in cases} == {1, 2, 6, 12, 24}
    assert {case.loaded.config.d_head for case in cases} == {2, 8, 16, 32}
    assert {"gain 4" in case.model for case in cases} == {True, False}
    assert {"far out" in case.model for case in cases} == {True, False}


def test_the_sample_is_of_every_kind_policy_and_scheme():
    cases = [random_case(dtype, 7, n) for dtype in DTYPE_NAMES for n in range(N_RUNS)]
    assert {case.kind for case in cases} == {"plain", "script", "padded", "reused", "beams"}
    assert {case.policy for case in cases} == {"refuse", "window", "reprefill", "sinks", "ranks"}
    assert {case.loaded.config.scheme for case in cases} == {"learned", "rope", "alibi"}
    assert {case.spec.kv_dtype for case in cases} == {None, "int8"}
    assert {case.spec.growable for case in cases} == {True, False}
    assert any(case.spec.temperature > 0 for case in cases)
    assert any(case.model == "learned" for case in cases)
