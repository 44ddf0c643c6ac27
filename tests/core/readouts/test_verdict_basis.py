"""A verdict that logits do not bear out says on what it rests."""

import pytest

from core.faults.catalog import find_faults
from core.readouts.verdict_words import rests_on
from core.spec import FaultUse
from tests.helpers.runs import judged
from tests.helpers.scenarios import scenario_spec

NUMBERS = "whole numbers compared exactly (policy)"
ROWS = "the rows that were read and seen (mechanism)"
CASES = {
    "off by rounding, policy": (
        "pos-restart", "alibi", f"differ by no more than rounding; the verdict rests on {NUMBERS}",
    ),
    "off by rounding, both": (
        "pos-hole", "alibi",
        f"differ by no more than rounding; the verdict rests on {NUMBERS} and {ROWS}",
    ),
    "right, mechanism": ("ring-shuffle", "rope", f"are right; the verdict rests on {ROWS}"),
    "wrong by themselves": ("mask-top-left", "rope", ""),
    "not computed": ("cap-early", "rope", ""),
}  # fmt: skip


@pytest.mark.parametrize(("fault_id", "scheme", "said"), CASES.values(), ids=CASES)
def test_what_a_verdict_rests_on_is_said_where_the_logits_are_not_wrong(fault_id, scheme, said):
    scenario = find_faults(fault_id)[0].shows_in
    run = judged(scenario_spec(scenario, scheme, FaultUse(fault_id), dtype="bfloat16"))
    words = rests_on(run.verdicts[run.wrong_steps[0]])
    assert words.removeprefix("the logits there ") == said


def test_a_right_step_rests_on_nothing_in_particular():
    run = judged(scenario_spec(find_faults("pos-restart")[0].shows_in, "rope"))
    assert {rests_on(verdict) for verdict in run.verdicts} == {""}
