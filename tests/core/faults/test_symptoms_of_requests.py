"""The exact symptoms of faults of drafts, prefixes, padding, growth and 8-bit rows."""

from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT
from core.faults.catalog import FAULTS
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Reorder, RunSpec, Verify
from core.trace import rows_as_read
from tests.helpers.runs import SCHEMES, SEVEN_IDS, judged, run
from tests.helpers.scenarios import scenario_spec

BY_ID = {fault.id: fault for fault in FAULTS}
EACH_SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
P = len(SEVEN_IDS)


def _records(fault_id, scheme, **settings):
    spec = scenario_spec(BY_ID[fault_id].shows_in, scheme, FaultUse(fault_id), dtype="float64")
    return run(replace(spec, **{"force_ids": tuple(range(200, 212)), **settings})).records


@EACH_SCHEME
def test_without_a_fault_rejected_drafts_leave_in_their_own_step(scheme):
    verify = _records("spec-no-rollback", scheme, faults=())[2]
    assert verify.token_index == (8, 9, 10, 11)
    assert (verify.n_rejected, verify.reported_length, verify.ledger.seen) == (2, 10, 10)
    assert verify.layers[0].plan.mask.sum(axis=1).tolist() == [9, 10, 11, 12]


@EACH_SCHEME
def test_spec_no_rollback_fills_the_cache_with_the_rejected_drafts(scheme):
    records = _records("spec-no-rollback", scheme)
    assert [record.reported_length for record in records] == [7, 8, 12, 13, 14]
    assert [record.position_ids[-1] for record in records[3:]] == [12, 13]
    assert records[3].layers[0].row_token.tolist() == [*range(10), ABSENT, ABSENT, 12]


@EACH_SCHEME
def test_spec_short_leaves_one_rejected_row(scheme):
    records = _records("spec-short", scheme)
    assert [record.reported_length for record in records] == [7, 8, 11, 12, 13]
    assert records[3].layers[0].row_token.tolist() == [*range(10), ABSENT, 11]


@EACH_SCHEME
def test_spec_reset_starts_at_position_zero_again(scheme):
    records = _records("spec-reset", scheme)
    assert [record.reported_length for record in records] == [7, 8, 0, 1, 2]
    assert [record.position_ids for record in records[3:]] == [(0,), (1,)]


@pytest.mark.parametrize("fault_id", ["spec-no-rollback", "spec-short", "spec-reset"])
def test_the_step_that_verifies_is_right_in_itself(fault_id):
    found = judged(scenario_spec(BY_ID[fault_id].shows_in, "rope", FaultUse(fault_id)))
    assert found.logits[2] == "right"
    assert found.mechanism[2] == "right"


@EACH_SCHEME
def test_prefix_last_twice_holds_one_row_more_than_the_prompt_has_tokens(scheme):
    again = _records("prefix-last-twice", scheme)[3]
    assert again.prompt_ids == SEVEN_IDS
    assert again.token_ids == SEVEN_IDS[-1:]
    assert again.position_ids == (P,)
    assert again.reported_length == P + 1
    right = _records("prefix-last-twice", scheme, faults=())[3]
    assert (right.position_ids, right.reported_length) == ((P - 1,), P)


@EACH_SCHEME
def test_with_prefix_last_twice_a_prompt_of_one_token_reads_like_that_token_twice(scheme):
    spec = RunSpec(f"tiny-{scheme}", (5,), dtype="float64", capacity=8)
    again = (Prefill((5,)), NewPrompt((5,), reuse_prefix=True))
    wrong = run(replace(spec, requests=again, faults=(FaultUse("prefix-last-twice"),)))
    twice = run(replace(spec, requests=(Prefill((5, 5)),)))
    assert np.allclose(wrong.records[1].logits, twice.records[0].logits, atol=1e-12)


@EACH_SCHEME
def test_pos_pad_mixed_numbers_decoded_tokens_by_their_column(scheme):
    records = _records("pos-pad-mixed", scheme)
    assert records[0].position_ids == tuple(range(P))
    assert [record.position_ids for record in records[1:]] == [(P + 3 + s,) for s in range(5)]
    assert [record.reported_length for record in records] == [P + 3 + s for s in range(6)]


@EACH_SCHEME
def test_pos_pad_columns_numbers_every_token_by_its_column_and_moves_no_other_number(scheme):
    records = _records("pos-pad-columns", scheme)
    assert records[0].position_ids == tuple(range(3, 3 + P))
    assert [record.position_ids for record in records[1:]] == [(P + 3 + s,) for s in range(5)]
    right = _records("pos-pad-columns", scheme, faults=())
    for wrong, as_it_should in zip(records, right, strict=True):
        assert wrong.past_len == as_it_should.past_len
        assert wrong.slots.tolist() == as_it_should.slots.tolist()


def test_pos_pad_columns_shifts_rotary_logits_by_nothing():
    wrong = _records("pos-pad-columns", "rope")
    right = _records("pos-pad-columns", "rope", faults=())
    for a, b in zip(wrong, right, strict=True):
        assert np.allclose(a.logits, b.logits, atol=1e-12)


@EACH_SCHEME
def test_mask_pads_open_gives_weight_to_padding_at_every_step(scheme):
    for record in _records("mask-pads-open", scheme):
        for layer in record.layers:
            assert (layer.weights[:, -1, :3] > 0).all()
    for record in _records("mask-pads-open", scheme, faults=()):
        for layer in record.layers:
            assert not layer.weights[:, -1, :3].any()


@EACH_SCHEME
def test_mask_nan_row_makes_every_logit_nan_and_chooses_token_zero(scheme):
    records = _records("mask-nan-row", scheme)
    for record in records:
        assert np.isnan(record.logits).all()
        assert record.predicted == 0
    first = records[0].layers
    assert np.isfinite(first[0].output[3:]).all()
    assert np.isnan(first[0].output[:3]).all()


@EACH_SCHEME
def test_padding_changes_no_logit(scheme):
    spec = scenario_spec(BY_ID["mask-pads-open"].shows_in, scheme)
    padded = run(spec).records
    plain = run(replace(spec, requests=(Prefill(SEVEN_IDS), *spec.all_requests[1:]))).records
    for mine, other in zip(padded, plain, strict=True):
        assert np.allclose(mine.logits, other.logits, atol=1e-12)
        assert mine.position_ids == other.position_ids


def test_store_grow_scramble_moves_the_old_rows_of_head_one_into_head_zero():
    before = _records("store-grow-scramble", "rope")[1]
    records = _records("store-grow-scramble", "rope")
    assert [record.n_allocated for record in records] == [8, 8, 16, 16, 16, 16]
    keys = rows_as_read(records, 2, 0)[0]
    old = rows_as_read(records, 1, 0)[0]
    assert (keys[0, :8] == old[0]).all()
    assert not keys[1, :8].any()
    assert before.layers[0].row_token.tolist() == list(range(8))
    # Row 8 of head 0 was that of head 1's row 0 until token 8 was written there.
    assert records[2].layers[0].row_token.tolist() == [*[ABSENT] * 8, 8]


@EACH_SCHEME
def test_a_buffer_that_grows_gives_the_very_same_numbers(scheme):
    spec = scenario_spec(BY_ID["store-grow-scramble"].shows_in, scheme)
    grown, whole = run(spec).records, run(replace(spec, growable=False)).records
    for mine, other in zip(grown, whole, strict=True):
        assert (mine.logits == other.logits).all()


@EACH_SCHEME
def test_quant_floor_stores_whole_numbers(scheme):
    for record in _records("quant-floor", scheme):
        for layer in record.layers:
            assert (layer.new_keys == np.rint(layer.new_keys)).all()
            assert (layer.new_values == np.rint(layer.new_values)).all()


@EACH_SCHEME
def test_quant_no_descale_puts_nearly_all_weight_on_one_slot(scheme):
    wrong = _records("quant-no-descale", scheme)[1].layers[0]
    right = _records("quant-no-descale", scheme, faults=())[1].layers[0]
    assert np.abs(wrong.new_keys).max() == 127
    assert wrong.weights.max(axis=-1).mean() > right.weights.max(axis=-1).mean()
    assert np.abs(wrong.scores).max() > 10 * np.abs(right.scores).max()


@EACH_SCHEME
def test_rows_of_eight_bits_are_255_steps_of_their_largest_value(scheme):
    layer = _records("quant-floor", scheme, faults=())[0].layers[0]
    steps = layer.new_keys / (np.abs(layer.new_keys).max(axis=-1, keepdims=True) / 127)
    assert np.allclose(steps, np.rint(steps), atol=1e-9)


@EACH_SCHEME
def test_drafts_can_all_be_kept_or_all_be_rejected(scheme):
    spec = RunSpec(
        f"tiny-{scheme}", SEVEN_IDS, dtype="float64", capacity=24,
        requests=(Prefill(SEVEN_IDS), Verify((1, 2), 2), Verify((3, 4), 0), Decode()),
    )  # fmt: skip
    found = judged(spec)
    assert found.wrong_steps == []
    assert [record.ledger.seen for record in found.trace.records] == [7, 10, 11, 12]


@EACH_SCHEME
def test_mask_own_chunk_blinds_later_chunks_and_no_single_token(scheme):
    records = _records("mask-own-chunk", scheme)
    seen = [record.layers[0].plan.mask.sum(axis=1).tolist() for record in records[:5]]
    assert seen == [[1, 2, 3], [1, 2, 3], [7], [8], [9]]


@pytest.mark.parametrize("scheme", ["learned", "rope"])
def test_quant_zero_scale_looks_like_rows_that_were_never_written(scheme):
    for step, record in enumerate(_records("quant-zero-scale", scheme)):
        for layer in record.layers:
            assert (layer.weights[:, -1] == 1.0 / (P + step)).all()


@EACH_SCHEME
def test_without_a_fault_a_beam_goes_on_with_its_parents_rows(scheme):
    records = _records("beam-no-reorder", scheme, faults=(), force_ids=())
    assert [record.request for record in records] == [0, 1, 0, 1, 0, 0, 1, 0, 1]
    assert records[0].predicted == records[0].next_token != records[1].next_token
    # Beam 1 reads on what beam 0 had chosen, and the other way round.
    assert records[5].token_ids == (records[3].next_token,)
    assert records[6].token_ids == (records[2].next_token,)
    for record in records[5:]:
        assert record.layers[0].row_token.tolist() == list(range(len(record.ledger.slot)))


@EACH_SCHEME
def test_beam_no_reorder_reads_the_rows_of_another_text(scheme):
    for record in _records("beam-no-reorder", scheme, force_ids=())[5:7]:
        assert record.layers[0].row_token.tolist() == [*range(P), ABSENT, P + 1]


@EACH_SCHEME
def test_beam_keys_only_takes_the_right_keys_and_the_wrong_values(scheme):
    wrong = _records("beam-keys-only", scheme, force_ids=())
    right = _records("beam-keys-only", scheme, faults=(), force_ids=())
    mine, other = rows_as_read(wrong, 5, 0), rows_as_read(right, 5, 0)
    assert (mine[0] == other[0]).all()
    assert (mine[1] == other[1]).all(axis=(0, 2)).tolist() == [*[True] * P, False, True]


def test_beams_that_go_on_from_themselves_change_nothing():
    spec = scenario_spec(BY_ID["beam-no-reorder"].hides_in, "rope")
    still = replace(
        spec, requests=tuple(r for r in spec.all_requests if not isinstance(r, Reorder))
    )
    found = [record.logits for record in run(spec).records if record.logits is not None]
    other = [record.logits for record in run(still).records]
    assert all((a == b).all() for a, b in zip(found, other, strict=True))
