import dataclasses
import inspect
import subprocess
import sys

import numpy as np
import pytest
import torch

from core.arrays import ABSENT, as_ids
from core.engine import seams
from core.engine.rows import LayerRows
from core.engine.seams import CORRECT, PER_LAYER, Seams
from core.engine.types import Append, Ledger
from core.model.positions import Alibi, Learned, Rope
from core.outcome import OK, Refused
from tests.helpers.ledgers import content, filled, ledger


def test_a_new_prompt_starts_from_an_empty_ledger():
    old = ledger(4, [2, 3], [7, 8], positions=[1, 2], origin=6)
    assert content(seams.reset(old)) == content(Ledger(4))


@pytest.mark.parametrize(
    ("capacity", "held", "n_new", "n_short"),
    [
        pytest.param(4, 0, 1, 0, id="empty"),
        pytest.param(4, 3, 1, 0, id="the last slot can be used"),
        pytest.param(4, 0, 4, 0, id="a prompt of exactly the capacity fits"),
        pytest.param(1, 0, 1, 0, id="a capacity of one holds one"),
        pytest.param(4, 4, 1, 1, id="full"),
        pytest.param(4, 3, 3, 2, id="a chunk that is two too long"),
        pytest.param(4, 0, 40, 36, id="far too long"),
        pytest.param(4, 4, 0, 0, id="nothing new"),
    ],
)
def test_an_append_is_short_of_what_exceeds_the_capacity(capacity, held, n_new, n_short):
    assert seams.overflow(filled(capacity, held), n_new) == n_short


def test_an_admitted_append_counts_rows_and_tokens():
    before = filled(8, 3)
    after, outcome = seams.admit(before, Append(n_keys=2, n_values=2, n_tokens=2, n_lacking=0))
    assert outcome == OK
    assert (after.length, after.seen) == (5, 5)
    assert content(before) == content(filled(8, 3))


def test_an_admitted_probe_counts_rows_but_no_tokens():
    after, outcome = seams.admit(filled(8, 3), Append(2, 2, 0, 0))
    assert outcome == OK
    assert (after.length, after.seen) == (5, 3)


@pytest.mark.parametrize(
    ("append", "refused"),
    [
        pytest.param(Append(1, 1, 1, 1), Refused(1, 0), id="no room"),
        pytest.param(Append(3, 3, 3, 1), Refused(3, 0), id="room for a part only"),
        pytest.param(Append(2, 1, 0, 0), Refused(2, 0), id="more keys than values"),
        pytest.param(Append(1, 2, 0, 0), Refused(2, 0), id="more values than keys"),
    ],
)
def test_a_refused_append_leaves_the_very_same_ledger(append, refused):
    before = filled(4, 4)
    after, outcome = seams.admit(before, append)
    assert after is before
    assert content(before) == content(filled(4, 4))
    assert outcome == refused


def test_a_refusal_names_what_was_needed_and_what_was_free():
    _, outcome = seams.admit(filled(8, 6), Append(5, 5, 5, 3))
    assert outcome == Refused(needed=5, free=2)


def test_the_past_counts_tokens_seen_and_not_rows_held():
    window = ledger(3, [1, 2, 3], [7, 8, 9])
    assert window.length == 3
    assert seams.past_len(window, (2, 3, 8)) == 10


def test_the_past_starts_anew_where_a_reprefill_moved_the_origin():
    moved = ledger(4, [0, 1, 2], [5, 6, 7], [0, 1, 2], origin=5)
    assert seams.past_len(moved, (2, 3, 8)) == 3


@pytest.mark.parametrize(
    ("past_len", "n_new", "expected"),
    [(0, 4, [0, 1, 2, 3]), (7, 1, [7]), (5, 3, [5, 6, 7]), (2, 0, [])],
)
def test_position_ids_count_on_from_the_past(past_len, n_new, expected):
    assert seams.position_ids(past_len, n_new, Ledger(8)).tolist() == expected


@pytest.mark.parametrize(
    ("slots", "n_new", "expected"),
    [
        pytest.param([], 3, [0, 1, 2], id="empty"),
        pytest.param([0, 1], 2, [2, 3], id="after the held ones"),
        pytest.param([1, 3], 3, [0, 2, 4], id="gaps first"),
        pytest.param([2, 0, 4], 2, [1, 3], id="token order is not slot order"),
        pytest.param([5, 6], 2, [0, 1], id="held ones are high"),
    ],
)
def test_new_rows_go_to_the_lowest_free_slots(slots, n_new, expected):
    held = ledger(8, slots, list(range(len(slots))))
    assert seams.next_slots(held, n_new).tolist() == expected


def test_a_counted_row_without_an_entry_has_its_slot_taken():
    over = filled(8, 3).count(2, 0)
    assert over.counted_slots.tolist() == [0, 1, 2, 3, 4]
    assert seams.next_slots(over, 1).tolist() == [5]


def test_in_a_contiguous_buffer_a_slot_is_its_row():
    assert seams.slot_mapping(as_ids([3, 0, 5])).tolist() == [3, 0, 5]


def _rows(n_rows=6, n_heads=2, d_head=3):
    return LayerRows(torch.zeros(n_rows, 2, n_heads, d_head))


def _fingerprint(n, first=0, n_heads=2, d_head=3):
    """Keys [H, n, D] in which each number tells its head, row and column; values are negated."""
    heads, rows = torch.arange(n_heads)[:, None, None], torch.arange(first, first + n)[:, None]
    keys = (100 * heads + 10 * rows + torch.arange(d_head)).float() + 1
    return keys, -keys


def test_keys_and_values_are_stored_by_value_each_at_its_own_row():
    rows = _rows()
    keys, values = _fingerprint(3)
    seams.store(rows, as_ids([4, 0, 2]), keys, values)
    right = torch.zeros(2, 2, 6, 3)
    for i, row in enumerate([4, 0, 2]):
        right[0, :, row], right[1, :, row] = keys[:, i], values[:, i]
    keys.zero_()
    values.zero_()
    assert torch.equal(rows.kv, right)


def test_a_single_row_is_stored_by_value():
    rows = _rows()
    keys, values = _fingerprint(1)
    seams.store(rows, as_ids([3]), keys, values)
    right_key, right_value = keys[:, 0].clone(), values[:, 0].clone()
    keys.fill_(9)
    values.fill_(9)
    assert torch.equal(rows.kv[0, :, 3], right_key)
    assert torch.equal(rows.kv[1, :, 3], right_value)
    assert int((rows.kv != 0).any(3).sum()) == 4


def test_attention_reads_exactly_the_live_slots_in_token_order():
    wrapped = ledger(4, [3, 0, 1], [5, 6, 7])
    assert seams.kv_view(wrapped).tolist() == [3, 0, 1]
    assert seams.kv_view(Ledger(4)).tolist() == []


def test_as_many_rows_are_read_as_are_counted():
    assert seams.kv_view(filled(8, 3).count(2, 0)).tolist() == [0, 1, 2, 3, 4]
    assert seams.kv_view(filled(8, 3).count(-1, 0)).tolist() == [0, 1]


def test_rope_turns_each_row_at_its_own_position():
    scheme = Rope(4, 10_000.0, torch.float64, "cpu")
    heads = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    turned = seams.rotate(scheme, heads, as_ids([5, 0, 9]))
    for row, position in enumerate([5, 0, 9]):
        alone = scheme.rotate(heads[:, row : row + 1], as_ids([position]))
        assert torch.allclose(turned[:, row : row + 1], alone, atol=1e-12)
    assert torch.equal(turned[:, 1], heads[:, 1])


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(Learned("tiny", torch.zeros(9, 4)), id="learned"),
        pytest.param(Alibi(2, torch.float32, "cpu"), id="alibi"),
    ],
)
def test_schemes_without_a_rotation_give_the_very_same_tensor_back(scheme):
    heads = torch.ones(2, 3, 4)
    assert seams.rotate(scheme, heads, as_ids([1, 2, 3])) is heads


def _mask(query, key, readable=None):
    if readable is None:
        readable = np.ones((len(query), len(key)), dtype=bool)
    mask = seams.causal_mask(as_ids(query), as_ids(key), np.array(readable, dtype=bool))
    return ["".join("■" if sees else "□" for sees in row) for row in mask]


def test_a_decoded_token_sees_the_whole_past_and_itself():
    assert _mask([5], [0, 1, 2, 3, 4, 5]) == ["■■■■■■"]


def test_a_chunk_after_a_past_compares_token_indices_and_not_columns():
    assert _mask([2, 3, 4], [0, 1, 2, 3, 4]) == ["■■■□□", "■■■■□", "■■■■■"]


def test_the_mask_does_not_care_in_which_order_rows_are_read():
    assert _mask([4, 5], [5, 2, 4, 3]) == ["□■■■", "■■■■"]


def test_the_mask_keeps_to_what_the_policy_lets_a_query_read():
    readable = [[0, 1, 1, 1], [0, 0, 1, 1]]
    assert _mask([2, 3], [0, 1, 2, 3], readable) == ["□■■□", "□□■■"]


def test_a_row_that_holds_no_token_is_let_through_the_mask():
    readable = [[1, 0, 1, 0], [1, 0, 1, 0]]
    assert _mask([2, 3], [0, ABSENT, 2, ABSENT], readable) == ["■■■■", "■■■■"]


@pytest.mark.parametrize(
    ("n_heads", "n_rep", "expected"),
    [(2, 2, [0, 0, 1, 1]), (3, 1, [0, 1, 2]), (1, 4, [0, 0, 0, 0]), (2, 3, [0, 0, 0, 1, 1, 1])],
)
def test_each_key_value_head_stands_n_rep_times_in_a_row(n_heads, n_rep, expected):
    heads = torch.arange(float(n_heads))[:, None, None].expand(n_heads, 2, 3)
    assert seams.repeat_kv(heads, n_rep)[:, 1, 2].tolist() == expected


def test_heads_are_repeated_before_the_last_two_axes():
    heads = torch.randn(5, 2, 3, 4)
    repeated = seams.repeat_kv(heads, 2)
    assert repeated.shape == (5, 4, 3, 4)
    assert torch.equal(repeated[:, 1], heads[:, 0])
    assert torch.equal(repeated[:, 2], heads[:, 1])


def test_a_rollback_drops_the_newest_tokens_and_counts_back():
    after = seams.crop(filled(8, 6), 2)
    assert content(after) == content(filled(8, 4))
    assert seams.next_slots(after, 1).tolist() == [4]
    assert seams.past_len(after, (2, 4, 8)) == 4


def test_a_rollback_of_everything_leaves_nothing():
    assert content(seams.crop(filled(8, 6), 6)) == content(Ledger(8))


def test_a_rollback_keeps_slots_and_positions_of_what_stays():
    before = ledger(4, [3, 0, 1, 2], [5, 6, 7, 8], [2, 3, 4, 5], origin=3)
    right = ledger(4, [3, 0], [5, 6], [2, 3], seen=7, origin=3)
    assert content(seams.crop(before, 2)) == content(right)


def test_rows_without_a_token_leave_with_the_tokens_that_came_before_them():
    with_probe = filled(8, 3).count(2, 0)
    none = as_ids([ABSENT, ABSENT])
    with_probe = with_probe.with_rows(as_ids([3, 4]), none, none, none)
    one = as_ids([5]), as_ids([3]), as_ids([3]), as_ids([103])
    with_probe = with_probe.count(1, 1).with_rows(*one)
    kept = seams.crop(with_probe, 1)
    assert kept.token_index.tolist() == [0, 1, 2, ABSENT, ABSENT]
    assert (kept.length, kept.seen) == (5, 3)
    gone = seams.crop(with_probe, 2)
    assert gone.token_index.tolist() == [0, 1]
    assert (gone.length, gone.seen) == (2, 2)


def test_a_rollback_past_the_origin_makes_the_next_position_zero():
    only = ledger(1, [0], [13], [0], origin=13)
    after = seams.crop(only, 3)
    assert after.seen == 11
    assert seams.past_len(after, (2, 0, 8)) == 0


def test_the_reported_length_is_the_number_of_rows_held():
    window = ledger(3, [1, 2, 3], [7, 8, 9])
    assert seams.reported_length(window) == 3


def test_the_table_holds_the_functions_of_the_same_name():
    for field in dataclasses.fields(Seams):
        assert getattr(CORRECT, field.name) is getattr(seams, field.name)


def test_every_seam_states_its_rule():
    for field in dataclasses.fields(Seams):
        assert inspect.getdoc(getattr(seams, field.name))


def test_seams_of_single_layers_are_seams():
    assert set(PER_LAYER) < {field.name for field in dataclasses.fields(Seams)}


@pytest.mark.parametrize(
    "module",
    [
        "core.engine.seams",
        "core.faults.catalog",
        "core.faults.activation",
        "core.faults.scenarios",
        "core.engine.policies",
        "core.engine.plan",
        "core.spec",
        "core.record",
    ],
)
def test_modules_that_the_window_draws_from_import_no_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False)  # noqa: S603  # our own
    assert done.returncode == 0
