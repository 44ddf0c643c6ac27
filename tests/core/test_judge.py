"""What the judge says of broken engines, and of records that were tampered with."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.arrays import ABSENT, as_ids, frozen
from core.engine import seams
from core.engine.policies import ByRank, Reprefill, Window
from core.engine.seams import CORRECT
from core.engine.types import Ledger
from core.judge import Judge
from core.outcome import OK, PositionLimit, Refused
from core.reference import Passage, Reference
from core.session import Session
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback, Verify
from core.tolerance import field_band, logits_band
from tests.helpers.engines import run_by_hand, with_layer, with_record
from tests.helpers.runs import SCHEMES, SEVEN_IDS, judge_again, judged, run, spec_for, tiny

_LETTER = {"right": "r", "wrong": "W", "rounding": "~", None: "-"}


def _letters(verdicts):
    return "".join(_LETTER[verdict] for verdict in verdicts)


def _all_letters(found):
    return _letters(found.policy), _letters(found.mechanism), _letters(found.logits)


def _broken(spec, **rules):
    """The verdicts of an engine with some rules replaced."""
    by_hand = {name: rules.pop(name) for name in ("policy", "numbering") if name in rules}
    trace = run_by_hand(spec, seams=replace(CORRECT, **rules), **by_hand)
    return judge_again(trace, tiny(spec.model.removeprefix("tiny-")))


def _first(found):
    """First wrong step, and the field, layer and head that differ there."""
    step = found.wrong_steps[0]
    difference = found.verdicts[step].first_difference
    return step, difference.field, difference.layer, difference.head


# An engine put together by hand is right where a session's is.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_engine_with_the_correct_rules_gives_the_records_of_a_session(scheme):
    spec = spec_for(scheme, policy="window", capacity=6, steps=4, chunk=3)
    by_hand = run_by_hand(spec, policy=Window(6))
    assert by_hand.digests() == run(spec).digests()


# Layouts: where rows live and in which order they are read decides nothing.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_in_another_physical_order_are_right(scheme):
    spec = spec_for(scheme, capacity=12, steps=4, chunk=3)
    found = _broken(spec, slot_mapping=lambda slots: as_ids(11 - slots))
    assert found.wrong_steps == []
    assert found.largest_error < 1e-10


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_read_out_of_token_order_are_wrong_though_the_logits_are_right(scheme):
    spec = spec_for(scheme, capacity=12, steps=2)
    found = _broken(spec, kv_view=lambda ledger: ledger.counted_slots[::-1].copy())
    assert _all_letters(found) == ("rrr", "WWW", "rrr")
    assert _first(found) == (0, "visible", 0, None)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_slots_given_out_from_the_top_are_right(scheme):
    def from_the_top(ledger, n_new):
        free = [slot for slot in range(11, -1, -1) if slot not in ledger.counted_slots.tolist()]
        return as_ids(free[:n_new])

    found = _broken(spec_for(scheme, capacity=12, steps=4, chunk=3), next_slots=from_the_top)
    assert found.wrong_steps == []


# Rules broken one by one.


def test_heads_tiled_instead_of_repeated_differ_in_the_scores_of_the_second_head():
    found = _broken(
        spec_for("rope", capacity=12, steps=2),
        repeat_kv=lambda heads, n_rep: heads.repeat(*[1] * (heads.ndim - 3), n_rep, 1, 1),
    )
    assert _all_letters(found) == ("rrr", "WWW", "WWW")
    assert _first(found) == (0, "scores", 0, 1)


def test_heads_tiled_are_right_where_each_query_head_has_its_own():
    found = _broken(
        spec_for("learned", capacity=12, steps=2),
        repeat_kv=lambda heads, n_rep: heads.repeat(n_rep, 1, 1),
    )
    assert found.wrong_steps == []


def test_keys_and_queries_left_unrotated_differ_in_the_keys():
    found = _broken(spec_for("rope", capacity=12, steps=2), rotate=lambda _, heads, ids: heads)
    assert _all_letters(found) == ("rrr", "WWW", "WWW")
    assert _first(found) == (0, "keys", 0, 0)


def test_queries_rotated_one_too_far_differ_in_the_scores():
    def too_far(scheme, heads, ids):
        is_query = len(heads) == 4
        return scheme.rotate(heads, ids + is_query)

    found = _broken(spec_for("rope", capacity=12, steps=2), rotate=too_far)
    assert found.policy == ["right"] * 3
    assert found.mechanism == ["wrong"] * 3
    assert _first(found) == (0, "scores", 0, 0)


def test_every_position_moved_by_seven_is_invisible_under_rope_and_alibi_in_the_logits():
    for scheme, logits in (("learned", "WWW"), ("rope", "rrr"), ("alibi", "rrr")):
        found = _broken(
            spec_for(scheme, capacity=12, steps=2),
            position_ids=lambda past, n, _: np.arange(past + 7, past + 7 + n),
        )
        assert _all_letters(found) == ("WWW", "rrr", logits)
        assert _first(found) == (0, "position_ids", None, None)


def test_positions_taken_from_the_rows_held_freeze_when_the_window_is_full():
    spec = spec_for("rope", policy="window", capacity=8, steps=5)
    found = _broken(spec, policy=Window(8), past_len=lambda ledger, held: ledger.length)
    # Tokens 7 and 8 still find as many rows as tokens; token 9 does not.
    assert _letters(found.policy) == "rrrWWW"
    assert _first(found)[:2] == (3, "position_ids")
    assert _letters(found.mechanism) == "rrrrrr"


@pytest.mark.parametrize("capacity", [7, 9])
def test_a_window_one_row_off_fails_the_policy_only(capacity):
    spec = spec_for("rope", policy="window", capacity=8, prompt_ids=SEVEN_IDS[:5], steps=6)
    found = _broken(spec, policy=Window(capacity))
    first = {7: 3, 9: 4}[capacity]
    assert found.wrong_steps[0] == first
    assert found.verdicts[first].first_difference.field == "readable"
    assert found.mechanism == ["right"] * 7
    assert found.wrong_logits[0] == first


def test_numbering_by_rank_where_positions_are_to_be_kept_fails_the_policy_only():
    spec = spec_for("rope", policy="sinks", sinks=1, capacity=4, steps=4)
    found = _broken(spec, policy=Window(4, 1), numbering=ByRank(4, 1))
    assert found.policy == ["wrong"] * 5
    assert found.mechanism == ["right"] * 5
    assert _first(found)[:2] == (0, "position_ids")


def test_a_window_where_a_reprefill_was_asked_for_fails_the_policy():
    spec = spec_for("learned", policy="reprefill", capacity=8, steps=3)
    found = _broken(spec, policy=Window(8))
    assert _letters(found.policy) == "rrWW"
    assert _letters(found.mechanism) == "rrrr"
    assert _letters(found.logits) == "rrWW"
    assert _first(found)[:2] == (2, "position_ids")


def test_a_reprefill_where_a_window_was_asked_for_fails_the_policy():
    spec = spec_for("learned", policy="window", capacity=8, steps=3)
    found = _broken(spec, policy=Reprefill(8))
    assert _letters(found.policy) == "rrWW"
    assert _letters(found.mechanism) == "rrrr"
    assert _letters(found.logits) == "rrWW"


def test_a_mask_that_lets_the_future_through_is_seen_in_the_prefill():
    spec = spec_for("rope", capacity=12, steps=1)
    found = _broken(spec, causal_mask=lambda query, key, _: np.ones((len(query), len(key)), bool))
    # The last query of a prefill may see everything: what is spoiled are the rows of upper layers.
    assert _letters(found.policy) == "rr"
    assert _letters(found.mechanism) == "WW"
    assert _letters(found.logits) == "WW"
    assert _first(found) == (0, "visible", 0, None)


def test_a_query_that_does_not_see_itself_is_seen():
    def without_itself(query, key, readable):
        mask = seams.causal_mask(query, key, readable) & (key != query[:, None])
        mask[:, 0] |= ~mask.any(axis=1)
        return mask

    found = _broken(spec_for("learned", capacity=12, steps=2), causal_mask=without_itself)
    assert found.mechanism == ["wrong"] * 3
    assert _first(found) == (0, "visible", 0, None)


def test_a_view_without_the_oldest_row_is_seen():
    spec = spec_for("alibi", capacity=12, steps=2)
    found = _broken(spec, kv_view=lambda ledger: ledger.counted_slots[1:])
    assert found.mechanism == ["wrong"] * 3
    assert _first(found)[:3] == (0, "keys", 0)


def test_a_row_read_twice_is_seen():
    spec = spec_for("rope", capacity=12, steps=2)
    found = _broken(spec, kv_view=lambda ledger: np.append(ledger.counted_slots, 0))
    assert found.mechanism == ["wrong"] * 3
    assert found.logits == ["wrong"] * 3
    assert _first(found)[:3] == (0, "visible", 0)


def test_two_slots_on_one_row_are_seen_in_the_keys():
    spec = spec_for("rope", capacity=12, steps=1)
    found = _broken(spec, slot_mapping=lambda slots: slots // 2)
    assert found.policy == ["right"] * 2
    assert found.mechanism == ["wrong"] * 2
    assert _first(found)[:2] == (0, "keys")


def test_slots_that_are_in_use_differ_in_the_slots():
    spec = spec_for("rope", capacity=12, steps=2)
    found = _broken(spec, next_slots=lambda ledger, n: np.arange(n))
    assert found.mechanism == ["right", "wrong", "wrong"]
    assert _first(found) == (1, "slots", None, None)


def test_one_slot_for_all_new_tokens_differs_in_the_slots():
    spec = spec_for("rope", capacity=12, steps=1)
    found = _broken(spec, next_slots=lambda ledger, n: np.full(n, ledger.length))
    assert _first(found)[:2] == (0, "slots")


def test_a_store_that_loses_its_rows_is_seen_at_once():
    spec = spec_for("learned", capacity=12, steps=1)
    found = _broken(spec, store=lambda rows, write_rows, keys, values: None)
    assert _all_letters(found) == ("rr", "WW", "WW")
    assert _first(found)[:3] == (0, "keys", 0)
    for record in found.trace.records:
        assert all((layer.row_token == ABSENT).all() for layer in record.layers)


def test_keys_stored_without_their_values_differ_in_the_values():
    def keys_only(rows, write_rows, keys, values):
        rows.write(write_rows, keys, values * 0)

    found = _broken(spec_for("learned", capacity=12, steps=1), store=keys_only)
    assert found.mechanism == ["wrong"] * 2
    assert _first(found)[:3] == (0, "values", 0)


def test_a_reported_length_of_tokens_seen_fails_the_policy_only():
    spec = spec_for("rope", policy="window", capacity=8, steps=4)
    found = _broken(spec, policy=Window(8), reported_length=lambda ledger: ledger.seen)
    assert _all_letters(found) == ("rrWWW", "rrrrr", "rrrrr")
    assert _first(found)[:2] == (2, "length")


def test_a_reset_that_keeps_the_count_shows_in_the_new_text():
    spec = spec_for(
        "learned", capacity=12, requests=(Prefill(SEVEN_IDS), NewPrompt(SEVEN_IDS), Decode())
    )
    found = _broken(spec, reset=lambda ledger: Ledger(ledger.capacity, seen=ledger.seen))
    assert _letters(found.policy) == "rWW"
    assert _first(found)[:2] == (1, "seen")
    assert found.logits[1] == "wrong"


def test_a_reset_that_keeps_the_rows_shows_in_the_new_text():
    spec = spec_for("rope", capacity=12, requests=(Prefill((1, 2)), NewPrompt((3, 4)), Decode()))
    found = _broken(spec, reset=lambda ledger: replace(ledger, seen=0))
    assert _letters(found.policy) == "rWW"
    assert _first(found)[:2] == (1, "length")


def test_a_rollback_that_keeps_a_row_shows_at_the_rollback():
    spec = spec_for("rope", capacity=12, requests=(Prefill(SEVEN_IDS), Rollback(3), Decode()))
    found = _broken(spec, crop=lambda ledger, n: seams.crop(ledger, n - 1).count(0, -1))
    assert _letters(found.policy) == "rWW"
    assert _first(found)[:2] == (1, "length")
    assert found.mechanism[2] == "wrong"


def test_a_rollback_that_does_not_count_back_shows_at_the_rollback():
    spec = spec_for("learned", capacity=12, requests=(Prefill(SEVEN_IDS), Rollback(3), Decode()))
    found = _broken(spec, crop=lambda ledger, n: seams.crop(ledger, n).count(0, n))
    assert _letters(found.policy) == "rWW"
    assert _first(found)[:2] == (1, "seen")


# What the engine refuses or admits against the specification.


def test_a_token_refused_too_early_counts_as_never_read():
    spec = spec_for(
        "learned", capacity=8, faults=(FaultUse("cap-early"),), force_ids=(9, 9, 9, 9),
        requests=(Prefill(SEVEN_IDS), Decode(), Rollback(2), Decode()),
    )  # fmt: skip
    found = judged(spec)
    # Step 1 is refused at fill 7 of 8; the text stays seven tokens long and goes on rightly.
    assert found.trace.records[1].outcome == Refused(1, 1)
    assert found.verdicts[1].expected.outcome == OK
    assert found.logits == ["right", None, None, "right"]
    assert found.wrong_steps == [1]


def test_a_token_admitted_without_room_is_read_as_if_there_were_room():
    spec = spec_for("rope", capacity=8, steps=3)
    found = _broken(spec, policy=None, overflow=lambda ledger, n_new: 0)
    assert [record.outcome for record in found.trace.records] == [OK] * 4
    # The ninth token has no row of its own: the buffer ends at eight.
    assert found.verdicts[2].expected.outcome == Refused(1, 0)
    assert found.wrong_steps[0] == 2
    assert found.verdicts[2].first_difference.field == "outcome"
    assert found.logits == ["right", "right", "wrong", "wrong"]
    assert found.mechanism == ["right", "right", "wrong", "wrong"]


def test_a_token_admitted_without_room_is_right_where_the_buffer_has_a_row_for_it():
    spec = spec_for("rope", capacity=8, steps=2)
    # A window's buffer is longer than its capacity; its policy lets everything be read here.
    found = _broken(spec, policy=Window(99), overflow=lambda ledger, n_new: 0)
    assert _letters(found.policy) == "rrW"
    assert found.mechanism == ["right"] * 3
    assert found.logits == ["right"] * 3


def test_an_append_past_the_position_table_that_goes_on_has_nothing_to_compare_with():
    loaded = tiny("learned")
    small = replace(loaded, config=replace(loaded.config, n_ctx=8))
    spec = spec_for("learned", capacity=8, policy="window", steps=3)
    # The engine of the whole model knows 256 positions; the judge is told of eight.
    trace = run(spec, loaded)
    found = Judge(trace, small).update()
    assert found[2].expected.outcome == PositionLimit(8)
    assert [verdict.policy for verdict in found] == ["right", "right", "wrong", "wrong"]
    assert found[2].logits is None
    assert found[2].first_difference.field == "outcome"


@pytest.mark.parametrize("n_values", [1, 3])
def test_an_uneven_probe_that_is_let_in_fails_the_policy(n_values):
    spec = spec_for(
        "rope", capacity=12, faults=(FaultUse("store-uneven"),),
        requests=(Prefill(SEVEN_IDS), Probe(2, n_values), Decode()),
    )  # fmt: skip
    found = judged(spec)
    assert found.verdicts[1].first_difference.field == "outcome"
    assert found.mechanism == ["right", "right", "wrong"]


# Records that were tampered with. The run is right as it was recorded.

STEP = 4


@pytest.fixture(scope="module")
def right():
    spec = spec_for("rope", policy="window", capacity=8, steps=6, chunk=4)
    found = judged(spec)
    assert found.wrong_steps == []
    return found


@pytest.mark.parametrize("step", [1, STEP])
def test_records_with_a_gap_in_the_text_still_get_verdicts(right, step):
    bare = {"outcome": Refused(1, 0), "layers": (), "readable": (), "logits": None}
    found = judge_again(with_record(right.trace, step, **bare), tiny("rope"))
    assert len(found.verdicts) == len(right.verdicts)
    assert found.policy[step:] == ["wrong"] * (len(right.verdicts) - step)


def _verdict(right, trace):
    """The verdict of the step that was changed; earlier ones must still be right."""
    found = judge_again(trace, tiny("rope"))
    assert [step for step in found.wrong_steps if step < STEP] == []
    return found.verdicts[STEP]


def _standings(verdict):
    return verdict.policy, verdict.mechanism, verdict.logits and verdict.logits.standing


@pytest.mark.parametrize("where", [0, 77, 255])
@pytest.mark.parametrize("change", [1e-6, -1e-6, 5.0, np.inf, -np.inf, np.nan])
def test_one_changed_logit_is_found(right, where, change):
    logits = right.trace.records[STEP].logits.copy()
    logits[where] += change
    verdict = _verdict(right, with_record(right.trace, STEP, logits=frozen(logits)))
    assert _standings(verdict) == ("right", "wrong", "wrong")
    assert verdict.first_difference.field == "logits"
    if np.isfinite(change):
        assert verdict.logits.max_abs_error == pytest.approx(abs(change), rel=1e-6)
    else:
        assert not np.isfinite(verdict.logits.max_abs_error)


def test_a_change_below_the_band_is_rounding_noise(right):
    logits = right.trace.records[STEP].logits.copy()
    logits[3] += 1e-14
    verdict = _verdict(right, with_record(right.trace, STEP, logits=frozen(logits)))
    assert _standings(verdict) == ("right", "right", "right")
    assert verdict.first_difference is None


def test_two_swapped_logits_are_found(right):
    logits = right.trace.records[STEP].logits.copy()
    logits[[10, 11]] = logits[[11, 10]]
    verdict = _verdict(right, with_record(right.trace, STEP, logits=frozen(logits)))
    assert _standings(verdict) == ("right", "wrong", "wrong")


@pytest.mark.parametrize("change", ["one less", "one more", "another"])
def test_a_changed_readable_set_is_found(right, change):
    record = right.trace.records[STEP]
    tokens = record.readable[0].tolist()
    changed = {"one less": tokens[1:], "one more": [0, *tokens], "another": [0, *tokens[1:]]}
    readable = (as_ids(changed[change]),)
    verdict = _verdict(right, with_record(right.trace, STEP, readable=readable))
    assert (verdict.policy, verdict.mechanism) == ("wrong", "wrong")
    assert verdict.first_difference.field == "readable"


@pytest.mark.parametrize("layer", [0, 3])
def test_swapped_rows_are_found(right, layer):
    tokens = right.trace.records[STEP].layers[layer].row_token.copy()
    tokens[[1, 2]] = tokens[[2, 1]]
    trace = with_layer(right.trace, STEP, layer, row_token=frozen(tokens))
    assert _standings(_verdict(right, trace)) == ("right", "wrong", "right")


@pytest.mark.parametrize("layer", [0, 3])
def test_a_row_without_a_token_is_found(right, layer):
    tokens = right.trace.records[STEP].layers[layer].row_token.copy()
    tokens[2] = ABSENT
    verdict = _verdict(right, with_layer(right.trace, STEP, layer, row_token=frozen(tokens)))
    assert _standings(verdict) == ("right", "wrong", "right")


@pytest.mark.parametrize("name", ["new_keys", "new_values"])
@pytest.mark.parametrize("layer", [0, 2, 3])
def test_a_new_row_that_is_not_what_the_reference_computes_is_found(right, layer, name):
    rows = getattr(right.trace.records[STEP].layers[layer], name).copy()
    rows[1, 0, 3] += 1e-6
    found = judge_again(with_layer(right.trace, STEP, layer, **{name: frozen(rows)}), tiny("rope"))
    # Every step that reads the row is wrong; the window holds it to the end of the run.
    n = len(right.verdicts)
    assert found.wrong_steps == list(range(STEP, n))
    assert found.policy == ["right"] * n
    assert found.logits == ["right"] * n


@pytest.mark.parametrize("name", ["new_keys", "new_values"])
def test_a_new_row_that_is_not_a_number_is_found(right, name):
    rows = getattr(right.trace.records[STEP].layers[1], name).copy()
    rows[0, 0, 0] = np.nan
    found = judge_again(with_layer(right.trace, STEP, 1, **{name: frozen(rows)}), tiny("rope"))
    assert found.wrong_steps == list(range(STEP, len(right.verdicts)))
    assert found.policy == ["right"] * len(right.verdicts)


def test_a_damaged_row_counts_from_the_start_of_its_own_passage():
    # Every step from the first decode on reads the last five tokens again, in a passage of its own.
    trace = run(spec_for("learned", policy="reprefill", capacity=5, steps=4))
    rows = trace.records[2].layers[1].new_values.copy()
    rows[0, 1, 0] += 1e-6
    changed = with_layer(trace, 2, 1, new_values=frozen(rows))
    assert judge_again(changed, tiny("learned")).wrong_steps == [2]


def test_a_damaged_row_of_the_text_before_does_not_touch_the_new_one():
    requests = (Prefill(SEVEN_IDS), NewPrompt((1, 2, 3)), Decode())
    trace = run(spec_for("rope", capacity=12, requests=requests))
    rows = trace.records[0].layers[1].new_values.copy()
    rows[0, 1, 0] += 1e-6
    assert judge_again(
        with_layer(trace, 0, 1, new_values=frozen(rows)), tiny("rope")
    ).wrong_steps == [0]


def test_a_damaged_row_that_was_taken_back_touches_nothing_any_more():
    requests = (Prefill(SEVEN_IDS), Decode(), Decode(), Rollback(2), Decode(), Decode())
    trace = run(spec_for("rope", capacity=12, requests=requests, force_ids=(5, 6)))
    rows = trace.records[2].layers[1].new_values.copy()
    rows[0, 0, 0] += 1e-6
    assert judge_again(
        with_layer(trace, 2, 1, new_values=frozen(rows)), tiny("rope")
    ).wrong_steps == [2]
    rows = trace.records[0].layers[1].new_values.copy()
    rows[0, 2, 0] += 1e-6
    found = judge_again(with_layer(trace, 0, 1, new_values=frozen(rows)), tiny("rope"))
    assert found.wrong_steps == [0, 1, 2, 4, 5]


@pytest.mark.parametrize("layer", [0, 3])
def test_a_mask_that_hides_a_readable_row_is_found(right, layer):
    plan = right.trace.records[STEP].layers[layer].plan
    mask = plan.mask.copy()
    mask[0, int(np.flatnonzero(mask[0])[0])] = False
    trace = with_layer(right.trace, STEP, layer, plan=replace(plan, mask=frozen(mask)))
    verdict = _verdict(right, trace)
    assert _standings(verdict) == ("right", "wrong", "right")
    assert (verdict.first_difference.layer, verdict.first_difference.field) == (layer, "visible")


def test_a_mask_that_shows_an_evicted_row_is_found(right):
    plan = right.trace.records[STEP].layers[0].plan
    assert not plan.mask.all()
    mask = frozen(np.ones_like(plan.mask))
    trace = with_layer(right.trace, STEP, 0, plan=replace(plan, mask=mask))
    verdict = _verdict(right, trace)
    assert verdict.mechanism == "wrong"
    assert verdict.first_difference.field == "visible"


def test_a_changed_position_id_is_found(right):
    layers = [
        replace(layer, plan=replace(layer.plan, position_ids=layer.plan.position_ids + 1))
        for layer in right.trace.records[STEP].layers
    ]
    verdict = _verdict(right, with_record(right.trace, STEP, layers=tuple(layers)))
    assert (verdict.policy, verdict.mechanism) == ("wrong", "wrong")
    assert verdict.first_difference.field == "position_ids"


def test_a_changed_token_is_found(right):
    found = _verdict(right, with_record(right.trace, STEP, token_ids=(9,)))
    assert found.logits.standing == "wrong"
    assert found.mechanism == "wrong"


@pytest.mark.parametrize("change", [-1, 1])
def test_a_changed_length_is_found(right, change):
    length = right.trace.records[STEP].reported_length + change
    verdict = _verdict(right, with_record(right.trace, STEP, reported_length=length))
    assert _standings(verdict) == ("wrong", "right", "right")
    assert verdict.first_difference.field == "length"


@pytest.mark.parametrize("change", [-1, 1])
def test_a_changed_count_of_tokens_is_found(right, change):
    ledger = right.trace.records[STEP].ledger
    changed = replace(ledger, seen=ledger.seen + change)
    verdict = _verdict(right, with_record(right.trace, STEP, ledger=changed))
    assert verdict.policy == "wrong"
    assert verdict.first_difference.field == "seen"


def test_a_refusal_that_did_not_happen_is_found(right):
    bare = {"outcome": Refused(1, 0), "layers": (), "readable": (), "logits": None}
    trace = with_record(right.trace, STEP, **bare)
    del trace.records[STEP + 1 :]
    verdict = _verdict(right, trace)
    assert verdict.policy == "wrong"
    assert verdict.first_difference.field == "outcome"


# The three-way verdict.


def _moved(trace, step, by):
    logits = trace.records[step].logits.copy()
    logits[0] += by
    return with_record(trace, step, logits=frozen(logits))


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_logits_are_right_up_to_the_band_and_wrong_above_the_threshold(sign, monkeypatch):
    spec = spec_for("rope", steps=3, capacity=12, dtype="float32")
    noise = max(v.logits.wrong_above for v in judged(spec).verdicts)
    monkeypatch.setattr("core.judge.logits_band", lambda dtype, reference: 1e-3)
    monkeypatch.setattr("core.rounding.NOISE_FACTOR", 4e-2 / noise * 4)
    trace = run(spec)
    first = judge_again(trace, tiny("rope")).verdicts[3].logits
    assert first.band == 1e-3
    assert first.wrong_above > 2e-3
    far = judge_again(_moved(trace, 3, sign * 100.0), tiny("rope")).verdicts[3].logits
    assert first.wrong_above < far.wrong_above < 10 * first.wrong_above
    for by, standing in (
        (0.5e-3, "right"),
        (1.5e-3, "rounding"),
        (0.9 * first.wrong_above, "rounding"),
        (0.9 * far.wrong_above, "rounding"),
        (1.1 * far.wrong_above, "wrong"),
        (100.0, "wrong"),
    ):
        found = judge_again(_moved(trace, 3, sign * by), tiny("rope"))
        assert found.logits == ["right", "right", "right", standing]


def test_rounding_is_not_a_difference(monkeypatch):
    monkeypatch.setattr("core.judge.logits_band", lambda dtype, reference: 1e-12)
    found = judged(spec_for("rope", steps=3, capacity=12, dtype="float32"))
    assert "rounding" in found.logits
    assert found.wrong_steps == []
    assert [verdict.first_difference for verdict in found.verdicts] == [None] * 4


def test_the_threshold_is_never_below_the_band_and_never_falls():
    for dtype in ("float64", "float32", "bfloat16", "float16"):
        found = judged(spec_for("rope", steps=6, capacity=16, dtype=dtype)).verdicts
        thresholds = [verdict.logits.wrong_above for verdict in found]
        assert all(v.logits.wrong_above >= v.logits.band for v in found)
        bands = [logits_band(dtype, verdict.logits.reference) for verdict in found]
        noisy = [t for t, band in zip(thresholds, bands, strict=True) if t > band]
        assert noisy == sorted(noisy)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_reference_uses_the_weights_as_rounded_to_the_engines_number_type(scheme, dtype):
    found = judged(spec_for(scheme, steps=2, capacity=12, dtype=dtype))
    ids = np.array([*SEVEN_IDS, *(r.token_ids[0] for r in found.trace.records[1:])])
    n = len(ids)
    passage = Passage(ids, np.arange(n), None, np.tri(n, dtype=bool))
    weights = tiny(scheme).weights
    rounded = Reference(weights.config, weights.to(getattr(torch, dtype), "cpu").arrays())
    exact = Reference(weights.config, weights.arrays())
    right, other = rounded.forward(passage).logits, exact.forward(passage).logits
    for row, verdict in enumerate(found.verdicts, start=6):
        assert np.allclose(verdict.logits.reference, right[row], atol=1e-12)
        assert np.abs(verdict.logits.reference - other[row]).max() > 1e-3


# What a verdict says beside its standing.


def test_a_verdict_names_the_choice_of_the_reference_and_the_divergence():
    found = judged(spec_for("learned", steps=3, capacity=12, faults=(FaultUse("pos-restart"),)))
    for record, verdict in zip(found.trace.records, found.verdicts, strict=True):
        logits = verdict.logits
        assert logits.reference_token == int(logits.reference.argmax())
        p = np.exp(logits.reference - logits.reference.max())
        q = np.exp(record.logits - record.logits.max())
        p, q = p / p.sum(), q / q.sum()
        assert logits.kl == pytest.approx(float((p * np.log(p / q)).sum()), abs=1e-9)
        error = np.abs(record.logits - logits.reference).max()
        assert logits.max_abs_error == pytest.approx(float(error), abs=1e-12)
    assert found.verdicts[0].logits.kl == pytest.approx(0.0, abs=1e-12)
    assert found.verdicts[1].logits.kl > 0.1


def test_where_nothing_was_computed_there_is_no_verdict_on_logits():
    found = judged(spec_for("rope", capacity=7, steps=1))
    assert found.logits == ["right", None]
    assert found.mechanism == ["right", "right"]
    assert found.policy == ["right", "right"]


def test_update_gives_the_new_verdicts_only():
    loaded = tiny("rope")
    session = Session(spec_for("rope", capacity=12, steps=3), loaded)
    judge = Judge(session.trace, loaded)
    assert judge.update() == []
    session.advance()
    session.advance()
    assert [verdict.step for verdict in judge.update()] == [0, 1]
    assert judge.update() == []
    session.run()
    assert [verdict.step for verdict in judge.update()] == [2, 3]
    assert [verdict.step for verdict in judge.verdicts] == [0, 1, 2, 3]


def test_rows_of_a_probe_count_from_the_step_after_it_also_in_one_batch():
    requests = (Prefill((1, 2, 3)), Decode(), Probe(1, 1), Decode())
    assert judged(spec_for("rope", capacity=12, requests=requests)).mechanism == ["right"] * 4


@pytest.mark.parametrize("n_accept", [0, 1, 3])
def test_drafts_that_were_taken_back_do_not_read_the_rows_of_a_later_probe(n_accept):
    verify = Verify((7, 8, 9), n_accept)
    requests = (Prefill((1, 2, 3)), verify, Probe(2, 2), Decode(), verify, Probe(1, 1))
    found = judged(spec_for("rope", capacity=24, requests=requests))
    assert found.wrong_steps == []
    assert found.mechanism == ["right"] * 6


@pytest.mark.parametrize("layer", [0, 3])
def test_a_query_that_sees_padding_fails_the_mechanism_even_if_no_logit_moves(layer):
    requests = (Prefill(SEVEN_IDS, n_pad=2), Decode())
    trace = run(spec_for("rope", capacity=16, requests=requests))
    assert judge_again(trace, tiny("rope")).wrong_steps == []
    plan = trace.records[1].layers[layer].plan
    assert not plan.mask[0, :2].any()
    changed = with_layer(trace, 1, layer, plan=replace(plan, mask=np.ones_like(plan.mask)))
    found = judge_again(changed, tiny("rope"))
    assert found.mechanism == ["right", "wrong"]
    assert found.logits == ["right", "right"]
    assert found.verdicts[1].first_difference.field == "visible"
    assert found.verdicts[1].first_difference.layer == layer


def test_a_step_after_which_the_re_read_rows_are_lost_is_judged_and_wrong():
    trace = run(spec_for("learned", policy="reprefill", capacity=7, steps=1))
    assert trace.records[1].n_recomputed == 6
    ledger = trace.records[1].ledger
    lost = ledger.only(np.zeros(len(ledger.slot), dtype=bool))
    found = judge_again(with_record(trace, 1, ledger=lost, reported_length=0), tiny("learned"))
    assert _all_letters(found) == ("rW", "rr", "rr")


def test_rows_of_a_probe_do_not_widen_what_counts_as_rounding():
    requests = (Prefill((1, 2, 3)), Probe(2, 2), Decode())
    trace = run(spec_for("rope", capacity=12, requests=requests))
    assert judge_again(_moved(trace, 2, 1e-6), tiny("rope")).logits == ["right", None, "wrong"]


def test_rows_of_a_probe_that_were_taken_back_are_not_missed_later():
    after = (Rollback(2), *[Decode()] * 5)
    requests = (Prefill((1, 2, 3, 4, 5)), Probe(1, 1), Decode(), Rollback(1), *after)
    found = judged(spec_for("rope", capacity=12, requests=requests))
    assert found.wrong_steps == []
    assert found.trace.records[-1].ledger.token_index.tolist() == list(range(8))


def test_a_refused_new_prompt_forgets_the_rows_of_a_probe():
    refused = NewPrompt((1, 2, 3, 4, 5))
    requests = (Prefill((1, 2)), Rollback(2), Probe(1, 1), refused, Prefill((7, 8)))
    assert judged(spec_for("rope", capacity=4, requests=requests)).wrong_steps == []


def _before_larger_rows(trace):
    """A step and layer whose key, with all before it, is small beside a later one; and its size."""
    for layer in range(4):
        sizes = [np.abs(record.layers[layer].new_keys).max() for record in trace.records]
        for step in range(1, len(sizes) - 1):
            so_far = max(1.0, *sizes[: step + 1])
            if max(sizes) > 1.2 * so_far:
                return step, layer, so_far
    raise AssertionError("no row is small beside a later one")


def test_the_batch_decides_nothing_about_a_damaged_row():
    trace = run(spec_for("rope", prompt_ids=(84,), capacity=16, steps=9))
    step, layer, so_far = _before_larger_rows(trace)
    keys = trace.records[step].layers[layer].new_keys.copy()
    keys[0, 0, 0] += 1.1 * field_band("float64", so_far * np.ones(1))
    changed = with_layer(trace, step, layer, new_keys=frozen(keys))
    once = judge_again(changed, tiny("rope"))
    growing = replace(changed, records=[])
    judge = Judge(growing, tiny("rope"))
    for record in changed.records:
        growing.records.append(record)
        judge.update()
    assert [verdict.mechanism for verdict in judge.verdicts] == once.mechanism
    assert once.mechanism[step] == "wrong"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("capacity", [1, 3])
def test_where_a_damaged_row_is_hidden_no_step_is_wrong_without_a_difference(scheme, capacity):
    # Chunk 0 spoils the rows of its tokens in the upper layers; with a window of one, the next
    # step reads the last of them once more, hidden by the mask, and it leaves at the commit.
    found = judged(
        spec_for(
            scheme, prompt_ids=(223, 151, 93, 169, 69, 52), policy="window", capacity=capacity,
            chunk=5, steps=8, faults=(FaultUse("mask-top-left", 0, 0),),
        )
    )  # fmt: skip
    for verdict in found.verdicts:
        assert verdict.is_wrong == (verdict.first_difference is not None)


def test_a_first_difference_is_given_exactly_where_a_verdict_is_wrong():
    for fault_id in ("pos-restart", "store-alias-in", "mask-unwritten", "cap-early"):
        found = judged(spec_for("rope", capacity=9, steps=4, faults=(FaultUse(fault_id),)))
        for verdict in found.verdicts:
            assert verdict.is_wrong == (verdict.first_difference is not None)
