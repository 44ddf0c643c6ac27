"""The list of runs: each is named by what differs from the one before."""

from dataclasses import replace

import pytest

from core.readouts.run_summary import RunSummary, summary
from core.readouts.runs import run_name, runs_readout
from core.spec import Decode, FaultUse, Prefill, Probe, RunSpec
from tests.core.readouts.runs import FORCED, PLAIN, view_of, with_fault

SPEC = RunSpec("tiny-rope", (1, 2, 3), steps=2, capacity=8, force_ids=(7, None, 9))


def facts(spec: RunSpec, number: int = 1, forced: tuple[tuple[int, str], ...] = ()) -> RunSummary:
    return RunSummary(number, spec, "a b c", 3, None, "", forced)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({}, "the same again"),
        ({"steps": 9}, "the same again"),
        ({"capacity": 12}, "capacity 12"),
        ({"policy": "window", "seed": 4}, "policy window · seed 4"),
        ({"model": "tiny-alibi"}, "model tiny-alibi"),
        ({"dtype": "float16"}, "float16"),
        ({"chunk": 2}, "chunk 2"),
        ({"prompt_ids": (4, 5)}, "prompt “a b c”"),
        ({"faults": (FaultUse("cap-early"),)}, "cap-early"),
        ({"faults": (FaultUse("cap-early", 3, 5, (1, 2)),)},
         "cap-early from step 3 to step 5 in layers 1, 2"),
        ({"policy": "sinks", "sinks": 2, "reassign_positions": True},
         "policy sinks · sinks 2 · positions re-assigned"),
        ({"requests": (Prefill((1, 2, 3)), Probe(1, 1))}, "other requests"),
    ],
)  # fmt: skip
def test_a_run_is_named_by_what_differs_from_the_one_before(changed, name):
    assert run_name(facts(replace(SPEC, **changed)), facts(SPEC)) == name


def test_a_setting_taken_back_is_named_too():
    faulty = replace(SPEC, faults=(FaultUse("cap-early"),), chunk=2)
    assert run_name(facts(SPEC), facts(faulty)) == "chunk none · without cap-early"


def test_more_decodes_at_the_end_of_a_script_are_no_difference():
    scripted = replace(SPEC, requests=(Prefill((1, 2, 3)), Probe(1, 1), Decode()))
    longer = replace(scripted, requests=(Prefill((1, 2, 3)), Probe(1, 1), *(Decode(),) * 3))
    assert run_name(facts(longer), facts(scripted)) == "the same again"


def test_a_forced_token_is_named_with_its_place_in_the_text():
    before = facts(SPEC, forced=((0, "·is"),))
    after = facts(SPEC, forced=((0, "·is"), (2, "·Tom")))
    assert run_name(after, before) == "'·Tom' forced as token 5"
    assert run_name(before, after) == "fewer tokens forced"


def test_the_first_run_is_named_by_what_it_is():
    faulty = replace(SPEC, faults=(FaultUse("cap-early"),))
    assert run_name(facts(faulty), None) == "tiny-rope · refuse, capacity 8 · cap-early"


def test_what_a_run_says_is_what_it_chose_itself():
    forced = view_of(FORCED, 0)
    found = summary(1, forced.spec, forced.records, forced.verdicts, forced.token_text)
    chosen = [r.next_token for r in forced.records if not r.is_forced and r.next_token is not None]
    assert found.said == "".join(map(forced.token_text, chosen)).replace("·", " ").strip()
    assert found.forced == ((1, "A"),)


def test_the_run_looked_at_stands_among_the_others_in_the_order_of_their_numbers():
    shown = replace(view_of(with_fault(PLAIN, "pos-restart"), 0), run_number=2)
    others = (facts(replace(PLAIN, capacity=9), 3), facts(PLAIN, 1))
    lines = runs_readout(replace(shown, other_runs=others)).lines
    assert [(line.number, line.is_shown) for line in lines] == [(1, False), (2, True), (3, False)]
    assert lines[1].name == "pos-restart"
    assert lines[1].first_wrong == 1
    assert lines[2].name == "capacity 9 · without pos-restart"
