"""The rules of windows, growth, 8-bit rows, a common prefix and rotation, by hand."""

import numpy as np
import pytest
import torch

from core.arrays import as_ids
from core.engine import seams
from core.engine.engine import AppendTokens
from core.engine.rows import LayerRows, RowStore
from core.engine.types import Ledger
from tests.helpers.engines import ByHand
from tests.helpers.ledgers import content, filled


@pytest.mark.parametrize(
    ("n_common", "n_prompt", "kept"), [(0, 5, 0), (3, 5, 3), (5, 5, 4), (1, 1, 0), (4, 9, 4)]
)
def test_a_common_prefix_is_kept_but_for_the_last_token(n_common, n_prompt, kept):
    assert seams.reusable(n_common, n_prompt) == kept


@pytest.mark.parametrize(
    ("recent", "sinks", "reached"),
    [(3, 0, [4, 5, 6]), (1, 0, [6]), (2, 2, [0, 1, 5, 6]), (9, 0, [0, 1, 2, 3, 4, 5, 6])],
)
def test_a_window_reaches_the_newest_tokens_itself_counted_and_the_sinks(recent, sinks, reached):
    keys = as_ids(range(8))
    assert keys[seams.in_window(as_ids([6])[:, None], keys, recent, sinks)[0]].tolist() == reached


def test_rotation_takes_the_number_of_the_token_in_every_layer():
    ids = as_ids([4, 5])
    for layer in range(3):
        queries, keys = seams.layer_position_ids(ids, layer)
        assert queries is ids
        assert keys is ids


def test_after_a_step_the_new_rows_are_held_once():
    before, after = filled(8, 3), filled(8, 5)
    assert seams.join(before, after) is after


def test_buffers_of_layers_share_no_memory():
    first, second = seams.allocate(2, (3, 2, 1, 4), torch.zeros(0))
    first.fill_(1.0)
    assert not second.any()


def test_a_larger_buffer_has_every_row_where_it_was():
    kv = torch.arange(2 * 2 * 3 * 4.0).reshape(2, 2, 3, 4)
    grown = seams.grow(kv, 5)
    assert grown.shape == (2, 2, 5, 4)
    assert torch.equal(grown[:, :, :3], kv)
    assert not grown[:, :, 3:].any()


def test_rows_of_eight_bits_are_steps_of_a_127th_and_zeros_stay():
    rows = torch.tensor([[0.0, 0.0], [127.0, 63.6], [-1.27, 0.006]], dtype=torch.float64)
    found = seams.quantise(rows[None, None])[0, 0]
    right = torch.tensor([[0.0, 0.0], [127.0, 64.0], [-1.27, 0.01]], dtype=torch.float64)
    assert torch.allclose(found, right, atol=1e-12)


def test_a_row_can_be_written_and_read_after_its_buffer_has_grown():
    rows = LayerRows(torch.zeros(2, 2, 1, 3), n_rows=8)
    rows.write(as_ids([1]), torch.full((1, 1, 3), 5.0), torch.full((1, 1, 3), 6.0))
    rows.grow(4, seams.grow)
    rows.write(as_ids([3]), torch.full((1, 1, 3), 7.0), torch.full((1, 1, 3), 8.0))
    assert (rows.n_allocated, rows.n_rows) == (4, 8)
    assert rows.read(slice(0, 4))[0, 0, :, 0].tolist() == [0, 5, 0, 7]
    assert rows.read(slice(0, 4))[1, 0, :, 0].tolist() == [0, 6, 0, 8]


def test_buffers_double_until_they_reach_what_is_asked_for_and_never_pass_the_limit():
    store = RowStore.allocate(2, 1, 20, 3, torch.zeros(0), first_rows=3)
    assert (store.n_allocated, store.n_rows) == (3, 20)
    store.reach(3, [seams.grow] * 2)
    assert store.n_allocated == 3
    store.reach(7, [seams.grow] * 2)
    assert [layer.n_allocated for layer in store.layers] == [12, 12]
    store.reach(99, [seams.grow] * 2)
    assert store.n_allocated == 20


def test_a_ledger_remembers_the_last_two_appends():
    ledger = Ledger(9).count(3, 3).count(2, 2)
    assert ledger.recent == (3, 2)
    assert ledger.count(1, 0).recent == (3, 2)
    assert ledger.count(-1, -1).recent == (3, 2)


def test_padding_comes_first_at_position_zero_and_holds_no_token():
    engine = ByHand("rope", 12).engine
    record = engine.step(AppendTokens("prefill", (1, 2, 3), n_pad=2))
    assert record.ledger.token_index.tolist() == [-1, -1, 0, 1, 2]
    assert record.ledger.position_id.tolist() == [0, 0, 0, 1, 2]
    assert record.slots.tolist() == [0, 1, 2, 3, 4]
    right = np.array(
        [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 1]]
    )
    assert record.layers[0].plan.mask.astype(int).tolist() == right.tolist()
    assert (record.ledger.seen, record.reported_length) == (3, 5)
    assert record.token_index == (0, 1, 2)


def test_a_refused_verification_changes_nothing():
    engine = ByHand("rope", 5).engine
    before = engine.step(AppendTokens("prefill", (1, 2, 3))).ledger
    record = engine.step(AppendTokens("verify", (4, 5, 6), n_rejected=2))
    assert content(record.ledger) == content(before)
    assert record.token_ids == (4, 5, 6)
    assert record.logits is None
