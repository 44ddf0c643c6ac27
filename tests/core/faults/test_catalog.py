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
from core.session import Session
from core.spec import FaultUse
from core.tracefile import open_trace, save_trace
from core.verdict import FIELDS
from tests.helpers.runs import SCHEMES, judged, tiny
from tests.helpers.scenarios import scenario_spec

BY_ID = {fault.id: fault for fault in FAULTS}

# The verdict of each step of the scenario that shows the fault: r right, W wrong, - none.
SHOWN = {
    #                     policy        mechanism     logits
    "pos-restart": ("rWWWWW", "rrrrrr", "rWWWWW"),
    "pos-skip-single": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "pos-wrong-axis": ("rWWWWW", "rrrrrr", "rWWWWW"),
    "pos-hole": ("rWWWWWW", "rWWWWWW", "rWWWWWW"),
    "pos-memo": ("rrWWWW", "rrrrrr", "rrWWWW"),
    "pos-stale-prompt": ("rrWWWW", "rrrrrr", "rrWWWW"),
    "pos-layer-counter": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "pos-layer-prefill": ("rrrrrr", "WWWWWW", "rWWWWW"),
    "pos-captured-alias": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "pos-retained-rows": ("rrrWWW", "rrrrrr", "rrrWWW"),
    "rope-on-read": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "rope-write-back": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "rope-writeback-lost": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "mask-top-left": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "mask-own-block": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "mask-off-with-cache": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "mask-pads-open": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "mask-nan-row": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "pos-pad-mixed": ("rWWWWW", "rrrrrr", "rWWWWW"),
    "pos-pad-columns": ("WWWWWW", "rrrrrr", "WWWWWW"),
    "mask-own-chunk": ("rrrrrrrr", "rWWWWWWW", "rWWWWWWW"),
    "quant-zero-scale": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "beam-no-reorder": ("rrrrrrrrr", "rrrrrWWWW", "rrrr-WWWW"),
    "beam-keys-only": ("rrrrrrrrr", "rrrrrWWWW", "rrrr-WWWW"),
    "mask-unwritten": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "cap-early": ("rrrrrW", "rrrrrr", "rrrrr-"),
    "cap-late": ("rrrrrrW", "rrrrrrW", "rrrrrrW"),
    "cap-counter-first": ("rrrrrrWWWW", "rrrrrrrrWW", "rrrrrr--WW"),
    "cap-one-row-test": ("rrrrrWr", "rrrrrrr", "rrrrr--"),
    "evict-newest": ("rrWWWW", "rrrrrr", "rrrWWW"),
    "evict-off-by-one": ("rrWWWW", "rrrrrr", "rrWWWW"),
    "evict-one-short": ("rWWWWW", "rrrrrr", "rWWWWW"),
    "evict-never": ("rrWWWW", "rrrrrr", "rrrrrr"),
    "evict-before-attend": ("rrrrrrr", "rWWWWWW", "rWWWWWW"),
    "ring-start": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "ring-shuffle": ("rrrrrr", "rrWWWW", "rrrrrr"),
    "sinks-lost": ("rrWWWW", "rrrrrr", "rrrWWW"),
    "store-row-zero": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "store-alias-in": ("rrrrrr", "rrWWWW", "rrWWWW"),
    "store-alias-out": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "store-write-lost": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "store-first-lost": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "store-layers-share": ("rrrrrr", "rWWWWW", "rWWWWW"),
    "store-double-append": ("rWWWWW", "rrWWWr", "rrWWW-"),
    "store-grow-scramble": ("rrrrrr", "rrWWWW", "rrWWWW"),
    "spec-no-rollback": ("rrWWW", "rrrWW", "rrrWW"),
    "spec-short": ("rrWWW", "rrrWW", "rrrWW"),
    "spec-reset": ("rrWWW", "rrrrr", "rrrWW"),
    "prefix-last-twice": ("rrrWW", "rrrrr", "rrrWW"),
    "quant-floor": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "quant-no-descale": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "store-stale-reset": ("rrrWW", "rrrrr", "rrrWW"),
    "store-uneven": ("rrWWW", "rrrWW", "rr-WW"),
    "gqa-tile": ("rrrrrr", "WWWWWW", "WWWWWW"),
    "gauge-lies": ("rrWWWW", "rrrrrr", "rrrrrr"),
}
RIGHT_LOGITS = {
    (fault_id, scheme)
    for fault_id in ("store-stale-reset", "pos-pad-columns")
    for scheme in ("rope", "alibi")
}
"""A shift that all tokens share is not seen in the logits where only distances count."""
SHOWING = {fault.id: fault.schemes for fault in FAULTS}
CASES = [(fault_id, scheme) for fault_id in BY_ID for scheme in SHOWING[fault_id]]
SILENT_CASES = [(i, scheme) for i in BY_ID for scheme in SCHEMES if scheme not in SHOWING[i]]
HIDING = {fault.id: fault.hides_in for fault in FAULTS if fault.hides_in is not None}
_LETTER = {"right": "r", "wrong": "W", "rounding": "~", None: "-"}


def _letters(verdicts):
    return "".join(_LETTER[verdict] for verdict in verdicts)


def _shown(fault_id, scheme, **settings):
    return judged(scenario_spec(BY_ID[fault_id].shows_in, scheme, FaultUse(fault_id), **settings))


def test_every_fault_of_the_catalog_has_its_verdicts_in_the_table():
    assert set(BY_ID) == set(SHOWN)
    assert len(FAULTS) == len(BY_ID)


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_a_fault_gives_each_step_the_verdicts_of_the_table(fault_id, scheme):
    run = _shown(fault_id, scheme)
    policy, mechanism, logits = SHOWN[fault_id]
    if (fault_id, scheme) in RIGHT_LOGITS:
        logits = logits.replace("W", "r")
    assert _letters(run.policy) == policy
    assert _letters(run.mechanism) == mechanism
    assert _letters(run.logits) == logits


@pytest.mark.parametrize(("fault_id", "scheme"), SILENT_CASES)
def test_a_fault_is_silent_in_the_schemes_that_it_does_not_name(fault_id, scheme):
    run = _shown(fault_id, scheme)
    assert run.wrong_steps == []
    assert set(run.logits) <= {"right", None}


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
    verdict = run.verdicts[promise.step]
    assert verdict.first_difference.field == promise.field
    assert verdict.first_difference.layer == promise.layer
    standing = verdict.logits.standing if verdict.logits else None
    names = {"policy": verdict.policy, "mechanism": verdict.mechanism, "logits": standing}
    wrong = tuple(name for name, found in names.items() if found == "wrong")
    has_logits = (fault_id, scheme) not in RIGHT_LOGITS
    assert wrong == tuple(v for v in promise.verdicts if has_logits or v != "logits")
    first_wrong = promise.first_wrong_logits if has_logits else None
    assert (run.wrong_logits or [None])[0] == first_wrong


@pytest.mark.parametrize(("fault_id", "scheme"), CASES)
def test_before_the_promised_step_nothing_differs(fault_id, scheme):
    promise, run = BY_ID[fault_id].promise, _shown(fault_id, scheme)
    assert [v.first_difference for v in run.verdicts[: promise.step]] == [None] * promise.step


def _hiding_cases():
    """A fault that hides in another model does so by that model's scheme only."""
    for fault_id, scenario in HIDING.items():
        is_own = scenario.model == BY_ID[fault_id].shows_in.model
        for scheme in SHOWING[fault_id] if is_own else ("learned",):
            yield fault_id, scheme


@pytest.mark.parametrize(("fault_id", "scheme"), [*_hiding_cases()])
def test_a_fault_is_silent_where_it_hides(fault_id, scheme):
    run = judged(scenario_spec(HIDING[fault_id], scheme, FaultUse(fault_id)))
    assert run.wrong_steps == []
    assert set(run.logits) <= {"right", None}
    assert [verdict.first_difference for verdict in run.verdicts] == [None] * len(run.verdicts)


@pytest.mark.parametrize(("fault_id", "scheme"), [(i, s) for i in BY_ID for s in SCHEMES])
def test_without_the_fault_its_scenario_is_right_at_every_step(fault_id, scheme):
    run = judged(scenario_spec(BY_ID[fault_id].shows_in, scheme))
    assert run.wrong_steps == []


@pytest.mark.parametrize(
    ("fault_id", "outcomes"),
    [
        ("cap-early", [OK] * 5 + [Refused(1, 1)]),
        ("cap-late", [OK] * 7),
        ("cap-one-row-test", [OK] * 6 + [Refused(1, 0)]),
        ("store-double-append", [OK] * 5 + [Refused(1, 0)]),
        ("cap-counter-first", [OK] * 6 + [Refused(1, 0), OK, OK, OK]),
        ("store-uneven", [OK] * 5),
    ],
)
def test_a_fault_ends_each_step_as_its_scenario_says(fault_id, outcomes):
    assert [record.outcome for record in _shown(fault_id, "rope").trace.records] == outcomes


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_from_every_step_of_a_fault_a_branch_repeats_the_run(fault):
    spec = scenario_spec(fault.shows_in, fault.schemes[-1], FaultUse(fault.id), dtype="float32")
    session = Session(spec, tiny(fault.schemes[-1]))
    digests = session.run().digests()
    for step in range(len(digests)):
        child = session.branch(step)
        assert child.run().digests() == digests


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_records_of_a_fault_come_back_from_a_file_as_they_were(fault, tmp_path):
    run = _shown(fault.id, fault.schemes[0], dtype="float32")
    path = tmp_path / "run.kvtrace"
    save_trace(path, run.trace, full=True, verdicts=run.verdicts)
    opened = open_trace(path)
    assert opened.spec == run.trace.spec
    assert opened.trace.digests() == run.trace.digests()
    found = [verdict.first_difference for verdict in opened.verdicts]
    assert found == [verdict.first_difference for verdict in run.verdicts]


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
    for line in (fault.title, fault.symptom, fault.mechanism, fault.why_hidden, fault.repair):
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
