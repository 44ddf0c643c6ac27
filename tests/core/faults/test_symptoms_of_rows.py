"""The exact symptoms of faults of storage, masks, windows and heads, read from the records."""

from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT
from core.faults.catalog import FAULTS
from core.outcome import OK
from core.spec import FaultUse
from tests.helpers.runs import SCHEMES, SEVEN_IDS, judged, run, spec_for
from tests.helpers.scenarios import scenario_spec

BY_ID = {fault.id: fault for fault in FAULTS}
EACH_SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
P = len(SEVEN_IDS)


def _records(fault_id, scheme, **settings):
    """The tokens are forced to differ: under ALiBi, layer 0 has the same row for equal tokens."""
    spec = scenario_spec(BY_ID[fault_id].shows_in, scheme, FaultUse(fault_id), dtype="float64")
    return run(replace(spec, force_ids=tuple(range(200, 212)), **settings)).records


@EACH_SCHEME
def test_mask_own_block_puts_a_weight_of_exactly_one_on_the_newest_slot(scheme):
    for record in _records("mask-own-block", scheme)[1:]:
        for layer in record.layers:
            assert (layer.weights[:, 0, -1] == 1.0).all()
            assert not layer.weights[:, 0, :-1].any()


@EACH_SCHEME
def test_mask_off_with_cache_opens_the_upper_triangle_of_the_prefill_only(scheme):
    records = _records("mask-off-with-cache", scheme)
    for layer in records[0].layers:
        above = np.triu_indices(P, 1)
        assert (layer.weights[:, above[0], above[1]] > 0).all()
    for record in records[1:]:
        assert record.layers[0].plan.mask.all()


@pytest.mark.parametrize("scheme", ["learned", "rope"])
def test_store_write_lost_gives_every_row_a_weight_of_exactly_one_in_m(scheme):
    for step, record in enumerate(_records("store-write-lost", scheme)):
        for layer in record.layers:
            m = P + step
            assert (layer.weights[:, -1] == 1.0 / m).all()
            assert (layer.row_token == ABSENT).all()


@EACH_SCHEME
def test_store_write_lost_makes_attention_give_nothing(scheme):
    records = _records("store-write-lost", scheme)
    # What is left of the output is the bias of its projection, the same for every token.
    for record in records:
        for layer in record.layers:
            assert (layer.output == layer.output[:1]).all()


@EACH_SCHEME
def test_store_first_lost_leaves_slot_zero_empty_with_a_score_of_exactly_zero(scheme):
    for record in _records("store-first-lost", scheme):
        for layer in record.layers:
            assert layer.row_token[0] == ABSENT
            assert (layer.row_token[1:] == np.arange(1, len(layer.row_token))).all()
            if scheme != "alibi":
                assert not layer.scores[:, :, 0].any()


@EACH_SCHEME
def test_store_layers_share_leaves_only_the_last_layer_its_earlier_rows(scheme):
    records = _records("store-layers-share", scheme)
    for layer in records[0].layers:
        assert layer.row_token.tolist() == list(range(P))
    for step, record in enumerate(records[1:], start=1):
        *others, last = record.layers
        assert last.row_token.tolist() == list(range(P + step))
        for layer in others:
            assert layer.row_token.tolist() == [*[ABSENT] * (P + step - 1), P + step - 1]


@EACH_SCHEME
def test_store_double_append_doubles_the_rows_at_every_token(scheme):
    records = _records("store-double-append", scheme)
    read = [len(record.layers[0].plan.view_slots) for record in records[:5]]
    assert read == [P, *((P + 1) * 2 ** (s - 1) for s in range(1, 5))] == [7, 8, 16, 32, 64]
    held = [record.reported_length for record in records[:5]]
    assert held == [P, *((P + 1) * 2**s - 1 for s in range(1, 5))] == [7, 15, 31, 63, 127]


def test_gqa_tile_leaves_the_first_and_the_last_head_right():
    wrong = _records("gqa-tile", "rope")[0].layers[0]
    right = run(spec_for("rope", steps=0)).records[0].layers[0]
    is_same = [np.allclose(wrong.scores[h], right.scores[h]) for h in range(4)]
    assert is_same == [True, False, False, True]
    assert np.allclose(wrong.scores[1], right.queries[1] @ wrong_key(right, 1).T / np.sqrt(8))


def wrong_key(layer, head):
    """[S, D] the keys of head h mod 2."""
    return layer.new_keys[head % 2]


@EACH_SCHEME
def test_cap_late_takes_a_row_that_has_no_place(scheme):
    last = _records("cap-late", scheme)[-1]
    assert last.outcome == OK
    assert (last.reported_length, last.ledger.capacity) == (13, 12)
    assert last.layers[0].plan.view_token_index.tolist() == list(range(12))
    assert last.token_index == (12,)


@EACH_SCHEME
def test_cap_one_row_test_lets_two_rows_into_the_last_slot(scheme):
    probe = _records("cap-one-row-test", scheme)[5]
    assert probe.outcome == OK
    assert (probe.reported_length, probe.ledger.capacity) == (13, 12)


@EACH_SCHEME
def test_evict_newest_keeps_the_first_tokens_and_the_newest(scheme):
    for step, record in enumerate(_records("evict-newest", scheme)[2:], start=2):
        assert record.ledger.token_index.tolist() == [*range(7), P + step - 1]


@EACH_SCHEME
@pytest.mark.parametrize(("fault_id", "n"), [("evict-off-by-one", 9), ("evict-one-short", 7)])
def test_a_window_off_by_one_shows_one_row_too_many_or_too_few(scheme, fault_id, n):
    for record in _records(fault_id, scheme)[2:]:
        assert int(record.layers[0].plan.mask.sum()) == n
        assert record.reported_length == 8


@EACH_SCHEME
def test_evict_never_holds_every_row_and_sees_a_window(scheme):
    for step, record in enumerate(_records("evict-never", scheme)):
        assert record.reported_length == P + step
        assert int(record.layers[0].plan.mask[-1].sum()) == min(P + step, 8)


@EACH_SCHEME
def test_evict_before_attend_takes_the_oldest_keys_of_all_but_the_last_row_of_a_chunk(scheme):
    chunk = _records("evict-before-attend", scheme)[1]
    assert chunk.token_index == (3, 4, 5)
    seen = [
        chunk.layers[0].plan.view_token_index[row].tolist() for row in chunk.layers[0].plan.mask
    ]
    assert seen == [[2, 3], [2, 3, 4], [2, 3, 4, 5]]
    right = [tokens.tolist() for tokens in chunk.readable]
    assert [len(r) - len(s) for r, s in zip(right, seen, strict=True)] == [2, 1, 0]


@EACH_SCHEME
def test_ring_start_reads_empty_slots_and_misses_the_newest_until_the_ring_is_full(scheme):
    records = _records("ring-start", scheme)
    views = [record.layers[0].plan.view_slots.tolist() for record in records[:4]]
    assert views[0] == list(range(7))
    assert views[1] == [8, 9, 0, 1, 2, 3, 4, 5]
    assert views[2] == [9, 0, 1, 2, 3, 4, 5, 6, 7]
    assert views[3] == list(range(10))
    assert records[1].layers[0].row_token.tolist() == [ABSENT, ABSENT, 0, 1, 2, 3, 4, 5]


@EACH_SCHEME
def test_ring_shuffle_changes_the_order_and_nothing_else(scheme):
    found = _records("ring-shuffle", scheme)
    right = _records("ring-shuffle", scheme, faults=())
    for mine, other in zip(found, right, strict=True):
        assert np.allclose(mine.logits, other.logits, atol=1e-10, rtol=0)
    assert found[2].layers[0].row_token.tolist() == [8, *range(8)]


@EACH_SCHEME
def test_sinks_lost_lets_the_first_columns_vanish(scheme):
    last = _records("sinks-lost", scheme)[-1]
    assert last.ledger.token_index.tolist() == list(range(4, 12))
    right = _records("sinks-lost", scheme, faults=())[-1]
    assert right.ledger.token_index.tolist() == [0, 1, *range(6, 12)]


@EACH_SCHEME
def test_gauge_lies_reports_what_has_left(scheme):
    records = _records("gauge-lies", scheme)
    assert [record.reported_length for record in records] == [7, 8, 1, 2, 3, 4]
    assert [record.ledger.length for record in records] == [7, 8, 8, 8, 8, 8]


def test_evict_before_attend_heals_once_the_spoiled_rows_have_left():
    spec = spec_for("rope", prompt_ids=(*SEVEN_IDS, 1, 2), capacity=5, policy="window", chunk=3,
                    steps=24, faults=(FaultUse("evict-before-attend"),))  # fmt: skip
    logits = judged(spec).logits
    # Four layers: what a chunk spoiled is carried on from layer to layer for three windows.
    assert logits[1] == "wrong"
    assert logits[-1] == "right"
