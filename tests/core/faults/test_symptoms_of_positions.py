"""The exact symptoms of faults of positions and rotation, read from the records."""

from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT
from core.faults.catalog import FAULTS
from core.spec import Decode, FaultUse, Prefill
from core.trace import rows_as_read
from tests.helpers.runs import SCHEMES, SEVEN_IDS, judged, run, spec_for, tiny
from tests.helpers.scenarios import scenario_spec

BY_ID = {fault.id: fault for fault in FAULTS}
EACH_SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
P = len(SEVEN_IDS)


def _records(fault_id, scheme, **settings):
    spec = scenario_spec(BY_ID[fault_id].shows_in, scheme, FaultUse(fault_id), dtype="float64")
    return run(replace(spec, force_ids=tuple(range(200, 212)), **settings)).records


def _decoded(fault_id, scheme):
    return [record.position_ids[0] for record in _records(fault_id, scheme)[1:]]


@EACH_SCHEME
def test_pos_wrong_axis_numbers_every_decoded_token_with_the_number_of_heads(scheme):
    n_heads = tiny(scheme).config.n_kv_heads
    assert _decoded("pos-wrong-axis", scheme) == [n_heads] * 5


@EACH_SCHEME
def test_pos_hole_is_one_too_far_in_position_slot_and_fill(scheme):
    records = _records("pos-hole", scheme)
    assert records[0].position_ids == tuple(range(P))
    for step, record in enumerate(records[1:], start=1):
        assert record.position_ids == (P + step,)
        assert record.slots.tolist() == [P + step]
        assert record.reported_length == P + step + 1
        assert record.token_index == (P + step - 1,)


@pytest.mark.parametrize("scheme", ["learned", "rope"])
def test_pos_hole_attends_to_slot_p_with_a_score_of_zero(scheme):
    for record in _records("pos-hole", scheme)[1:]:
        for layer in record.layers:
            (column,) = np.flatnonzero(layer.plan.view_slots == P)
            assert layer.row_token[column] == ABSENT
            assert layer.plan.mask[:, column].all()
            assert not layer.scores[:, :, column].any()
            assert (layer.weights[:, :, column] > 0).all()


@EACH_SCHEME
def test_pos_memo_sticks_at_the_position_of_the_first_decoded_token(scheme):
    assert _decoded("pos-memo", scheme) == [P] * 5


@EACH_SCHEME
def test_pos_memo_is_wrong_at_once_after_a_prompt_of_one_token(scheme):
    spec = spec_for(scheme, prompt_ids=(5,), steps=3, faults=(FaultUse("pos-memo"),))
    assert [record.position_ids for record in run(spec).records] == [(0,)] * 4


@EACH_SCHEME
def test_pos_memo_forgets_nothing_of_a_call_of_another_length(scheme):
    spec = spec_for(
        scheme,
        requests=(Prefill((1, 2, 3)), Decode(), Prefill((4, 5)), Decode(), Decode()),
        faults=(FaultUse("pos-memo"),),
    )
    found = [record.position_ids for record in run(spec).records]
    assert found == [(0, 1, 2), (3,), (4, 5), (6,), (6,)]


@EACH_SCHEME
def test_pos_stale_prompt_jumps_by_the_prompt_after_the_first_decoded_token(scheme):
    assert _decoded("pos-stale-prompt", scheme) == [P, 2 * P, 2 * P + 1, 2 * P + 2, 2 * P + 3]


@EACH_SCHEME
def test_pos_retained_rows_freezes_when_the_window_is_full(scheme):
    assert _decoded("pos-retained-rows", scheme) == [7, 8, 8, 8, 8]


@EACH_SCHEME
def test_store_stale_reset_counts_on_into_the_second_text(scheme):
    again = _records("store-stale-reset", scheme)[3]
    assert again.token_index == tuple(range(P))
    assert again.position_ids == tuple(range(P + 2, 2 * P + 2))
    assert (again.ledger.seen, again.reported_length) == (P, P)


def test_pos_layer_counter_leaves_layer_zero_exactly_right():
    wrong = _records("pos-layer-counter", "rope")
    right = _records("pos-layer-counter", "rope", faults=())
    for mine, other in zip(wrong, right, strict=True):
        assert (mine.layers[0].weights == other.layers[0].weights).all()
    assert not np.allclose(wrong[1].layers[1].weights, right[1].layers[1].weights)


def test_pos_layer_counter_numbers_decoded_tokens_one_too_high_in_later_layers():
    for step, record in enumerate(_records("pos-layer-counter", "rope")[1:], start=1):
        layers = [layer.plan for layer in record.layers]
        assert layers[0].queries_at.tolist() == [P + step - 1]
        for plan in layers[1:]:
            assert plan.queries_at.tolist() == plan.write_position_ids.tolist() == [P + step]


def test_pos_captured_alias_puts_a_query_n_positions_behind_its_key():
    for record in _records("pos-captured-alias", "rope"):
        plan = record.layers[0].plan
        assert plan.write_position_ids is not None
        n = len(plan.position_ids)
        assert (plan.queries_at - plan.write_position_ids).tolist() == [n] * n


def test_pos_captured_alias_does_not_show_in_the_first_logits_of_a_single_token():
    spec = spec_for("rope", prompt_ids=(5,), steps=2, faults=(FaultUse("pos-captured-alias"),))
    assert judged(spec).logits == ["right", "wrong", "wrong"]


def test_pos_skip_single_gives_the_bare_embedding_to_a_decoded_token():
    wrong, right = _records("pos-skip-single", "learned")[1], None
    weights = tiny("learned").weights
    right = run(spec_for("learned", force_ids=(200,), steps=1)).records[1]
    assert wrong.position_ids == right.position_ids == (P,)
    assert weights.position_embedding is not None
    assert not np.allclose(wrong.layers[0].new_keys, right.layers[0].new_keys)


def test_rope_on_read_turns_each_earlier_key_once_more_and_no_other():
    record = _records("rope-on-read", "rope")[1]
    right = _records("rope-on-read", "rope", faults=())[1]
    wrong_scores, scores = record.layers[0].scores[:, 0], right.layers[0].scores[:, 0]
    is_same = np.isclose(wrong_scores, scores).all(axis=0)
    assert is_same.tolist() == [True, *[False] * (P - 1), True]
    # A key at j that is turned by j once more scores as one at 2 j.
    layer = right.layers[0]
    keys = _records("rope-on-read", "rope", faults=())[0].layers[0].new_keys
    angle = np.arange(P)[:, None] / 10_000.0 ** (np.arange(4) / 4)
    first, second = keys[..., :4], keys[..., 4:]
    turned = np.concatenate(
        (first * np.cos(angle) - second * np.sin(angle),
         second * np.cos(angle) + first * np.sin(angle)), axis=-1
    )  # fmt: skip
    expected = np.einsum("hd,hsd->hs", layer.queries[:, 0], turned.repeat(2, axis=0)) / np.sqrt(8)
    assert np.allclose(wrong_scores[:, :P], expected)


def test_rope_write_back_leaves_slot_j_at_s_plus_one_times_j_after_step_s():
    records = _records("rope-write-back", "rope")
    right = _records("rope-write-back", "rope", faults=())[0].layers[0].new_keys
    pairs = right[..., :4] + 1j * right[..., 4:]
    for step in range(1, 6):
        used = records[step].layers[0].used_keys
        assert used is not None
        used = used[:, :P]
        angle = step * np.arange(P)[:, None] / 10_000.0 ** (np.arange(4) / 4)
        turned = pairs * np.exp(1j * angle)  # once they stood at j: now at (step + 1) j
        assert np.allclose(used, np.concatenate((turned.real, turned.imag), axis=-1))
        if step < 5:
            stored = rows_as_read(records, step + 1, 0)[0][:, :P]
            assert np.array_equal(stored, used)


def test_rope_write_back_leaves_slot_zero_and_the_newest_rows_right():
    record = _records("rope-write-back", "rope")[4]
    assert record.layers[0].row_token.tolist() == [0, *[ABSENT] * 8, 9, 10]


def test_rope_writeback_lost_spoils_the_columns_of_its_own_call_in_layer_zero():
    wrong = _records("rope-writeback-lost", "rope")[1].layers[0].scores[:, 0]
    right = _records("rope-writeback-lost", "rope", faults=())[1].layers[0].scores[:, 0]
    assert np.isclose(wrong, right).all(axis=0).tolist() == [*[True] * P, False]


def test_pos_layer_prefill_keeps_the_prompt_at_p_to_2p_above_layer_zero():
    records = _records("pos-layer-prefill", "rope")
    for layer, told in enumerate(records[0].layers):
        first = P if layer else 0
        assert told.plan.write_position_ids.tolist() == list(range(first, first + P))
        assert told.plan.queries_at.tolist() == list(range(first, first + P))
    for step in range(1, 6):
        places = [told.plan.write_position_ids.tolist() for told in records[step].layers]
        assert places == [[P + step - 1], *[[P + step]] * (len(places) - 1)]


def test_pos_layer_prefill_is_right_in_the_logits_of_the_prompt_alone():
    spec = scenario_spec(BY_ID["pos-layer-prefill"].shows_in, "rope", FaultUse("pos-layer-prefill"))
    assert judged(spec).logits[:2] == ["right", "wrong"]
