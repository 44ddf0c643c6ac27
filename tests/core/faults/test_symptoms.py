from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT
from core.faults.catalog import FAULTS
from core.outcome import OK, Refused
from core.spec import Decode, FaultUse, Prefill, Probe
from core.trace import rows_as_read
from tests.helpers.runs import SCHEMES, SEVEN_IDS, judged, run, spec_for
from tests.helpers.scenarios import scenario_spec

BY_ID = {fault.id: fault for fault in FAULTS}
pytestmark = pytest.mark.parametrize("scheme", SCHEMES)


def _records(fault_id, scheme, dtype="float32"):
    """The tokens are forced to differ: under ALiBi, layer 0 has the same row for equal tokens."""
    spec = scenario_spec(BY_ID[fault_id].shows_in, scheme, FaultUse(fault_id), dtype=dtype)
    return run(replace(spec, force_ids=tuple(range(200, 212)))).records


def test_pos_restart_numbers_every_decoded_token_zero(scheme):
    records = _records("pos-restart", scheme)
    assert records[0].position_ids == (0, 1, 2, 3, 4, 5, 6)
    assert [record.position_ids for record in records[1:]] == [(0,)] * 5
    assert records[-1].ledger.position_id.tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0]
    assert [record.past_len for record in records] == [0, 7, 8, 9, 10, 11]


def test_pos_restart_numbers_each_chunk_from_zero(scheme):
    spec = spec_for(scheme, capacity=12, steps=0, chunk=3, faults=(FaultUse("pos-restart"),))
    found = [record.position_ids for record in run(spec).records]
    assert found == [(0, 1, 2), (0, 1, 2), (0,)]


def test_mask_top_left_puts_a_weight_of_exactly_one_on_slot_zero(scheme):
    for record in _records("mask-top-left", scheme)[1:]:
        for layer in record.layers:
            assert layer.plan.view_slots[0] == 0
            assert (layer.weights[:, 0, 0] == 1.0).all()
            assert not layer.weights[:, 0, 1:].any()


def test_mask_top_left_gives_row_i_of_a_chunk_i_plus_one_slots(scheme):
    spec = spec_for(
        scheme, prompt_ids=SEVEN_IDS[:5], capacity=12, steps=0, chunk=2,
        faults=(FaultUse("mask-top-left"),),
    )  # fmt: skip
    records = run(spec).records
    assert records[1].layers[0].plan.mask.sum(axis=1).tolist() == [1, 2]
    assert records[2].layers[0].plan.mask.sum(axis=1).tolist() == [1]


def test_mask_unwritten_shares_one_weight_among_the_empty_slots(scheme):
    for step, record in enumerate(_records("mask-unwritten", scheme)):
        n_held = 7 + step
        for layer in record.layers:
            assert layer.plan.view_slots.tolist() == list(range(12))
            assert layer.row_token.tolist() == [*range(n_held), *[ABSENT] * (12 - n_held)]
            empty = layer.weights[:, :, n_held:]
            assert not layer.scores[:, :, n_held:].any()
            assert (empty == empty[:, :, :1]).all()
            if n_held < 12:
                assert (empty > 0).all()


def test_mask_unwritten_fades_as_the_buffer_fills(scheme):
    records = _records("mask-unwritten", scheme)
    assert all((record.layers[0].plan.mask == 1)[-1].all() for record in records)
    assert (records[5].layers[0].row_token != ABSENT).all()


def test_cap_early_refuses_with_one_slot_free_and_changes_nothing(scheme):
    records = _records("cap-early", scheme)
    assert records[-1].outcome == Refused(needed=1, free=1)
    assert records[-1].ledger is records[-2].ledger
    assert records[-1].reported_length == 11


def test_cap_early_refuses_a_prompt_of_exactly_the_capacity(scheme):
    use = (FaultUse("cap-early"),)
    whole = run(spec_for(scheme, capacity=7, steps=0, faults=use))
    assert [record.outcome for record in whole.records] == [Refused(needed=7, free=7)]
    assert whole.end == "refused"
    single = run(spec_for(scheme, prompt_ids=(5,), capacity=1, steps=0, faults=use))
    assert single.records[0].outcome == Refused(needed=1, free=1)


def test_cap_counter_first_leaves_a_length_of_13_in_a_cache_of_12(scheme):
    records = _records("cap-counter-first", scheme)
    refused = records[6]
    assert refused.outcome == Refused(needed=1, free=0)
    assert (refused.reported_length, refused.ledger.capacity) == (13, 12)
    assert refused.ledger.seen == 12
    assert refused.live[0].slot.tolist() == list(range(13))
    assert refused.live[0].token_index.tolist() == [*range(12), ABSENT]
    assert refused.live[0].row.tolist() == [*range(12), ABSENT]


def test_cap_counter_first_reads_a_row_that_nobody_wrote_once_the_run_goes_on(scheme):
    records = _records("cap-counter-first", scheme)
    # Three tokens were taken back: nine of ten counted rows hold a token.
    assert records[7].reported_length == 10
    assert records[7].live[0].token_index.tolist() == [*range(9), ABSENT]
    going_on = records[8]
    assert going_on.token_index == (9,)
    # What is left in slot 9 are the bytes of token 9, which is read again and goes to slot 10.
    assert going_on.slots.tolist() == [10]
    assert going_on.layers[0].plan.view_token_index.tolist() == [*range(10), ABSENT]
    assert going_on.layers[0].row_token.tolist() == [*range(10), 9]


def test_store_row_zero_keeps_the_newest_token_in_slot_zero(scheme):
    records = _records("store-row-zero", scheme)
    for step, record in enumerate(records[1:], start=1):
        newest = 6 + step
        right = [newest, 1, 2, 3, 4, 5, 6, *[ABSENT] * step]
        for layer in record.layers:
            assert layer.row_token.tolist() == right
        assert record.live[0].token_index.tolist() == right
        assert record.live[0].slot.tolist() == list(range(7 + step))
        assert record.ledger.token_index.tolist() == list(range(7 + step))


def test_store_row_zero_leaves_later_slots_zero(scheme):
    records = _records("store-row-zero", scheme)
    for layer in range(4):
        read = rows_as_read(records, 5, layer)
        assert not read[:, :, 7:].any()
        newest = records[5].layers[layer]
        assert np.array_equal(read[0, :, :1], newest.new_keys)
        assert np.array_equal(read[1, :, :1], newest.new_values)


def test_store_alias_in_shows_the_newest_row_in_every_decoded_slot(scheme):
    records = _records("store-alias-in", scheme)
    assert records[1].layers[0].row_token.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    for step, record in enumerate(records[2:], start=2):
        newest = 6 + step
        right = [0, 1, 2, 3, 4, 5, 6, *[newest] * step]
        assert all(layer.row_token.tolist() == right for layer in record.layers)


def test_store_alias_in_gives_the_decoded_slots_equal_weights(scheme):
    for record in _records("store-alias-in", scheme)[2:]:
        for layer in record.layers:
            decoded = layer.scores[:, 0, 7:]
            bias = 0.0
            if scheme == "alibi":
                slopes = 2.0 ** (-8.0 * np.arange(1, 5) / 4)
                bias = slopes[:, None] * np.arange(1 - decoded.shape[1], 1)
            same = decoded - bias
            assert np.allclose(same, same[:, :1], atol=1e-5)
            if scheme != "alibi":
                weights = layer.weights[:, 0, 7:]
                assert (weights == weights[:, :1]).all()


def test_store_alias_in_shows_each_changed_row_as_a_new_version(scheme):
    records = _records("store-alias-in", scheme)
    for step, record in enumerate(records[2:], start=2):
        versions = record.layers[0].row_version.tolist()
        assert versions == [0] * 7 + [step] * step
        assert record.layers[0].first_read.row.tolist() == list(range(7, 7 + step))


def test_store_alias_out_shrinks_keys_by_the_same_factor_at_every_read_and_no_values(scheme):
    records = _records("store-alias-out", scheme, dtype="float64")
    for layer in range(4):
        new = [r.layers[layer] for r in records]
        for step in range(1, 6):
            keys, values = rows_as_read(records, step, layer)
            factor = keys.shape[-1] ** -0.5
            assert np.allclose(keys[:, :7], new[0].new_keys * factor**step)
            assert np.allclose(keys[:, 7], new[1].new_keys[:, 0] * factor ** (step - 1))
            assert np.array_equal(keys[:, -1:], new[step].new_keys)
            assert np.array_equal(values[:, :7], new[0].new_values)


def test_store_alias_out_is_right_in_the_step_that_leaves_the_rows_changed(scheme):
    records = _records("store-alias-out", scheme, dtype="float64")
    layer = records[0].layers[0]
    assert layer.row_token.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert np.array_equal(rows_as_read(records, 0, 0)[0], layer.new_keys)
    assert np.array_equal(layer.used_keys, layer.new_keys)


def test_store_alias_out_leaves_rows_alone_that_have_to_be_gathered(scheme):
    """A window that came round: what is read is a copy, and scaling that changes nothing."""
    spec = spec_for(
        scheme, capacity=8, steps=5, policy="window", force_ids=tuple(range(200, 212)),
        faults=(FaultUse("store-alias-out"),),
    )  # fmt: skip
    records = run(spec).records
    last = records[5].layers[0].plan.read_rows.tolist()
    before = records[4].layers[0].plan.read_rows.tolist()
    assert (before, last) == ([2, 3, 4, 5, 6, 7, 8, 0, 1], [3, 4, 5, 6, 7, 8, 0, 1, 2])
    then, now = rows_as_read(records, 4, 0), rows_as_read(records, 5, 0)
    assert np.array_equal(now[:, :, :-1], then[:, :, 1:])


def test_store_uneven_counts_two_and_never_writes_the_last_value_row(scheme):
    records = _records("store-uneven", scheme)
    probe = records[2]
    assert probe.outcome == OK
    assert probe.n_probed == (2, 1)
    assert probe.reported_length == 10
    assert probe.ledger.token_index.tolist() == [*range(8), ABSENT, ABSENT]
    for layer in range(4):
        read = rows_as_read(records, 3, layer)
        assert read[0, :, 8:10].all()
        assert read[1, :, 8].all()
        assert not read[1, :, 9].any()


def test_without_the_fault_an_uneven_probe_is_refused_whole(scheme):
    spec = scenario_spec(BY_ID["store-uneven"].shows_in, scheme)
    records = run(spec).records
    assert records[2].outcome == Refused(needed=2, free=4)
    assert records[2].ledger is records[1].ledger
    assert records[3].layers[0].row_token.tolist() == list(range(9))


def test_store_uneven_also_takes_more_values_than_keys(scheme):
    spec = spec_for(
        scheme,
        capacity=12,
        requests=(Prefill(SEVEN_IDS), Probe(n_keys=1, n_values=2), Decode()),
        faults=(FaultUse("store-uneven"),),
    )
    verdicts = judged(spec)
    assert verdicts.wrong_steps[0] == 1
    assert verdicts.verdicts[1].first_difference.field == "outcome"
