from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from core.engine import seams
from core.engine.engine import AppendTokens, ProbeRows, ReorderBeams, RollBack
from core.engine.policies import ByRank, Reprefill, Window
from core.engine.seams import CORRECT, Seams
from core.engine.types import Ledger
from core.outcome import OK, PositionLimit, Refused
from core.spec import Decode, NewPrompt, Prefill, Probe, Rollback
from tests.helpers.engines import ByHand
from tests.helpers.ledgers import content
from tests.helpers.runs import SCHEMES, SEVEN_IDS, run, spec_for, tiny, with_config


def _prefill(ids, **more):
    return AppendTokens("prefill", tuple(ids), **more)


def _decode(token):
    return AppendTokens("decode", (token,))


def _bytes_of(store):
    return [rows.kv.clone() for rows in store.layers]


def _same_bytes(store, before):
    return all(torch.equal(a.kv, b) for a, b in zip(store.layers, before, strict=True))


def test_a_prefill_is_one_record_that_says_what_was_read():
    record = ByHand("learned", 8).engine.step(_prefill([5, 6, 7]))
    assert (record.step, record.request, record.phase) == (0, 0, "prefill")
    assert record.token_ids == (5, 6, 7)
    assert record.token_index == (0, 1, 2)
    assert record.position_ids == (0, 1, 2)
    assert record.slots.tolist() == [0, 1, 2]
    assert [tokens.tolist() for tokens in record.readable] == [[0], [0, 1], [0, 1, 2]]
    assert (record.past_len, record.n_short, record.reported_length) == (0, 0, 3)
    assert record.outcome == OK
    assert record.is_computed


def test_steps_count_on_whatever_was_asked():
    engine = ByHand("learned", 4).engine
    requests = [_prefill([1, 2]), RollBack(1, 2), RollBack(9, None), _decode(3)]
    assert [engine.step(request).step for request in requests] == [0, 1, 2, 3]


def test_an_exact_fill_is_accepted_and_the_next_token_refused():
    by_hand = ByHand("rope", 3)
    assert by_hand.engine.step(_prefill([1, 2, 3])).outcome == OK
    assert by_hand.engine.step(_decode(4)).outcome == Refused(needed=1, free=0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_refused_append_changes_neither_ledger_nor_a_byte(scheme):
    by_hand = ByHand(scheme, 4)
    filled = by_hand.engine.step(_prefill([1, 2, 3]))
    before = _bytes_of(by_hand.store)
    refused = by_hand.engine.step(_prefill([4, 5]))
    assert refused.outcome == Refused(needed=2, free=1)
    assert refused.ledger is filled.ledger
    assert _same_bytes(by_hand.store, before)
    assert refused.live[0].token_index.tolist() == [0, 1, 2]
    assert by_hand.engine.step(_decode(4)).outcome == OK


def test_a_refused_step_records_what_was_offered_and_computes_nothing():
    engine = ByHand("rope", 2).engine
    engine.step(_prefill([1, 2]))
    refused = engine.step(_decode(9))
    assert refused.token_ids == (9,)
    assert refused.token_index == (2,)
    assert refused.n_short == 1
    assert (refused.logits, refused.predicted, refused.next_token) == (None, None, None)
    assert (refused.layers, refused.readable, refused.position_ids) == ((), (), ())
    assert refused.past_len is None
    assert not refused.is_computed


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_chunk_that_is_far_too_long_is_refused_whole(scheme):
    by_hand = ByHand(scheme, 4)
    assert by_hand.engine.step(_prefill(range(100))).outcome == Refused(needed=100, free=4)
    assert not any(rows.kv.any() for rows in by_hand.store.layers)


def test_a_window_writes_before_it_evicts_and_uses_freed_slots_again():
    engine = ByHand("rope", 3, policy=Window(3), longest_append=2).engine
    engine.step(_prefill([1, 2, 3]))
    step = engine.step(_decode(4))
    assert step.slots.tolist() == [3]
    assert step.layers[0].row_token.tolist() == [0, 1, 2, 3]
    assert step.layers[0].plan.mask.tolist() == [[False, True, True, True]]
    assert step.ledger.slot.tolist() == [1, 2, 3]
    following = engine.step(_decode(5))
    assert following.slots.tolist() == [0]
    assert following.ledger.token_index.tolist() == [2, 3, 4]
    assert following.live[0].slot.tolist() == [0, 2, 3]
    assert following.live[0].token_index.tolist() == [4, 2, 3]


def test_a_chunk_under_a_window_reaches_slots_past_the_capacity():
    engine = ByHand("rope", 3, policy=Window(3), longest_append=4).engine
    engine.step(_prefill([1, 2, 3]))
    step = engine.step(_prefill([4, 5, 6, 7]))
    assert step.slots.tolist() == [3, 4, 5, 6]
    assert step.ledger.slot.tolist() == [4, 5, 6]
    assert (step.reported_length, step.ledger.seen) == (3, 7)


def test_a_reprefill_reads_the_last_capacity_tokens_again():
    engine = ByHand("learned", 3, policy=Reprefill(3)).engine
    engine.step(_prefill([11, 12, 13]))
    step = engine.step(_decode(14))
    assert (step.n_short, step.n_recomputed, step.n_skipped) == (1, 2, 0)
    assert step.layers[0].plan.position_ids.tolist() == [0, 1, 2]
    assert step.position_ids == (2,)
    assert step.ledger.token_id.tolist() == [12, 13, 14]
    assert step.ledger.token_index.tolist() == [1, 2, 3]
    assert (step.ledger.seen, step.ledger.origin, step.past_len) == (4, 1, 0)


def test_a_chunk_longer_than_the_capacity_skips_its_first_tokens_under_reprefill():
    engine = ByHand("learned", 3, policy=Reprefill(3)).engine
    step = engine.step(_prefill([11, 12, 13, 14, 15]))
    assert (step.n_skipped, step.n_recomputed) == (2, 0)
    assert step.position_ids == (None, None, 0, 1, 2)
    assert step.ledger.token_index.tolist() == [2, 3, 4]
    assert len(step.readable) == 3


def test_a_new_text_begins_with_an_empty_cache():
    engine = ByHand("rope", 4).engine
    engine.step(_prefill([1, 2, 3]))
    step = engine.step(AppendTokens("new_prompt", (7, 8), is_new_text=True))
    assert step.token_index == (0, 1)
    assert step.slots.tolist() == [0, 1]
    assert step.ledger.token_id.tolist() == [7, 8]
    assert step.layers[0].row_token.tolist() == [0, 1]


def test_rows_of_the_text_before_hold_no_token_of_the_new_one():
    whole = replace(CORRECT, kv_view=lambda ledger: np.arange(ledger.capacity))
    engine = ByHand("rope", 4, seams=whole).engine
    engine.step(_prefill([1, 2, 3]))
    step = engine.step(AppendTokens("new_prompt", (7, 8), is_new_text=True))
    assert step.layers[0].row_token.tolist() == [0, 1, -1, -1]
    refused = engine.step(AppendTokens("new_prompt", (1, 2, 3, 4, 5), is_new_text=True))
    assert refused.live[0].token_index.tolist() == []


def test_ranks_are_given_anew_after_every_step():
    engine = ByHand("rope", 3, policy=Window(3, 1), numbering=ByRank(3, 1), longest_append=2).engine
    engine.step(_prefill([1, 2, 3]))
    step = engine.step(_prefill([4, 5]))
    assert step.position_ids == (2, 2)
    assert step.ledger.token_index.tolist() == [0, 3, 4]
    assert step.ledger.position_id.tolist() == [0, 1, 2]
    assert engine.step(RollBack(1, 5)).ledger.position_id.tolist() == [0, 1]


def test_a_new_text_that_does_not_fit_leaves_the_cache_empty():
    engine = ByHand("rope", 2).engine
    engine.step(_prefill([1, 2]))
    step = engine.step(AppendTokens("new_prompt", (7, 8, 9), is_new_text=True))
    assert step.outcome == Refused(needed=3, free=2)
    assert content(step.ledger) == content(Ledger(2))
    assert step.live[0].token_index.tolist() == []


def test_the_same_text_again_gives_the_same_logits():
    engine = ByHand("alibi", 6).engine
    first = engine.step(_prefill([1, 2, 3]))
    engine.step(_decode(9))
    again = engine.step(AppendTokens("new_prompt", (1, 2, 3), is_new_text=True))
    assert np.array_equal(first.logits, again.logits)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_token_read_after_a_rollback_gives_the_logits_of_the_shorter_text(scheme):
    rolled, straight = ByHand(scheme, 6).engine, ByHand(scheme, 6).engine
    rolled.step(_prefill([1, 2, 3, 4, 5]))
    record = rolled.step(RollBack(2, next_token=4))
    assert (record.phase, record.n_rolled_back, record.next_token) == ("rollback", 2, 4)
    assert record.ledger.token_id.tolist() == [1, 2, 3]
    assert record.live[0].token_index.tolist() == [0, 1, 2]
    straight.step(_prefill([1, 2, 3]))
    # Not bit for bit: a matrix of five rows may be multiplied otherwise than one of three.
    after, shorter = (engine.step(_decode(9)).logits for engine in (rolled, straight))
    np.testing.assert_allclose(after, shorter, rtol=0, atol=1e-10)


def test_a_rollback_of_more_than_was_read_is_refused():
    engine = ByHand("rope", 4).engine
    before = engine.step(_prefill([1, 2, 3]))
    record = engine.step(RollBack(4, None))
    assert record.outcome == Refused(needed=4, free=3)
    assert record.ledger is before.ledger


def test_a_rollback_past_what_the_window_holds_is_refused():
    engine = ByHand("rope", 3, policy=Window(3)).engine
    engine.step(_prefill([1, 2, 3, 4, 5]))
    # The next token would be token 3: it reads tokens 1 and 2, and token 1 has left.
    assert engine.step(RollBack(2, 4)).outcome == Refused(needed=2, free=1)
    # Token 4 reads tokens 2 and 3, which are held.
    assert engine.step(RollBack(1, 5)).outcome == OK


def test_a_rollback_to_nothing_needs_nothing():
    engine = ByHand("rope", 3, policy=Window(3)).engine
    engine.step(_prefill([1, 2, 3, 4, 5]))
    record = engine.step(RollBack(5, 1))
    assert record.outcome == OK
    assert content(record.ledger) == content(Ledger(3))


@pytest.mark.parametrize("capacity", [1, 3])
def test_after_everything_was_taken_back_a_reprefill_starts_from_position_zero(capacity):
    engine = ByHand("learned", capacity, policy=Reprefill(capacity)).engine
    engine.step(_prefill(range(6)))
    engine.step(RollBack(6, 0))
    step = engine.step(_decode(5))
    assert step.outcome == OK
    assert step.position_ids == (0,)
    assert step.token_index == (0,)


def _probe(scheme, n_keys, n_values):
    config = tiny(scheme).config
    shape = config.n_layers, config.n_kv_heads
    generator = torch.Generator().manual_seed(3)
    rows = torch.randn(*shape, max(n_keys, n_values), config.d_head, generator=generator).double()
    return ProbeRows(rows[:, :, :n_keys], -rows[:, :, :n_values])


def test_a_probe_appends_rows_that_hold_no_token():
    by_hand = ByHand("rope", 8)
    by_hand.engine.step(_prefill([1, 2, 3]))
    probe = _probe("rope", 2, 2)
    record = by_hand.engine.step(probe)
    assert (record.phase, record.outcome, record.n_probed) == ("probe", OK, (2, 2))
    assert (record.reported_length, record.ledger.seen) == (5, 3)
    assert record.ledger.token_index.tolist() == [0, 1, 2, -1, -1]
    assert record.live[0].token_index.tolist() == [0, 1, 2, -1, -1]
    for layer, rows in enumerate(by_hand.store.layers):
        assert torch.equal(rows.kv[0, :, 3:5], probe.keys[layer])
        assert torch.equal(rows.kv[1, :, 3:5], probe.values[layer])


def test_the_rows_of_a_probe_take_part_in_the_next_read():
    by_hand = ByHand("rope", 8)
    by_hand.engine.step(_prefill([1, 2, 3]))
    by_hand.engine.step(_probe("rope", 1, 1))
    step = by_hand.engine.step(_decode(4))
    assert step.slots.tolist() == [4]
    assert step.position_ids == (3,)
    assert step.layers[0].plan.mask.tolist() == [[True] * 5]
    assert (step.layers[0].weights[:, 0, 3] > 0).all()


@pytest.mark.parametrize(
    ("n_keys", "n_values", "refused"),
    [(2, 1, Refused(2, 5)), (1, 2, Refused(2, 5)), (6, 6, Refused(6, 5)), (6, 1, Refused(6, 5))],
)
def test_a_probe_that_is_uneven_or_too_long_changes_nothing(n_keys, n_values, refused):
    by_hand = ByHand("rope", 8)
    filled = by_hand.engine.step(_prefill([1, 2, 3]))
    before = _bytes_of(by_hand.store)
    record = by_hand.engine.step(_probe("rope", n_keys, n_values))
    assert record.outcome == refused
    assert record.ledger is filled.ledger
    assert _same_bytes(by_hand.store, before)


def test_a_rollback_past_a_probe_takes_its_rows_along():
    engine = ByHand("rope", 8).engine
    engine.step(_prefill([1, 2, 3]))
    engine.step(_probe("rope", 2, 2))
    engine.step(_decode(4))
    assert engine.step(RollBack(1, 4)).ledger.token_index.tolist() == [0, 1, 2, -1, -1]
    assert engine.step(RollBack(1, 3)).ledger.token_index.tolist() == [0, 1]


def test_a_position_past_the_table_ends_the_run_and_changes_nothing():
    small = with_config("learned", n_ctx=4)
    by_hand = ByHand("learned", 4, policy=Window(4), loaded=small)
    filled = by_hand.engine.step(_prefill([1, 2, 3]))
    before = _bytes_of(by_hand.store)
    record = by_hand.engine.step(_prefill([4, 5]))
    assert record.outcome == PositionLimit(n_ctx=4)
    assert record.ledger is filled.ledger
    assert _same_bytes(by_hand.store, before)
    assert by_hand.engine.step(_decode(4)).outcome == OK


def test_room_is_looked_at_before_the_end_of_the_table():
    small = with_config("learned", n_ctx=4)
    engine = ByHand("learned", 4, loaded=small).engine
    assert engine.step(_prefill(range(5))).outcome == Refused(needed=5, free=4)


@pytest.mark.parametrize("scheme", ["rope", "alibi"])
def test_relative_positions_have_no_end(scheme):
    small = with_config(scheme, n_ctx=4)
    engine = ByHand(scheme, 4, policy=Window(4), loaded=small).engine
    assert engine.step(_prefill(range(8))).position_ids == tuple(range(8))


def test_the_next_token_is_the_engines_own_unless_it_is_forced():
    engine = ByHand("rope", 8).engine
    own = engine.step(_prefill([1, 2]))
    assert own.predicted == own.next_token == int(own.logits.argmax())
    assert not own.is_forced
    forced = engine.step(_prefill([3], forced_next=77))
    assert forced.next_token == 77
    assert forced.predicted == int(forced.logits.argmax())
    assert forced.is_forced


def test_layers_that_were_told_the_same_share_one_plan():
    step = ByHand("rope", 8).engine.step(_prefill([1, 2, 3]))
    assert all(layer.plan is step.layers[0].plan for layer in step.layers)
    assert all(rows is step.live[0] for rows in step.live)


def test_a_step_computes_in_one_thread_and_leaves_their_number_as_it_was():
    seen = []

    def spy(heads, n_rep):
        seen.append(torch.get_num_threads())
        return seams.repeat_kv(heads, n_rep)

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        ByHand("rope", 8, seams=replace(CORRECT, repeat_kv=spy)).engine.step(_prefill([1, 2]))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


def test_single_rows_are_computed_into_one_scratch_that_is_used_again():
    by_hand = ByHand("rope", 8)
    by_hand.engine.step(_prefill([1, 2]))
    assert not by_hand.store.scratch.any()
    step = by_hand.engine.step(_decode(3))
    last = step.layers[-1]
    assert np.array_equal(by_hand.store.scratch[0].numpy(), last.new_keys)
    assert np.array_equal(by_hand.store.scratch[1].numpy(), last.new_values)


def test_attention_uses_what_the_buffer_gives_back():
    by_hand = ByHand("learned", 8)
    first = by_hand.engine.step(_prefill([1, 2, 3]))
    by_hand.store.layers[2].kv[1, 0, 1] += 5.0
    spoiled = by_hand.engine.step(_decode(4))
    clean = ByHand("learned", 8)
    clean.engine.step(_prefill([1, 2, 3]))
    right = clean.engine.step(_decode(4))
    assert first.layers[2].row_token.tolist() == [0, 1, 2]
    assert spoiled.layers[2].row_token.tolist() == [0, -1, 2, 3]
    assert np.array_equal(spoiled.layers[1].residual, right.layers[1].residual)
    assert np.abs(spoiled.layers[2].output - right.layers[2].output).max() > 1e-3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_weights_are_the_softmax_of_the_visible_scores(scheme):
    step = ByHand(scheme, 8).engine.step(_prefill([1, 2, 3, 4]))
    for layer in step.layers:
        visible = np.where(layer.plan.mask, layer.scores, -np.inf)
        shifted = np.exp(visible - visible.max(axis=-1, keepdims=True))
        right = shifted / shifted.sum(axis=-1, keepdims=True)
        assert np.allclose(layer.weights, right, atol=1e-14)
        assert not layer.weights[:, ~layer.plan.mask].any()


def test_scores_of_a_record_are_its_queries_times_the_keys_that_were_read():
    step = ByHand("rope", 8).engine.step(_prefill([1, 2, 3, 4]))
    for layer in step.layers:
        keys = np.repeat(layer.new_keys, 2, axis=0)
        right = np.einsum("htd,hsd->hts", layer.queries, keys) / np.sqrt(8)
        assert np.allclose(layer.scores, right, atol=1e-13)


class AskedError(Exception):
    """A seam was asked."""


_EVERYTHING = (
    Prefill(SEVEN_IDS[:3]),
    Decode(),
    Probe(1, 1),
    Rollback(1),
    NewPrompt(SEVEN_IDS[:2]),
    Decode(),
)


@pytest.mark.parametrize("name", [field.name for field in fields(Seams)])
def test_the_engine_asks_every_seam(name):
    asked = []
    right = getattr(seams, name)

    def spy(*given):
        asked.append(name)
        return right(*given)

    spied = replace(CORRECT, **{name: spy})
    engine = ByHand(
        "rope", 8, seams=spied, policy=Window(8), first_rows=2, is_quantised=True
    ).engine
    engine.step(_prefill([1, 2, 3]))
    engine.step(_decode(4))
    engine.step(RollBack(1, 4))
    engine.step(AppendTokens("new_prompt", (1, 2), is_new_text=True))
    engine.step(AppendTokens("new_prompt", (1, 3), is_new_text=True, n_common=1))
    engine.step(ReorderBeams((0,)))
    assert asked


@pytest.mark.parametrize("name", ["overflow", "admit", "next_slots", "slot_mapping", "store"])
def test_a_probe_asks_the_seams_of_an_append(name):
    def refuse_to_answer(*_):
        raise AskedError

    engine = ByHand("rope", 8, seams=replace(CORRECT, **{name: refuse_to_answer})).engine
    with pytest.raises(AskedError):
        engine.step(_probe("rope", 1, 1))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_every_number_type_runs_under_every_scheme_and_is_recorded_as_it_is(scheme, dtype):
    spec = spec_for(scheme, dtype=dtype, capacity=12, requests=_EVERYTHING)
    records = run(spec).records
    kept_as = {"bfloat16": np.float32}.get(dtype, dtype)
    for record in (record for record in records if record.is_computed):
        assert record.logits.dtype == kept_as
        assert np.isfinite(record.logits).all()
        assert record.layers[0].new_keys.dtype == kept_as


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_re_assigned_positions_run_in_half_precision(dtype):
    for scheme in ("rope", "alibi"):
        spec = spec_for(
            scheme, dtype=dtype, policy="sinks", sinks=1, reassign_positions=True, capacity=4,
            chunk=3, steps=3,
        )  # fmt: skip
        assert all(record.is_computed for record in run(spec).records)
