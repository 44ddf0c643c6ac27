"""What is said of runs: the mechanism, where, why, and nothing where nothing is wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.diagnose.diagnose import ASPECTS, diagnose
from core.diagnose.finding import Diagnosis, Place
from core.diagnose.words import UNDECIDED, UNKNOWN, WORDS
from core.faults.catalog import COMBINATIONS, FAULTS, find_faults
from core.faults.fault import Fault
from core.spec import (
    Decode,
    FaultUse,
    NewPrompt,
    Prefill,
    Probe,
    Rollback,
    RunSpec,
    Verify,
)
from tests.core.properties.strategies import beam_specs, fault_uses, mixed_specs, plain_specs
from tests.helpers.diagnosis_cases import CASES, case_of, diagnosis_of, loaded_model
from tests.helpers.runs import Judged, judged, spec_for
from tests.helpers.scenarios import scenario_spec

some = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def run_with(spec: RunSpec, *uses: FaultUse) -> Judged:
    return judged(replace(spec, faults=uses), loaded_model(spec.model))


def said_of(spec: RunSpec, *ids: str) -> tuple[Diagnosis, ...]:
    return diagnosis_of(run_with(spec, *(FaultUse(each) for each in ids)))


PLAIN = spec_for("learned", steps=5, capacity=16)


# The tables


def test_every_fault_is_known_by_a_wrong_rule_and_every_wrong_rule_has_words() -> None:
    rules = {each.preset_like for aspect in ASPECTS for each in aspect.hypotheses}
    assert rules == set(WORDS) == {fault.id for fault in FAULTS}


def test_what_is_easily_taken_for_it_is_another_one() -> None:
    for fault_id, words in WORDS.items():
        assert words.like != fault_id
        assert words.like is None or words.like in WORDS


# Recognition


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_scenario_of_a_fault_is_recognised_where_it_promises_to_show(fault: Fault) -> None:
    loaded = loaded_model(fault.shows_in.model)
    spec = fault.shows_in.spec(loaded.tokenizer.encode)
    found = said_of(spec, fault.id)
    assert [each.preset_like for each in found] == [fault.id]
    promise = fault.promise
    where = found[0].where
    assert (where.step, where.layer, where.field) == (promise.step, promise.layer, promise.field)
    assert 2 <= len(found[0].evidence) <= 4
    assert len(found[0].rivals) <= 2


SAMPLE = {fault_id: scheme for fault_id, scheme in CASES if scheme != "learned"} | {
    fault_id: scheme for place, (fault_id, scheme) in enumerate(CASES) if place % 5 == 0
}


@pytest.mark.parametrize("fault_id", WORDS)
def test_a_fault_is_recognised_in_a_random_run(fault_id: str) -> None:
    scheme = SAMPLE.get(fault_id, "learned")
    case = case_of(fault_id, scheme, 1_000)
    assert case.outcome in ("first", "class", "unchanged", "silent"), case


@pytest.mark.parametrize("name", COMBINATIONS)
def test_each_member_of_a_combination_is_named(name: str) -> None:
    spec = spec_for("learned", steps=8, capacity=12)
    found = said_of(spec, name)
    assert {each.preset_like for each in found} == set(COMBINATIONS[name])
    steps = [each.where.step for each in found]
    assert steps == sorted(steps)


# Silence


@some
@given(
    st.one_of(
        plain_specs("float64", "float32", "bfloat16"), mixed_specs("float32"), beam_specs("float32")
    )
)
def test_nothing_is_said_of_a_correct_run(spec: RunSpec) -> None:
    assert diagnosis_of(judged(spec, loaded_model(spec.model))) == ()


@some
@given(st.one_of(mixed_specs("float64"), beam_specs("float64")), fault_uses())
def test_something_is_said_where_and_only_where_a_verdict_is_wrong(
    spec: RunSpec, uses: tuple[FaultUse, ...]
) -> None:
    result = run_with(spec, *uses)
    found = diagnosis_of(result)
    assert bool(found) == bool(result.wrong_steps)
    for each in found:
        assert each.where.step in result.wrong_steps


def test_a_fault_that_shows_nothing_is_not_named() -> None:
    assert said_of(replace(PLAIN, steps=0), "pos-restart") == ()


def test_steps_without_a_verdict_are_waited_for() -> None:
    result = run_with(PLAIN, FaultUse("pos-restart"))
    verdicts = {verdict.step: verdict for verdict in result.verdicts}
    records = result.trace.records
    assert diagnose(records, {0: verdicts[0]}) == ()
    assert diagnose(records, {1: verdicts[1], 2: verdicts[2]}) == ()
    [found] = diagnose(records, {0: verdicts[0], 1: verdicts[1]})
    assert found.where.step == 1


# What speaks for it

EVIDENCE = {
    "pos-restart": (
        PLAIN,
        "step 1: query at token 7 was given position id 0; expected 7; "
        "every decode step since step 1",
    ),
    "mask-top-left": (
        PLAIN,
        "step 1: in layer 0 the query at token 7 sees column 0 of 8, which gets the weight 1.0; "
        "expected columns 0 to 7 of 8; every decode step since step 1",
    ),
    "store-row-zero": (
        PLAIN,
        "step 1: in layer 0 slot 0 stands for token 0 and holds the row of token 7; 1 more "
        "row is not what it should be; every decode step since step 1",
    ),
    "mask-unwritten": (
        PLAIN,
        "step 0: attention of layer 0 read slots 0 to 15; the cache counts 7 rows, in slots "
        "0 to 6; every step since step 0",
    ),
    "cap-early": (
        spec_for("learned", steps=6, capacity=9),
        "step 2: 1 row beside 8 held in 9 slots was refused, counted as 1 too many; 0 "
        "are too many; no other step decides this",
    ),
    "evict-newest": (
        spec_for("learned", steps=5, capacity=7, policy="window"),
        "step 1: token 6 left the cache, which holds tokens 0, 1, 2, 3, 4, 5, 7 "
        "(7 rows, capacity 7); expected 1, 2, 3, 4, 5, 6, 7; every decode step since step 1",
    ),
    "gqa-tile": (
        spec_for("rope", steps=2, capacity=12),
        "step 0: in layer 0 the scores of query head 1 are its products with key head 1; "
        "expected key head 0; every step since step 0",
    ),
    "gauge-lies": (
        spec_for("learned", steps=3, capacity=7, policy="window"),
        "step 1: the cache reports length 1 and holds 7 rows; 8 tokens were read; "
        "every decode step since step 1",
    ),
    "store-alias-out": (
        PLAIN,
        "step 1: in layer 0 slot 0 stands for token 0 and holds its own value with another key, "
        "off by up to 3.54; 6 more rows are not what they should be; every decode step since "
        "step 1",
    ),
    "pos-pad-columns": (
        spec_for("learned", capacity=16, requests=(Prefill(PLAIN.prompt_ids, 3), Decode())),
        "step 0: query at token 0 was given position id 3; expected 0; every step since step 0",
    ),
    "pos-layer-prefill": (
        spec_for("rope", steps=2, capacity=12),
        "step 0: in layer 1 the query at token 6 was rotated at 13 and its key at 13; its position "
        "id is 6; every step since step 0",
    ),
    "store-uneven": (
        spec_for(
            "learned",
            capacity=12,
            requests=(Prefill(PLAIN.prompt_ids), Probe(2, 1), Decode()),
        ),
        "step 1: an append of 2 keys and 1 value was taken; expected: refused; in this step alone",
    ),
}


@pytest.mark.parametrize("fault_id", EVIDENCE)
def test_the_evidence_can_be_checked_by_its_numbers(fault_id: str) -> None:
    spec, sentence = EVIDENCE[fault_id]
    assert said_of(spec, fault_id)[0].evidence[0] == sentence


def test_a_window_that_lets_nothing_go_says_that_no_token_left_the_cache() -> None:
    spec = spec_for("learned", steps=3, capacity=7, policy="window")
    start = "step 1: no token left the cache, which holds tokens 0, 1, 2, 3, 4, 5, 6, 7 (8 rows, "
    assert said_of(spec, "evict-never")[0].evidence[0].startswith(f"{start}capacity 7); ")


def test_all_steps_that_ask_a_rule_are_called_every_step_and_not_counted() -> None:
    """The rollback asks no mask, so that not every step is wrong."""
    requests = (Prefill(PLAIN.prompt_ids), Decode(), Decode(), Rollback(1), Decode())
    spec = replace(spec_for("rope", capacity=16), requests=requests)
    said = said_of(spec, "rope-writeback-lost")[0].evidence[0]
    assert said.endswith("; every step since step 0 that asks it")


def test_a_row_of_which_one_half_is_right_says_which_half() -> None:
    """The keys are read through a scaled view; the values stay as they were written."""
    judged_run = run_with(PLAIN, FaultUse("store-alias-out"))
    said = diagnosis_of(judged_run)[0].evidence[0]
    first, second = judged_run.trace.records[:2]
    stored, read = first.layers[0].new_keys[:, 0], second.layers[0].first_read
    row = read.kv[0, :, read.row.tolist().index(0)]
    off = f"off by up to {np.abs(row - stored).max():.3g}"
    assert f"holds its own value with another key, {off}; " in said
    assert "no row of this text" not in said


def test_a_fault_that_acts_for_two_steps_is_told_with_its_count() -> None:
    found = diagnosis_of(run_with(PLAIN, FaultUse("pos-restart", 2, 3)))
    assert [each.preset_like for each in found] == ["pos-restart"]
    assert found[0].evidence[0].endswith("in 2 of 4 steps since step 2")


STOPPED = (
    ("store-row-zero", 1, 1),
    ("store-row-zero", 2, 3),
    ("store-write-lost", 1, 1),
    ("store-write-lost", 3, None),
    ("store-alias-in", 1, 1),
    ("store-alias-in", 2, 3),
    ("store-alias-in", 0, 2),
    ("store-alias-out", 0, 0),
    ("store-alias-out", 1, 1),
    ("store-alias-out", 2, 4),
    ("mask-top-left", 1, 1),
    ("pos-stale-prompt", 2, 2),
)


@pytest.mark.parametrize(("fault_id", "first", "last"), STOPPED)
def test_a_fault_that_began_late_or_stopped_is_named(
    fault_id: str, first: int, last: int | None
) -> None:
    spec = replace(PLAIN, steps=7)
    found = diagnosis_of(run_with(spec, FaultUse(fault_id, first, last)))
    assert [each.preset_like for each in found] == [fault_id]


@pytest.mark.parametrize(
    ("use", "shown", "alone"),
    [
        (FaultUse("store-write-lost", 2, 2), 2, "step 2 alone"),
        (FaultUse("store-write-lost", 2, 3), 2, "steps 2 to 3 alone"),
        (FaultUse("store-write-lost", 0, 0), 0, "step 0 alone"),
        (FaultUse("store-row-zero", 2, 2, layers=(2,)), 2, "step 2 alone"),
        (FaultUse("store-row-zero", 0, 3), 1, "steps 1 to 3 alone"),
        (FaultUse("store-alias-in", 2, 2), 3, "step 2 alone"),
        (FaultUse("store-alias-in", 2, 3), 3, "steps 2 to 3 alone"),
    ],
    ids=lambda value: f"{value.id}@{value.first_step}" if isinstance(value, FaultUse) else None,
)
def test_rows_that_stay_wrong_are_told_with_the_steps_that_wrote_them(
    use: FaultUse, shown: int, alone: str
) -> None:
    """What a step wrote is read in all later ones, which wrote by the right rule."""
    [found] = diagnosis_of(run_with(replace(PLAIN, steps=7), use))
    what = "step" if shown == 0 else "decode step"
    said = f"; every {what} since step {shown}; {alone} wrote by this rule"
    assert found.evidence[0].endswith(said)
    claims = f"{found.mechanism} {found.evidence[1]}".split()
    assert not {"every", "none", "all", "never"} & set(claims)


@pytest.mark.parametrize(
    "use",
    [FaultUse("store-write-lost"), FaultUse("store-row-zero", 2), FaultUse("store-alias-in", 3)],
    ids=lambda use: use.id,
)
def test_of_a_rule_that_acts_to_the_end_no_last_step_is_told(use: FaultUse) -> None:
    [found] = diagnosis_of(run_with(replace(PLAIN, steps=7), use))
    assert "alone" not in found.evidence[0]


def test_only_the_first_of_two_mechanisms_is_spoken_for_by_the_logits() -> None:
    """Nothing tells which of them has made later logits wrong."""
    first, second = said_of(spec_for("learned", steps=6, capacity=12), "pos-restart", "cap-early")
    assert first.evidence[-1].startswith("logits are wrong from step 1, by ")
    assert second.preset_like == "cap-early"
    assert not any("logits" in sentence for sentence in second.evidence)


def test_rows_of_zeros_in_one_layer_say_nothing_of_a_scale() -> None:
    spec = replace(PLAIN, kv_dtype="int8")
    [found] = diagnosis_of(run_with(spec, FaultUse("quant-zero-scale", layers=(1,))))
    assert found.preset_like == "quant-zero-scale"
    assert "quant-floor" not in [rival.preset_like for rival in found.rivals]


# Rivals


def rivals_of(spec: RunSpec, fault_id: str) -> list[str]:
    return [rival.preset_like for found in said_of(spec, fault_id) for rival in found.rivals]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_what_a_run_has_no_use_for_is_no_rival(fault: Fault) -> None:
    """Of each scenario it is known by its settings which mechanisms cannot have acted in it."""
    loaded = loaded_model(fault.shows_in.model)
    spec = fault.shows_in.spec(loaded.tokenizer.encode)
    kinds = [type(request) for request in spec.all_requests]
    has = {
        "quant": spec.kv_dtype is not None,
        "gqa": 1 < loaded.config.n_kv_heads < loaded.config.n_heads,
        "mask-pads": fault.shows_in.n_pad > 0,
        "evict": spec.policy in ("window", "sinks"),
        "store-grow": spec.growable,
        "beam": spec.n_sequences > 1,
        "spec": Rollback in kinds or Verify in kinds or NewPrompt in kinds,
        "store-uneven": Probe in kinds,
    }
    for rival in rivals_of(spec, fault.id):
        assert all(is_there for word, is_there in has.items() if rival.startswith(word)), rival


def test_of_a_token_without_a_position_narrow_rows_are_a_rival_only_where_there_are_any() -> None:
    spec = replace(PLAIN, kv_dtype="int8")
    assert rivals_of(spec, "quant-no-descale") == ["quant-floor"]
    assert "quant-floor" not in rivals_of(PLAIN, "pos-skip-single")


def test_a_fault_in_one_layer_is_found_in_that_layer() -> None:
    found = diagnosis_of(run_with(PLAIN, FaultUse("mask-top-left", layers=(2,))))
    assert [each.preset_like for each in found] == ["mask-top-left"]
    assert found[0].where == Place(1, 2, None, "visible")
    assert "in layer 2 " in found[0].evidence[0]


def test_keys_turned_in_place_are_told_from_those_turned_at_each_read() -> None:
    """A step after the first that reads them again tells; until then each is the other's rival."""
    for fault_id, other in (
        ("rope-on-read", "rope-write-back"), ("rope-write-back", "rope-on-read"),
    ):  # fmt: skip
        [found] = said_of(spec_for("rope", steps=2, capacity=12), fault_id)
        assert found.preset_like == fault_id
        [found] = said_of(spec_for("rope", steps=1, capacity=12), fault_id)
        assert found.preset_like == "rope-on-read"
        assert {"rope-on-read", found.rivals[0].preset_like} == {fault_id, other}


def test_what_differs_but_fits_nothing_is_told_as_unknown() -> None:
    result = judged(PLAIN)
    verdicts = {verdict.step: verdict for verdict in result.verdicts}
    verdicts[3] = replace(verdicts[3], mechanism="wrong")
    [found] = diagnose(result.trace.records, verdicts)
    assert (found.mechanism, found.preset_like) == (UNKNOWN, None)
    assert found.where == Place(3, None, None, None)
    assert found.evidence == ("step 3: mechanism wrong; no recorded field differs",)


# Runs that end past the last position

LONG = replace(PLAIN, prompt_ids=(7, 8, 9, 10) * 35, steps=3, capacity=256)
ONE_SHORT = replace(LONG, prompt_ids=(*LONG.prompt_ids, *(5,) * 115))
NEXT_TEXT = replace(
    LONG, policy="window", capacity=140, requests=(Prefill(LONG.prompt_ids), NewPrompt((5,) * 120))
)


@pytest.mark.parametrize(
    ("fault_id", "spec", "numbers"),
    [
        ("pos-stale-prompt", LONG, (280, 141)),
        ("pos-hole", ONE_SHORT, (256, 255)),
        ("store-stale-reset", NEXT_TEXT, (259, 119)),
    ],
)
def test_of_a_run_that_ends_by_its_first_wrong_number_what_gives_the_number_is_told(
    fault_id: str, spec: RunSpec, numbers: tuple[int, int]
) -> None:
    """One number tells no rule from another one: none is named, and none is said not to fit."""
    [found] = said_of(spec, fault_id)
    asked, right = numbers
    assert f"position id {asked} was asked for" in found.evidence[0]
    assert f"expected {right};" in found.evidence[0]
    assert found.mechanism.endswith(f"; {fault_id} {UNDECIDED}")
    assert (found.preset_like, [each.preset_like for each in found.rivals]) == (None, [fault_id])


def test_a_number_past_the_last_position_is_no_second_cause_where_earlier_ones_were_wrong() -> None:
    [found] = said_of(replace(LONG, prompt_ids=LONG.prompt_ids[:127], steps=6), "pos-stale-prompt")
    assert (found.preset_like, found.where.step) == ("pos-stale-prompt", 2)


# Consequences are no causes

REQUESTS = {
    "spec-short": (Prefill(PLAIN.prompt_ids), *(Decode(),) * 3, Rollback(2), *(Decode(),) * 3),
    "store-stale-reset": (
        Prefill(PLAIN.prompt_ids),
        Decode(),
        NewPrompt((1, 2, 3)),
        Decode(),
        Decode(),
    ),
}


@pytest.mark.parametrize("fault_id", REQUESTS)
def test_a_wrong_answer_is_not_held_against_the_rules_that_worked_with_it(fault_id: str) -> None:
    spec = spec_for("learned", capacity=20, requests=REQUESTS[fault_id])
    assert [each.preset_like for each in said_of(spec, fault_id)] == [fault_id]


def test_rows_that_a_cursor_leaves_behind_are_not_held_against_eviction() -> None:
    """The hole counts as held, so what leaves is judged with it."""
    spec = spec_for("learned", steps=1, capacity=7, policy="window")
    found = said_of(spec, "pos-hole", "evict-newest")
    assert [each.preset_like for each in found] == ["pos-hole", "evict-newest"]


# How far it looks


@pytest.mark.parametrize(("reach", "ends"), [(2, True), (4, False), (200, False)])
def test_what_was_counted_up_to_a_step_says_so_where_the_run_goes_on(reach, ends) -> None:
    found = run_with(PLAIN, FaultUse("pos-restart"))
    [told] = diagnose(found.trace.records, dict(enumerate(found.verdicts)), reach)
    words = "; steps after 3 were not looked at"
    assert told.evidence[0].endswith(words if ends else "every decode step since step 1")


def test_a_fault_that_acts_again_beyond_what_is_looked_at_is_not_called_alone() -> None:
    uses = (FaultUse("pos-restart", 1, 1), FaultUse("pos-restart", 5, 5))
    found = run_with(PLAIN, *uses)
    [told] = diagnose(found.trace.records, dict(enumerate(found.verdicts)), 2)
    assert told.evidence[0].endswith("in this step alone; steps after 3 were not looked at")


def test_rows_that_a_wide_chunk_has_left_are_right_to_read_in_the_step_after_it() -> None:
    """The buffer has room for a chunk beyond the window: a single token later reads as far."""
    spec = scenario_spec(find_faults("evict-before-attend")[0].shows_in, "learned")
    [told] = diagnosis_of(run_with(spec, FaultUse("evict-before-attend")))
    assert "; every step since step 1" in told.evidence[0]
