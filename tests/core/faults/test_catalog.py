import dataclasses
import inspect
import re

import pytest

from core.engine import seams
from core.engine.seams import CORRECT, Seams
from core.errors import FaultError
from core.faults.catalog import COMBINATIONS, FAULTS, find_faults
from core.faults.fault import Fault, changed_seams
from core.outcome import OK, Refused
from core.spec import FaultUse
from core.verdict import FIELDS
from tests.helpers.runs import SCHEMES, judged
from tests.helpers.scenarios import scenario_spec

BY_ID = {fault.id: fault for fault in FAULTS}

# The verdict of each step of the scenario that shows the fault: r right, W wrong, - none.
SHOWN = {
    #                     policy        mechanism     logits
    "pos-restart": ("rWWWWW", "rrrrrr", "rWWWWW"),
    "mask-top-left": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "mask-unwritten": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "cap-early": ("rrrrrW", "rrrrrr", "rrrrr-"),
    "cap-counter-first": ("rrrrrrWWWW", "rrrrrrrrWW", "rrrrrr--WW"),
    "store-row-zero": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "store-alias-in": ("rrrrrr", "rrWWWW", "rrWWWW"),
    "store-uneven": ("rrWWW", "rrrWW", "rr-WW"),
}
CASES = [(fault_id, scheme) for fault_id in BY_ID for scheme in SCHEMES]
_LETTER = {"right": "r", "wrong": "W", "rounding": "~", None: "-"}


def _letters(verdicts):
    return "".join(_LETTER[verdict] for verdict in verdicts)


def _shown(fault_id, scheme, **settings):
    return judged(scenario_spec(BY_ID[fault_id].shows_in, scheme, FaultUse(fault_id), **settings))


def test_the_catalogue_holds_the_eight_faults():
    assert set(BY_ID) == set(SHOWN)
    assert len(FAULTS) == len(BY_ID)


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_a_fault_gives_each_step_the_verdicts_of_the_table(fault_id, scheme):
    run = _shown(fault_id, scheme)
    found = _letters(run.policy), _letters(run.mechanism), _letters(run.logits)
    assert found == SHOWN[fault_id]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("fault_id", ["cap-early", "cap-counter-first", "store-uneven"])
def test_what_a_cache_answers_is_judged_alike_in_every_number_type(fault_id, dtype):
    run = _shown(fault_id, "learned", dtype=dtype)
    assert _letters(run.policy) == SHOWN[fault_id][0]


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_a_fault_shows_first_in_float32_where_it_does_in_float64(fault_id, scheme):
    run = _shown(fault_id, scheme, dtype="float32")
    assert run.wrong_steps[0] == BY_ID[fault_id].promise.step
    assert run.verdicts[run.wrong_steps[0]].first_difference.field == BY_ID[fault_id].promise.field


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_a_fault_shows_first_at_the_promised_step_and_field(fault_id, scheme):
    promise, run = BY_ID[fault_id].promise, _shown(fault_id, scheme)
    assert run.wrong_steps[0] == promise.step
    difference = run.verdicts[promise.step].first_difference
    assert difference.field == promise.field
    assert (run.wrong_logits or [None])[0] == promise.first_wrong_logits


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_before_the_promised_step_nothing_differs(fault_id, scheme):
    promise, run = BY_ID[fault_id].promise, _shown(fault_id, scheme)
    assert [v.first_difference for v in run.verdicts[: promise.step]] == [None] * promise.step


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_a_fault_is_silent_where_it_hides(fault_id, scheme):
    run = judged(scenario_spec(BY_ID[fault_id].hides_in, scheme, FaultUse(fault_id)))
    assert run.wrong_steps == []
    assert set(run.logits) <= {"right", None}
    assert [verdict.first_difference for verdict in run.verdicts] == [None] * len(run.verdicts)


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_without_the_fault_its_scenario_is_right_at_every_step(fault_id, scheme):
    run = judged(scenario_spec(BY_ID[fault_id].shows_in, scheme))
    assert run.wrong_steps == []


@pytest.mark.parametrize(
    ("fault_id", "outcomes"),
    [
        ("pos-restart", [OK] * 6),
        ("mask-top-left", [OK] * 6),
        ("mask-unwritten", [OK] * 6),
        ("cap-early", [OK] * 5 + [Refused(1, 1)]),
        ("cap-counter-first", [OK] * 6 + [Refused(1, 0), OK, OK, OK]),
        ("store-row-zero", [OK] * 6),
        ("store-alias-in", [OK] * 6),
        ("store-uneven", [OK] * 5),
    ],
)
def test_a_fault_ends_each_step_as_its_scenario_says(fault_id, outcomes):
    assert [record.outcome for record in _shown(fault_id, "rope").trace.records] == outcomes


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_changes_exactly_one_seam(fault):
    names = [field.name for field in dataclasses.fields(Seams)]
    changed = [name for name in names if getattr(fault.patch, name) is not getattr(CORRECT, name)]
    assert changed == [fault.seam]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_has_the_parameters_of_the_seam_it_replaces(fault):
    wrong = inspect.signature(getattr(fault.patch, fault.seam))
    right = inspect.signature(getattr(seams, fault.seam))
    assert list(wrong.parameters) == list(right.parameters)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_says_what_it_is(fault):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", fault.id)
    assert fault.tier in {"A", "B"}
    assert fault.promise.field in FIELDS
    for line in (fault.title, fault.symptom, fault.why_hidden, fault.repair):
        assert line
        assert "\n" not in line
    assert inspect.getdoc(getattr(fault.patch, fault.seam))
    for source in fault.sources:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", source)


def test_a_fault_of_no_seam_or_of_two_is_refused():
    known = FAULTS[0]
    values = {field.name: getattr(known, field.name) for field in dataclasses.fields(Fault)}
    with pytest.raises(FaultError, match="replaces 0 seams"):
        Fault(**{**values, "patch": CORRECT})
    two = dataclasses.replace(known.patch, repeat_kv=lambda heads, n_rep: heads)
    assert set(changed_seams(two)) == {"position_ids", "repeat_kv"}
    with pytest.raises(FaultError, match="replaces 2 seams"):
        Fault(**{**values, "patch": two})


def test_an_unknown_fault_is_refused_with_all_that_are_known():
    with pytest.raises(FaultError) as caught:
        find_faults("pos-restrat")
    for known in ("pos-restrat", *BY_ID, *COMBINATIONS):
        assert known in str(caught.value)


def test_a_combination_stands_for_its_members():
    assert [f.id for f in find_faults("both-bugs")] == ["pos-restart", "mask-top-left"]
    members = ["cap-early", "cap-counter-first", "mask-unwritten"]
    assert [f.id for f in find_faults("interview-class")] == members
    assert len({fault.seam for fault in find_faults("interview-class")}) == 3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_both_bugs_show_together(scheme):
    run = judged(scenario_spec(BY_ID["pos-restart"].shows_in, scheme, FaultUse("both-bugs")))
    assert _letters(run.policy) == SHOWN["pos-restart"][0]
    assert _letters(run.mechanism) == SHOWN["mask-top-left"][1]
    assert _letters(run.logits) == "rWWWWW"
    assert run.verdicts[1].first_difference.field == "position_ids"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_interview_class_shows_all_three_of_its_faults(scheme):
    scenario = BY_ID["cap-counter-first"].shows_in
    run = judged(scenario_spec(scenario, scheme, FaultUse("interview-class")))
    records = run.trace.records
    # mask-unwritten: 5 of 12 slots are empty in the prefill and take part.
    assert run.verdicts[0].first_difference.field == "visible"
    assert run.logits[0] == "wrong"
    # cap-early: token 11 is refused with one slot free, and cap-counter-first counts it twice over.
    assert records[5].outcome == Refused(1, 1)
    assert run.verdicts[5].expected.outcome == OK
    assert records[5].reported_length == 12
    assert records[6].outcome == Refused(1, 0)
    assert records[6].reported_length == 13


def test_a_combination_gives_the_records_of_its_members_named_one_by_one():
    scenario = BY_ID["pos-restart"].shows_in
    named = judged(scenario_spec(scenario, "rope", FaultUse("both-bugs")))
    apart = judged(
        scenario_spec(scenario, "rope", FaultUse("mask-top-left"), FaultUse("pos-restart"))
    )
    assert named.trace.digests() == apart.trace.digests()
