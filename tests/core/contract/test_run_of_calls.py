"""Which sequences of calls a small model can make, and as which steps."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.contract.calls import Ask
from core.contract.decode import DecodeFinding
from core.contract.plan import plan_for, rows_of
from core.contract.rule import Case
from core.contract.run_of_calls import run_of_case, run_of_finding
from core.contract.run_plan import Act, RunPlan
from core.contract.sequences import changed
from core.contract.subject import Source

CACHES = Path(__file__).parents[2] / "helpers" / "caches"
ONE = Act("read", 1)


@pytest.fixture
def plan(subjects):
    return plan_for(subjects.turned_to(Source(CACHES / "contiguous.py", "KVCache")), frozenset())


def run_of(plan, *calls, capacity=8):
    return run_of_case(Case(plan.sizes(capacity), calls), plan)


def test_appends_are_steps_and_looks_are_none(plan):
    sizes = plan.sizes(8)
    calls = (rows_of(sizes, [0, 1]), Ask("length"), rows_of(sizes, [2]), Ask("read"))
    assert run_of(plan, *calls) == RunPlan("tiny-learned", 8, None, (Act("read", 2), ONE))


def test_truncating_and_resetting_are_steps_and_unlike_numbers_of_rows_a_probe(plan):
    sizes = plan.sizes(8)
    uneven = replace(rows_of(sizes, [1, 2]), v=rows_of(sizes, [1]).v)
    calls = (rows_of(sizes, [0]), uneven, Ask("truncate", n=0), Ask("reset"))
    wanted = (ONE, Act("probe", 2, 1), Act("truncate", 0), Act("reset"))
    assert run_of(plan, *calls).acts == wanted


@pytest.mark.parametrize(("capacity", "acts"), [(1, [1]), (2, [1, 1]), (4, [2, 1, 1]),
                                                (16, [5, 1, 1])])  # fmt: skip
def test_a_sequence_that_reads_no_token_goes_on_with_some(plan, capacity, acts):
    run = run_of(plan, Ask("read"), capacity=capacity)
    assert ([act.n for act in run.acts], run.n_more) == (acts, len(acts))


def test_calls_of_other_layers_than_the_first_are_the_same_step(subjects):
    subject = subjects.turned_to(Source(CACHES / "layered.py", "LayeredCache"))
    plan = plan_for(subject, frozenset())
    sizes = plan.sizes(8)
    calls = [rows_of(sizes, [0], layer) for layer in (1, 0, 1, 0)]
    assert run_of(plan, *calls).acts == (ONE, ONE)


def test_calls_that_no_decode_loop_makes_are_no_run(plan):
    sizes = plan.sizes(8)
    row = rows_of(sizes, [0])
    for odd in (
        Ask("overwrite_given"), Ask("look"), Ask("copy"), Ask("snapshot"), Ask("truncate", n=-1),
        changed(row, kind="strided"), changed(row, d=3), changed(row, fill=0.0),
        changed(row, special={0: "nan"}), rows_of(sizes, []), replace(row, scratch=0),
    ):  # fmt: skip
        assert run_of(plan, row, odd) is None, odd
    assert run_of(plan, row, capacity=0) is None
    assert run_of(plan, rows_of(sizes, range(257))) is None


def test_a_finding_of_the_model_test_is_its_own_run(plan):
    found = DecodeFinding("tiny-rope", (2, 1, 1), 3, 1, 2, 0, "…")
    acts = (Act("read", 2), ONE, ONE)
    assert run_of_finding(found) == RunPlan("tiny-rope", 3, 1, acts, is_of_model_test=True)
    assert run_of_finding(replace(found, what="rows of float16")) is None


def test_a_run_plan_comes_back_from_json():
    import json
    from dataclasses import asdict

    run = RunPlan("tiny-rope", 3, 1, (Act("read", 2), Act("probe", 1, 2)), n_more=1)
    assert RunPlan.of_json(json.loads(json.dumps(asdict(run)))) == run
