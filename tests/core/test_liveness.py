"""A live row that is changed must change the logits, a dead one must not."""

from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT
from core.faults.catalog import find_faults
from core.liveness import MOST_LIVE, Blind, is_tried
from core.sanitizer import RowState
from core.spec import Decode, FaultUse, Prefill, Probe, RunSpec
from tests.helpers.checks import changed_rows
from tests.helpers.runs import SEVEN_IDS, run, spec_for, tiny


def _spec(fault: str, layers: tuple[int, ...] | None = None, **changes: object) -> RunSpec:
    spec = find_faults(fault)[0].shows_in.spec(lambda text: tuple(text.encode())[:7])
    use = FaultUse(fault, layers=layers)
    return replace(spec, model="tiny-learned", force_ids=(), faults=(use,), **changes)


def _tried(spec: RunSpec):
    return changed_rows(spec, tiny(spec.model.removeprefix("tiny-")))[1]


def test_a_mask_from_row_0_is_blind_to_all_tokens_but_the_first():
    first = _tried(_spec("mask-top-left"))[0]
    n_prompt = len(_spec("mask-top-left").prompt_ids)
    later = range(1, n_prompt)
    assert list(first.blind) == [Blind(layer, t, t) for layer in range(4) for t in later]
    assert first.leaks == ()


@pytest.mark.parametrize("layer", [1, 3])
def test_the_layer_that_is_blind_is_named(layer):
    first = _tried(_spec("mask-top-left", layers=(layer,)))[0]
    assert {one.layer for one in first.blind} == {layer}


@pytest.mark.parametrize("layer", [0, 2])
def test_the_layer_that_reads_the_whole_buffer_leaks_its_unwritten_rows(layer):
    spec = _spec("mask-unwritten", layers=(layer,))
    first = _tried(spec)[0]
    n_prompt = len(spec.prompt_ids)
    assert first.blind == ()
    # The new token takes the first row after the prompt, which is written before it is read.
    assert [(one.layer, one.row) for one in first.leaks] == [
        (layer, row) for row in range(n_prompt + 1, spec.capacity)
    ]
    assert {one.state for one in first.leaks} == {RowState.NEVER_WRITTEN}


LEAKS = {
    "pos-hole": "never written",
    "mask-unwritten": "never written",
    "store-row-zero": "never written",
    "mask-pads-open": "padding",
    "cap-counter-first": "stale",
    "spec-no-rollback": "stale",
    "spec-short": "stale",
    "prefix-last-twice": "stale",
    "beam-no-reorder": "foreign",
    "evict-off-by-one": "live",
}


@pytest.mark.parametrize(("fault", "state"), LEAKS.items(), ids=LEAKS)
def test_rows_that_are_not_to_be_read_are_found_out_by_their_effect(fault, state):
    leaks = [one for found in _tried(_spec(fault)) for one in found.leaks]
    assert {one.state.words for one in leaks} == {state}


BLIND = ("mask-top-left", "mask-own-block", "evict-one-short", "ring-start", "store-row-zero",
         "store-write-lost", "spec-reset", "sinks-lost", "evict-newest")  # fmt: skip


@pytest.mark.parametrize("fault", BLIND)
def test_tokens_that_no_row_speaks_for_are_found_out(fault):
    assert any(found.blind for found in _tried(_spec(fault)))


@pytest.mark.parametrize("fault", ["pos-restart", "rope-on-read", "gqa-tile", "evict-never"])
def test_faults_that_read_all_they_should_and_no_more_are_not_found(fault):
    assert not any(found.is_wrong for found in _tried(_spec(fault)))


def test_rows_of_a_probe_must_have_an_effect_too():
    requests = (Prefill(SEVEN_IDS), Probe(2, 2), Decode())
    (found,) = _tried(spec_for("alibi", capacity=12, requests=requests))
    assert (found.n_live, found.n_dead, found.is_wrong) == (9, 3, False)


def test_a_token_that_is_held_but_out_of_reach_of_the_newest_query_must_have_none():
    """In a full window the oldest row leaves only after the step, unread by its query."""
    found = _tried(spec_for("rope", policy="window", capacity=7, steps=1))[0]
    assert (found.n_live, found.is_wrong) == (6, False)


def test_of_many_live_rows_a_sample_is_tried_the_same_for_the_same_seed():
    spec = spec_for("rope", prompt_ids=tuple(range(40)), capacity=64, steps=1)
    first, again = _tried(spec)[0], _tried(spec)[0]
    assert (first.n_live, first.n_tried) == (40, MOST_LIVE)
    assert first.n_forwards == again.n_forwards >= 4 * MOST_LIVE


def test_a_step_whose_logits_are_no_numbers_is_not_tried():
    found = _tried(_spec("mask-nan-row"))
    assert {one.skipped for one in found} == {"its logits are no numbers"}
    assert not any(one.is_wrong or one.n_forwards for one in found)


def test_a_step_that_should_have_been_refused_is_not_tried():
    skipped = [one.skipped for one in _tried(_spec("cap-late"))]
    assert "the cache should have refused it" in skipped


@pytest.mark.parametrize("fault", ["mask-unwritten", "store-alias-in", "store-layers-share"])
def test_trying_leaves_no_trace_in_the_run(fault):
    spec = _spec(fault)
    trace, found = changed_rows(spec, tiny("learned"))
    assert sum(one.n_forwards for one in found) > 0
    assert trace.digests() == run(spec, tiny("learned")).digests()


def test_only_decodes_that_were_computed_are_tried_every_so_many_steps():
    records = run(spec_for("rope", capacity=10, steps=5)).records
    assert [record.step for record in records if is_tried(record, 2)] == [2]
    assert [record.step for record in records if is_tried(record, 1)] == [1, 2, 3]
    assert not records[-1].is_computed


def test_the_rows_of_the_engine_itself_are_as_they_were():
    spec = spec_for("learned", capacity=12, steps=3)
    trace, _ = changed_rows(spec, tiny("learned"))
    for record in trace.records:
        for live in record.live:
            assert np.array_equal(live.token_index, np.arange(len(live.slot)))
            assert ABSENT not in live.token_index.tolist()
