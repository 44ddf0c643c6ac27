"""The weight on rows that are not live is the sum of what the queries really put there."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.faults.catalog import find_faults
from core.readouts.mask import mask_readout
from core.sanitizer import RowState, Shadow
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback
from tests.core.readouts.runs import PLAIN, view_of, with_fault
from tests.helpers.checks import sanitized
from tests.helpers.runs import SEVEN_IDS, judged, spec_for, tiny


def _found(fault: str, scheme: str = "learned", **changes: object):
    """The scenario of a fault in a tiny model."""
    scenario = find_faults(fault)[0].shows_in
    spec = scenario.spec(lambda text: tuple(text.encode()))
    spec = replace(spec, model=f"tiny-{scheme}", force_ids=(), faults=(FaultUse(fault),), **changes)
    return sanitized(spec, tiny(scheme))


def _states(sanitizer) -> dict[int, set[str]]:
    return {step: {one.state.words for one in found} for step, found in sanitizer.found.items()}


@pytest.mark.parametrize("poison", [False, True])
def test_the_whole_buffer_gets_the_weight_of_the_rows_never_written(poison):
    trace, sanitizer = _found("mask-unwritten", poison=poison)
    n_prompt = len(trace.spec.prompt_ids)
    capacity = trace.spec.capacity
    for one in sanitizer.found[0]:
        weights = trace.records[0].layers[one.layer].weights
        by_hand = [max(math.fsum(q[n_prompt:]) for q in head.tolist()) for head in weights]
        assert one.state is RowState.NEVER_WRITTEN
        assert one.rows == tuple(range(n_prompt, capacity))
        assert np.allclose(one.by_head, by_hand, rtol=1e-12, equal_nan=True)
        if not poison:
            assert one.amount == max(one.by_head) == one.by_head[one.head]
    assert [one.layer for one in sanitizer.found[0]] == [0, 1, 2, 3]


def test_a_window_that_is_one_too_wide_gives_the_weight_of_the_row_that_should_have_left():
    trace, sanitizer = _found("evict-off-by-one")
    step = min(sanitizer.found)
    for one in sanitizer.found[step]:
        told = trace.records[step].layers[one.layer]
        oldest = int(told.plan.view_token_index.argmin())
        assert one.state is RowState.EVICTED
        assert one.rows == (int(told.plan.read_rows[oldest]),)
        assert one.by_head == tuple(map(float, told.weights[:, 0, oldest]))


STATES = {
    "mask-unwritten": {"never written"},
    "pos-hole": {"never written"},
    "store-write-lost": {"never written"},
    "store-first-lost": {"never written"},
    "ring-start": {"never written"},
    "store-row-zero": {"never written", "foreign"},
    "store-alias-in": {"foreign"},
    "store-layers-share": {"foreign"},
    "store-uneven": {"foreign"},
    "beam-no-reorder": {"foreign"},
    "beam-keys-only": {"foreign"},
    "mask-pads-open": {"padding"},
    "evict-off-by-one": {"evicted"},
    "cap-counter-first": {"stale"},
    "spec-no-rollback": {"stale"},
    "spec-short": {"stale"},
    "prefix-last-twice": {"stale"},
}


@pytest.mark.parametrize(("fault", "states"), STATES.items(), ids=STATES)
def test_the_state_of_the_rows_says_what_went_wrong(fault, states):
    _, sanitizer = _found(fault)
    assert set().union(*_states(sanitizer).values()) == states


SILENT = ("pos-restart", "mask-top-left", "mask-off-with-cache", "evict-never", "gauge-lies",
          "ring-shuffle", "cap-early", "evict-one-short")  # fmt: skip


@pytest.mark.parametrize("fault", SILENT)
def test_faults_that_read_live_rows_only_give_no_weight_to_dead_ones(fault):
    assert _found(fault)[1].found == {}


def test_a_dead_row_that_is_read_but_hidden_gets_no_weight():
    """Nothing ever leaves, and the mask alone makes the window."""
    trace, sanitizer = _found("evict-never")
    assert max(len(record.live[0].slot) for record in trace.records) > trace.spec.capacity
    assert sanitizer.found == {}


@pytest.mark.parametrize("layer", [0, 2])
@pytest.mark.parametrize("head", [0, 3])
def test_the_mask_panel_says_the_same_share_of_the_weight(layer, head):
    spec = with_fault(PLAIN, "mask-unwritten")
    _, sanitizer = sanitized(spec, tiny("learned"))
    readout = mask_readout(view_of(spec, 1, layer=layer, head=head))
    found = next(one for one in sanitizer.found[1] if one.layer == layer)
    share = f"{100 * found.by_head[head]:.3g} %"
    assert f" of the weight on rows never written over 16 heads, {share} in layer {layer}, " in (
        readout.sentence
    )


def _shadow_after(**settings: object) -> dict[str, list[int]]:
    found = judged(spec_for("rope", **settings))
    shadow = Shadow(4)
    for verdict in found.verdicts:
        shadow.follow(found.trace.records[: verdict.step + 1], verdict.expected)
    state, _ = shadow.rows_of(0)
    return {one.words: np.flatnonzero(state == one).tolist() for one in RowState if one in state}


def test_the_shadow_of_a_window_keeps_the_rows_that_left_as_evicted_until_they_are_written():
    # Token 7 takes row 7, then token 0 leaves; token 8 takes row 0, then token 1 leaves.
    after = _shadow_after(policy="window", capacity=7, steps=2)
    assert after["live"] == [0, 2, 3, 4, 5, 6, 7]
    assert after["evicted"] == [1]


def test_the_shadow_of_a_rollback_keeps_what_was_taken_back_as_stale():
    requests = (Prefill(SEVEN_IDS), Decode(), Decode(), Rollback(3))
    after = _shadow_after(capacity=12, requests=requests)
    assert after["live"] == [0, 1, 2, 3, 4, 5]
    assert after["stale"] == [6, 7, 8]


def test_the_shadow_of_a_new_prompt_has_the_old_text_as_stale():
    after = _shadow_after(capacity=12, requests=(Prefill(SEVEN_IDS), NewPrompt((1, 2))))
    assert after["live"] == [0, 1]
    assert after["stale"] == [2, 3, 4, 5, 6]


def test_rows_of_a_probe_are_live_until_they_are_taken_back():
    requests = (Prefill(SEVEN_IDS), Probe(2, 2), Decode())
    after = _shadow_after(capacity=12, requests=requests)
    assert (after["loose"], after["live"]) == ([7, 8], [*range(7), 9])
    after = _shadow_after(capacity=12, requests=(*requests, Rollback(3)))
    assert after["stale"] == [5, 6, 7, 8, 9]


def test_padding_is_never_live():
    requests = (Prefill(SEVEN_IDS, n_pad=2), Decode())
    after = _shadow_after(capacity=12, requests=requests)
    assert (after["padding"], after["live"]) == ([0, 1], [*range(2, 10)])


def test_a_row_taken_back_is_stale_even_if_its_token_was_read_again_with_the_same_bytes():
    requests = (Prefill(SEVEN_IDS), *(Decode(),) * 6, Rollback(3), Decode())
    faults = (FaultUse("cap-counter-first"),)
    spec = spec_for("learned", capacity=12, requests=requests, faults=faults)
    trace, sanitizer = sanitized(spec, tiny("learned"))
    assert trace.records[8].layers[0].row_token.tolist().count(9) == 2
    assert [(one.layer, one.state, one.rows) for one in sanitizer.found[8]] == [
        (layer, RowState.STALE, (9,)) for layer in range(4)
    ]
