"""Runs that begin as another one did."""

from dataclasses import replace

import pytest

from app.branches import chosen_at, with_fault_from, with_token
from app.draft import Draft
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback
from tests.core.readouts.runs import CHUNKED, FORCED, FULL, PLAIN, PROMPT, PROMPT_IDS
from tests.helpers.runs import run, tiny

DRAFT = Draft("tiny-learned", PROMPT, steps=5, capacity=12)


def branched(spec, step: int, token_id: int):
    """The specification of a branch, made by way of the form."""
    records = run(spec).records
    draft = with_token(DRAFT, spec, records, step, token_id)
    return None if draft is None else replace(spec, force_ids=draft.force_ids)


@pytest.mark.parametrize(
    ("spec", "step"),
    [(PLAIN, 0), (PLAIN, 3), (FORCED, 0), (FORCED, 1), (FORCED, 4), (CHUNKED, 2), (CHUNKED, 4)],
    ids=["prompt", "decode", "before", "in place", "after", "last chunk", "chunked"],
)
def test_the_forced_token_is_read_after_the_step_and_all_before_it_is_the_same(spec, step):
    before, after = run(spec).records, run(branched(spec, step, 99)).records
    assert after[step].next_token == 99
    assert after[step + 1].token_ids == (99,)
    assert [r.digest() for r in after[:step]] == [r.digest() for r in before[:step]]


@pytest.mark.parametrize(("spec", "step"), [(CHUNKED, 0), (CHUNKED, 1), (FULL, 6), (PLAIN, 9)])
def test_a_step_that_chooses_no_token_cannot_be_forced(spec, step):
    assert branched(spec, step, 99) is None


def test_the_place_of_a_token_is_that_of_the_run_s_own_script():
    requests = (
        Prefill(PROMPT_IDS), Decode(), Probe(1, 1), Decode(), Rollback(1), Decode(),
        NewPrompt((65, 66)), Decode(), Decode(),
    )  # fmt: skip
    spec = replace(PLAIN, steps=0, requests=requests, capacity=16)
    records = run(spec).records
    places = [chosen_at(records, step, n_prompt=7) for step in range(len(records))]
    forced = replace(
        spec, force_ids=tuple(range(200, 200 + 1 + max(p for p in places if p is not None)))
    )
    again = run(forced).records
    read = {step: record.next_token for step, record in enumerate(again) if record.is_forced}
    for step, place in enumerate(places):
        if place is not None:
            assert read[step] == 200 + place


def test_a_fault_from_a_step_on_leaves_the_steps_before_it_alone():
    draft = with_fault_from(
        replace(DRAFT, faults=(FaultUse("cap-early"),)), FaultUse("pos-restart"), 3
    )
    assert draft.faults == (FaultUse("cap-early"), FaultUse("pos-restart", first_step=3))
    again = with_fault_from(draft, FaultUse("pos-restart"), 4)
    assert again.faults == (FaultUse("cap-early"), FaultUse("pos-restart", first_step=4))


def test_a_branch_forgets_the_text_that_was_forced_for_its_exact_tokens():
    spec = replace(PLAIN, force_ids=(1, 2))
    draft = with_token(replace(DRAFT, rest="xy"), spec, run(spec).records, 3, 99)
    assert (draft.rest, draft.force_ids) == ("", (1, 2, None, 99))
    assert draft.spec(tiny("learned").tokenizer.encode).force_ids == (1, 2, None, 99)
