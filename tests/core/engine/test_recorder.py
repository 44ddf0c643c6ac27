from dataclasses import replace

import numpy as np
import pytest
import torch

from core.arrays import ABSENT, as_ids
from core.engine.forward import LayerTensors
from core.engine.recorder import Recorder, to_host, to_host_like
from core.engine.rows import RowStore, selection
from core.engine.seams import CORRECT
from core.engine.types import LayerPlan
from core.spec import Decode, FaultUse, Prefill, Probe, Rollback
from tests.helpers.runs import run, spec_for

# The recorder is driven by hand: two layers, one KV head of size 2, a buffer of four rows.
N_LAYERS, N_ROWS = 2, 4
CPU = torch.device("cpu")


def _plan(write, read, tokens):
    n, s = len(write), len(read)
    return LayerPlan(
        position_ids=as_ids(tokens),
        write_rows=as_ids(write),
        view_slots=as_ids(read),
        read_rows=as_ids(read),
        view_token_index=as_ids([ABSENT] * s),  # what the ledger claims must not matter
        view_position_ids=as_ids([ABSENT] * s),
        mask=np.ones((n, s), dtype=bool),
        write_position_ids=as_ids(tokens),
        read_position_ids=None,
    )


def _tensors(new_rows, read):
    nothing = torch.zeros(1)
    return LayerTensors(nothing, new_rows, read, None, nothing, nothing, nothing, nothing)


class Driven:
    """A recorder and the buffers that it watches."""

    def __init__(self, dtype=torch.float32):
        like = torch.empty(0, dtype=dtype)
        self.store = RowStore.allocate(N_LAYERS, 1, N_ROWS, 2, like)
        self.recorder = Recorder(self.store)
        self.step = 0

    def rows_of(self, layer, tokens):
        """[2, 1, n, 2] the rows of tokens, different for each layer and token."""
        numbers = [[[10 * layer + t + 1, t + 0.5] for t in tokens]]
        keys = torch.tensor(numbers, dtype=self.store.layers[0].kv.dtype)
        return torch.stack((keys, -keys))

    def read(self, tokens, write, read, store=None):
        """One step in which `store(layer, rows, plan, new_rows)` does the storing."""
        plan = _plan(write, read, tokens)
        self.recorder.begin(self.step, as_ids(tokens), (plan,) * N_LAYERS)
        for layer, rows in enumerate(self.store.layers):
            new_rows = self.rows_of(layer, tokens)
            self.recorder.stored(layer, plan, new_rows)
            if store is None:
                rows.write(plan.write_rows, new_rows[0], new_rows[1])
            else:
                store(layer, rows, plan, new_rows)
            chosen = selection(plan.read_rows, CPU)
            back = rows.read(chosen)
            self.recorder.was_read(layer, plan, chosen, back)
            self.recorder.computed(layer, plan, _tensors(new_rows, back))
        self.step += 1
        return self.recorder.taken()

    def live(self, slots):
        return self.recorder.live(as_ids(slots), (CORRECT,) * N_LAYERS)


def _found(layers):
    return [layer.row_token.tolist() for layer in layers]


def test_rows_stored_as_asked_are_named_by_their_tokens():
    driven = Driven()
    assert _found(driven.read([0, 1], [0, 1], [0, 1])) == [[0, 1]] * 2
    assert _found(driven.read([2], [2], [0, 1, 2])) == [[0, 1, 2]] * 2


def test_the_order_of_reading_does_not_matter():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    assert _found(driven.read([2], [2], [2, 0, 1])) == [[2, 0, 1]] * 2


def test_a_row_never_written_holds_no_token():
    driven = Driven()
    layers = driven.read([0], [0], [0, 1, 2])
    assert _found(layers) == [[0, ABSENT, ABSENT]] * 2
    assert layers[0].row_version.tolist() == [0, ABSENT, ABSENT]


def test_a_store_that_does_nothing_leaves_rows_without_a_token():
    driven = Driven()
    layers = driven.read([0, 1], [0, 1], [0, 1], store=lambda *_: None)
    assert _found(layers) == [[ABSENT, ABSENT]] * 2


def test_a_row_written_to_another_place_is_found_there():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])

    def to_row_zero(layer, rows, plan, new_rows):
        rows.write(as_ids([0]), new_rows[0], new_rows[1])

    layers = driven.read([2], [2], [0, 1, 2], store=to_row_zero)
    assert _found(layers) == [[2, 1, ABSENT]] * 2
    assert driven.live([0, 1, 2])[0].token_index.tolist() == [2, 1, ABSENT]


def test_layers_that_differ_are_named_apart():
    driven = Driven()

    def only_layer_zero(layer, rows, plan, new_rows):
        if layer == 0:
            rows.write(plan.write_rows, new_rows[0], new_rows[1])

    layers = driven.read([0], [0], [0], store=only_layer_zero)
    assert _found(layers) == [[0], [ABSENT]]
    live = driven.live([0])
    assert [of.token_index.tolist() for of in live] == [[0], [ABSENT]]


def test_a_layer_with_the_rows_of_another_layer_holds_no_token_of_its_own():
    driven = Driven()

    def layer_zero_everywhere(layer, rows, plan, new_rows):
        foreign = driven.rows_of(0, [0])
        rows.write(plan.write_rows, foreign[0], foreign[1])

    assert _found(driven.read([0], [0], [0], store=layer_zero_everywhere)) == [[0], [ABSENT]]


def test_a_key_with_the_value_of_another_token_is_no_token():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])

    def mixed(layer, rows, plan, new_rows):
        rows.write(plan.write_rows, new_rows[0], driven.rows_of(layer, [0])[1])

    assert _found(driven.read([2], [2], [0, 1, 2], store=mixed)) == [[0, 1, ABSENT]] * 2


def test_one_changed_number_makes_a_row_no_token():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.store.layers[1].kv[1, 0, 0, 1] += 2.0**-20
    assert _found(driven.read([2], [2], [0, 1, 2])) == [[0, 1, 2], [ABSENT, 1, 2]]


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("part", [0, 1], ids=["key", "value"])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("bit", [0, 7, 31])
def test_one_changed_bit_is_found_wherever_it_is(row, part, place, bit):
    driven = Driven()
    driven.read([0, 1, 2], [0, 1, 2], [0, 1, 2])
    numbers = driven.store.layers[0].kv[part, 0, row].numpy().view(np.uint32)
    numbers[place] ^= np.uint32(1 << bit)
    layers = driven.read([3], [3], [0, 1, 2])
    found = [0, 1, 2]
    found[row] = ABSENT
    assert _found(layers) == [found, [0, 1, 2]]


def test_a_changed_row_is_found_where_reading_starts_in_the_middle():
    driven = Driven()
    driven.read([0, 1, 2], [0, 1, 2], [0, 1, 2])
    driven.store.layers[1].kv[1, 0, 2, 1] += 1
    assert _found(driven.read([3], [3], [1, 2, 3])) == [[1, 2, 3], [1, ABSENT, 3]]


def test_a_row_overwritten_with_the_first_one_is_found_where_reading_starts_there():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    for rows in driven.store.layers:
        rows.kv[:, :, 1] = rows.kv[:, :, 0]
    assert _found(driven.read([2], [2], [1])) == [[0]] * 2


def test_a_row_changed_between_two_reads_is_a_new_version():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.store.layers[0].kv[:, 0, 1] = 7
    layers = driven.read([2], [2], [0, 1, 2])
    assert layers[0].row_version.tolist() == [0, 1, 1]
    assert layers[1].row_version.tolist() == [0, 0, 1]
    assert layers[0].first_read.row.tolist() == [1, 2]
    assert layers[1].first_read.row.tolist() == [2]


def test_a_row_whose_bytes_stayed_is_not_kept_twice():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    layers = driven.read([2], [2], [0, 1, 2])
    assert layers[0].first_read.row.tolist() == [2]
    assert layers[0].first_read.kv.shape == (2, 1, 1, 2)


def test_a_row_that_is_written_and_not_read_is_kept_for_later():
    driven = Driven()
    layers = driven.read([0, 1], [0, 1], [0])
    assert layers[0].first_read.row.tolist() == [0, 1]
    assert np.array_equal(layers[0].first_read.kv, driven.rows_of(0, [0, 1]).numpy())


def test_a_row_that_moved_is_found_at_its_new_place():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    for rows in driven.store.layers:
        rows.kv[:, :, 3] = rows.kv[:, :, 0]
    assert _found(driven.read([2], [2], [3, 1, 2])) == [[0, 1, 2]] * 2


def test_a_token_taken_back_is_no_part_of_the_text_any_more():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.recorder.forget_from(1)
    assert driven.live([0, 1])[0].token_index.tolist() == [0, ABSENT]


def test_rows_of_a_forgotten_text_are_named_only_by_equal_rows_of_the_new_one():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.recorder.forget_from(0)
    layers = driven.read([0], [2], [0, 1, 2], store=None)
    # Row 0 holds the very bytes that token 0 has in the new text too; row 1 is nobody's.
    assert _found(layers) == [[0, ABSENT, 0]] * 2


def test_the_first_token_taken_back_is_forgotten_and_the_one_before_it_is_not():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.recorder.forget_from(1)
    for layer, rows in enumerate(driven.store.layers):
        rows.kv[:, :, 2] = driven.rows_of(layer, [1])[:, :, 0]
        rows.kv[:, :, 3] = driven.rows_of(layer, [0])[:, :, 0]
    driven.rows_of = lambda layer, tokens: torch.full((2, 1, 1, 2), 7.5)
    assert _found(driven.read([1], [1], [0, 1, 2, 3])) == [[0, 1, ABSENT, 0]] * 2


def test_layers_with_plans_of_their_own_are_named_by_their_own_rows():
    driven = Driven()
    plans = _plan([0, 1], [0, 1], [0, 1]), _plan([3, 2], [2, 3], [0, 1])
    driven.recorder.begin(0, as_ids([0, 1]), plans)
    for layer, (rows, plan) in enumerate(zip(driven.store.layers, plans, strict=True)):
        new_rows = driven.rows_of(layer, [0, 1])
        driven.recorder.stored(layer, plan, new_rows)
        rows.write(plan.write_rows, new_rows[0], new_rows[1])
        chosen = selection(plan.read_rows, CPU)
        back = rows.read(chosen)
        driven.recorder.was_read(layer, plan, chosen, back)
        driven.recorder.computed(layer, plan, _tensors(new_rows, back))
    assert _found(driven.recorder.taken()) == [[0, 1], [1, 0]]
    live = driven.live([0, 1, 2, 3])
    assert live[0].token_index.tolist() == [0, 1, ABSENT, ABSENT]
    assert live[1].token_index.tolist() == [ABSENT, ABSENT, 1, 0]


def test_a_row_that_was_not_read_is_kept_beside_one_that_changed():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.store.layers[0].kv[:, :, 0] = 7
    changed, as_meant = driven.read([2, 3], [2, 3], [0, 2])
    assert changed.first_read.row.tolist() == [0, 2, 3]
    assert as_meant.first_read.row.tolist() == [2, 3]
    assert np.array_equal(changed.first_read.kv[:, :, 1:], driven.rows_of(0, [2, 3]).numpy())
    assert (changed.first_read.kv[:, :, 0] == 7).all()


def test_a_step_without_surprise_after_one_with_a_surprise_keeps_only_its_own_rows():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.store.layers[0].kv[:, :, 0] = 7
    driven.read([2], [2], [0, 1, 2])
    layers = driven.read([3], [3], [3, 0, 1, 2])
    assert [layer.first_read.row.tolist() for layer in layers] == [[3], [3]]


def test_of_equal_rows_the_newest_token_is_named():
    driven = Driven()
    same = driven.rows_of
    driven.rows_of = lambda layer, tokens: same(layer, [5] * len(tokens))
    driven.read([0, 1], [0, 1], [0, 1])
    for rows in driven.store.layers:
        rows.kv[:, :, 3] = rows.kv[:, :, 0]
    assert _found(driven.read([2], [2], [0, 1, 3]))[0][:2] == [0, 1]
    assert _found(driven.read([3], [2], [3]))[0] == [2]


def test_a_row_that_is_not_a_number_is_still_recognised():
    driven = Driven()
    rows_of = driven.rows_of
    driven.rows_of = lambda layer, tokens: rows_of(layer, tokens) * float("nan")
    assert _found(driven.read([0], [0], [0])) == [[0]] * 2
    assert _found(driven.read([1], [1], [0, 1])) == [[0, 1]] * 2


def test_a_zero_and_a_negative_zero_are_different_bytes():
    driven = Driven()
    driven.rows_of = lambda layer, tokens: torch.zeros(2, 1, len(tokens), 2)
    driven.read([0], [0], [0])
    driven.store.layers[0].kv[0, 0, 0, 0] = -0.0
    assert _found(driven.read([1], [1], [0, 1]))[0] == [ABSENT, 1]


def test_a_row_outside_the_buffer_is_absent():
    driven = Driven()
    live = driven.live([0, 7])[0]
    assert live.slot.tolist() == [0, 7]
    assert live.row.tolist() == [0, ABSENT]
    assert live.token_index.tolist() == [ABSENT, ABSENT]


def test_a_token_written_past_the_end_is_nowhere():
    driven = Driven()
    layers = driven.read([0, 1], [3, 4], [3])
    assert _found(layers) == [[0]] * 2
    assert driven.live([3, 4])[0].token_index.tolist() == [0, ABSENT]
    one = driven.read([2], [4], [3])
    assert _found(one) == [[0]] * 2


def test_live_rows_stand_in_slot_order():
    driven = Driven()
    driven.read([0, 1, 2], [2, 0, 1], [2, 0, 1])
    live = driven.live([2, 0, 1])[0]
    assert live.slot.tolist() == [0, 1, 2]
    assert live.token_index.tolist() == [1, 2, 0]


def test_a_row_is_looked_for_where_the_slot_mapping_says():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    crossed = replace(CORRECT, slot_mapping=lambda slots: 1 - slots)
    live = driven.recorder.live(as_ids([0, 1]), (CORRECT, crossed))
    assert live[0].token_index.tolist() == [0, 1]
    assert live[1].token_index.tolist() == [1, 0]
    assert live[1].row.tolist() == [1, 0]


def test_layers_that_agree_share_one_object():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    live = driven.live([0, 1])
    assert live[0] is live[1]


def test_what_is_recorded_does_not_change_when_the_buffer_does():
    driven = Driven()
    layers = driven.read([0, 1], [0, 1], [0, 1])
    before = layers[0].first_read.kv.copy(), layers[0].row_token.copy()
    driven.store.layers[0].kv.fill_(9)
    driven.read([2], [2], [0, 1, 2])
    assert np.array_equal(layers[0].first_read.kv, before[0])
    assert np.array_equal(layers[0].row_token, before[1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_rows_are_recognised_in_every_number_type(dtype):
    driven = Driven(dtype)
    assert _found(driven.read([0, 1], [0, 1], [0, 1])) == [[0, 1]] * 2
    assert _found(driven.read([2], [2], [0, 1, 2, 3])) == [[0, 1, 2, ABSENT]] * 2


def test_numbers_come_to_the_host_unchanged_and_read_only():
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        tensor = torch.tensor([1.0, -2.5, 3e-3]).to(dtype)
        array = to_host(tensor)
        assert not array.flags.writeable
        assert np.array_equal(array.astype(np.float64), tensor.double().numpy())
    assert to_host(torch.ones(1, dtype=torch.float16)).dtype == np.float16


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_what_is_chosen_for_a_number_type_brings_the_same_numbers_to_the_host(dtype):
    tensor = torch.tensor([1.0, -2.5, 3e-3]).to(dtype)
    array, expected = to_host_like(torch.zeros(1, dtype=dtype))(tensor), to_host(tensor)
    assert not array.flags.writeable
    assert (array.dtype, array.tolist()) == (expected.dtype, expected.tolist())


def test_a_wrong_store_of_the_same_bytes_after_a_rollback_is_named_again():
    tokens = tuple(range(20, 40))
    requests = (Prefill((1, 2, 3)), Decode(), Rollback(1), Decode())
    faults = (FaultUse("store-row-zero"),)
    records = run(
        spec_for("rope", capacity=12, faults=faults, force_ids=tokens, requests=requests)
    ).records
    assert records[1].layers[0].row_token.tolist() == [3, 1, 2, ABSENT]
    assert records[2].live[0].token_index.tolist() == [ABSENT, 1, 2]
    assert records[3].layers[0].row_token.tolist() == [3, 1, 2, ABSENT]


def test_live_rows_are_looked_at_where_a_step_did_not_read_them():
    requests = (Prefill((1, 2, 3)), Probe(2, 2), Decode())
    faults = (FaultUse("store-row-zero"),)
    records = run(spec_for("rope", capacity=12, faults=faults, requests=requests)).records
    assert records[1].live[0].token_index.tolist() == [ABSENT, ABSENT, 2, ABSENT, ABSENT]
    both = (*faults, FaultUse("mask-unwritten"))
    sinks = run(
        spec_for("rope", policy="sinks", sinks=1, capacity=2, prompt_ids=(1, 2, 3, 4), faults=both)
    ).records[0]
    assert sinks.live[0].token_index.tolist() == [0, 3]


def test_a_row_that_was_not_read_is_looked_at_even_if_as_many_others_were():
    driven = Driven()
    driven.read([0, 1], [0, 1], [0, 1])
    driven.read([2], [2], [0, 1])
    driven.store.layers[0].kv[:, :, 2] = 7
    live = driven.live([1, 2])
    assert [of.token_index.tolist() for of in live] == [[1, ABSENT], [1, 2]]
