"""The battery holds on the engine as it is, and each of its properties finds a fault."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.battery.bench import Bench
from core.battery.case import Case, read_case
from core.battery.checks import broken, check_case, check_law
from core.battery.laws import LAWS, cases_of, laws_of, plain_cases
from core.battery.names import DEFAULT_MODELS, PROPERTIES
from core.engine.seams import Seams, lowest_free
from core.errors import FaultError, SpecError
from core.spec import FaultUse

BY_ID = {law.id: law for law in LAWS}

FAILS_ON = (
    ("chunks", "mask-own-chunk"),
    ("chunks", "evict-before-attend"),
    ("one-by-one", "pos-restart"),
    ("one-by-one", "cap-one-row-test"),
    ("one-by-one", "evict-before-attend"),
    ("rewind", "spec-no-rollback"),
    ("rewind-drafts", "spec-short"),
    ("rewind-drafts", "spec-reset"),
    ("slots", "ring-start"),
    ("slots-read", "rope-on-read"),
    ("slots-grow", "store-grow-scramble"),
    ("new-prompt", "store-stale-reset"),
    ("new-prompt-reuse", "prefix-last-twice"),
    ("neighbours-padding", "mask-pads-open"),
    ("neighbours-padding", "mask-nan-row"),
    ("neighbours-beams", "beam-no-reorder"),
    ("neighbours-beams", "beam-keys-only"),
    ("eviction-early", "cap-early"),
    ("eviction-early", "mask-unwritten"),
    ("eviction-refused", "cap-late"),
    ("eviction-refused", "cap-counter-first"),
    ("eviction-reach", "evict-off-by-one"),
    ("eviction-reach", "evict-one-short"),
    ("eviction-length", "gauge-lies"),
)


def bench(*faults: str) -> Bench:
    return Bench(tuple(FaultUse(fault) for fault in faults))


def first_broken_case(law_id: str, of: Bench) -> Case | None:
    law = BY_ID[law_id]
    for case in cases_of(law, DEFAULT_MODELS, seed=0):
        found = law.check(case, of)
        if of.first_broken(found) is not None:
            return case
    return None


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)
def test_the_law_holds_on_the_engine_as_it_is(law):
    cases = cases_of(law, DEFAULT_MODELS, seed=11, most=12)
    result = check_law(law, cases, bench())
    assert result.failure is None
    assert result.n_checked >= 3


@pytest.mark.parametrize(("law_id", "fault"), FAILS_ON, ids=[" ".join(pair) for pair in FAILS_ON])
def test_the_law_fails_on_a_fault_that_breaks_it(law_id, fault):
    assert first_broken_case(law_id, bench(fault)) is not None


def test_every_property_but_restore_fails_on_a_fault_of_the_catalog():
    found = {BY_ID[law_id].property for law_id, _ in FAILS_ON}
    assert found == set(PROPERTIES) - {"restore"}


def test_a_state_outside_the_engine_breaks_a_copy_that_goes_on():
    def counting(seams: Seams) -> Seams:
        calls = itertools.count()

        def position_ids(past_len, n_new, ledger):
            return np.arange(n_new) + next(calls)

        return replace(seams, position_ids=position_ids)

    text = "model=tiny-learned layers=1 policy=refuse capacity=9 prompt=1 then=2,3 n=1"
    found = check_case(read_case(f"law=restore-copy {text}"), Bench(adapt=counting))
    assert found is not None
    assert "step 1" in found.found


def test_rows_that_are_looked_up_by_slot_number_break_the_order_of_slots():
    def as_if_slots_were_tokens(seams: Seams) -> Seams:
        def kv_view(ledger):
            return np.arange(len(ledger.counted_slots))

        return replace(seams, kv_view=kv_view)

    case = "law=slots model=tiny-rope layers=1 policy=refuse capacity=4 prompt=1,2 then=3 n=1"
    assert broken(case, adapt=as_if_slots_were_tokens) is not None
    assert broken(case) is None


def test_a_wrapper_that_is_right_keeps_every_law():
    def highest_first(seams: Seams) -> Seams:
        def next_slots(ledger, n_new):
            free = lowest_free(ledger.counted_slots, ledger.capacity + 8)
            return np.sort(free[free < ledger.capacity])[::-1][:n_new].copy()

        return replace(seams, next_slots=next_slots)

    law = BY_ID["one-by-one"]
    cases = [c for c in cases_of(law, ("tiny-rope",), 0) if c.policy == "refuse"]
    assert check_law(law, cases, Bench(adapt=highest_first)).n_broken == 0


def test_the_prompts_have_the_lengths_around_the_window():
    for model in DEFAULT_MODELS:
        for case in plain_cases((model,), seed=3):
            window = case.capacity
            lengths = {
                len(other.prompt)
                for other in plain_cases((model,), seed=3)
                if (other.policy, other.ranks) == (case.policy, case.ranks)
            }
            assert lengths == {1, window - 1, window, window + 1, 2 * window}


def test_every_property_has_laws_and_every_law_its_property():
    assert {law.property for law in LAWS} == set(PROPERTIES)
    assert len(BY_ID) == len(LAWS)
    assert [law.id for law in laws_of(["rewind"])] == ["rewind", "rewind-drafts"]


def test_a_name_that_is_no_law_is_unusable():
    with pytest.raises(SpecError, match="--only 'chunk' is not known"):
        laws_of(["chunk"])


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)
def test_a_case_is_the_same_after_it_was_written_and_read(law):
    for case in cases_of(law, ("tiny-alibi",), seed=5, most=10):
        assert read_case(case.words()) == case


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("law=chunks", "model= is missing"),
        ("lau=chunks", "'lau=chunks' is not known"),
        ("law=chunks capacity=-2", "capacity=-2; it must be at least 1"),
        ("law=chunks capacity=0", "capacity=0; it must be at least 1"),
        ("law=chunks chunk=-1", "chunk=-1; it must be at least 0"),
        ("law=chunks capacity=2.5", "capacity=2.5 is no whole number"),
        ("law=chunks capacity=1234567890", "is no whole number of up to 9 digits"),
        ("law=chunks capacity=3 capacity=3", "capacity= stands there twice"),
        ("law=chunks prompt=1,2 then=3 prompt=1,2", "prompt= stands there twice"),
        ("law=chunks 'prompt=1", "No closing quotation; close it"),
        ("law=chunks 'prompt=1;2'", "prompt=1;2 is no list of token ids; write them as prompt=1,2"),
    ],
)
def test_a_case_that_cannot_be_read_names_the_part(text, message):
    with pytest.raises(SpecError, match=message):
        read_case(text)


@pytest.mark.parametrize("least", [2, 3, 4])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)
def test_all_cases_keep_the_layers_that_a_fault_names(law, least):
    layers = {case.layers for case in cases_of(law, DEFAULT_MODELS, 0, least_layers=least)}
    assert layers == {least}


def test_without_a_layer_that_is_named_reach_is_checked_in_one_layer_and_in_two():
    cases = cases_of(BY_ID["eviction-reach"], DEFAULT_MODELS, 0)
    assert {case.layers for case in cases} == {1, 2}


def test_a_model_of_a_path_with_a_space_stays_one_word():
    case = Case("chunks", "/my models/a", 1, "refuse", 3, chunk=1, prompt=(1, 2))
    assert read_case(case.words()) == case


def test_a_case_is_broken_by_a_fault_in_the_layers_that_are_named():
    case = "law=chunks model=tiny-rope layers=2 policy=refuse capacity=2 chunk=1 prompt=98,15"
    assert broken(case, ("mask-top-left:layers=1",)) != broken(case, ("mask-top-left:layers=0",))
    with pytest.raises(FaultError, match="names layer 2; the model has 0 to 1"):
        broken(case, ("mask-top-left:layers=2",))


def test_a_case_of_an_unknown_law_is_unusable():
    with pytest.raises(SpecError, match="law=nothing is not known"):
        broken("law=nothing model=tiny-rope layers=1 policy=refuse capacity=4 prompt=1")
