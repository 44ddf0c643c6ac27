from dataclasses import replace

import numpy as np
import pytest

from core.arrays import as_ids
from core.engine.policies import ByRank, Kept, Refuse, Reprefill, Window
from core.engine.types import Ledger
from tests.helpers.ledgers import content, filled, ledger


def _readers(policy, queries, keys):
    """For each query the keys that it may read."""
    allowed = policy.allows(as_ids(queries)[:, None], as_ids(keys))
    return [np.array(keys)[row].tolist() for row in allowed]


def test_refuse_lacks_what_does_not_fit_and_touches_nothing():
    before = filled(4, 3)
    room = Refuse().make_room(before, as_ids([7, 8]), 1)
    assert room.ledger is before
    assert room.token_ids.tolist() == [7, 8]
    assert (room.n_lacking, room.n_recomputed, room.n_skipped) == (1, 0, 0)


def test_refuse_lets_every_earlier_token_be_read():
    readers = _readers(Refuse(), [3, 4], [0, 1, 2, 3, 4])
    assert readers == [[0, 1, 2, 3], [0, 1, 2, 3, 4]]


def test_refuse_evicts_nothing():
    before = filled(4, 4)
    assert Refuse().evict(before, 0) is before


def test_refuse_needs_every_earlier_token_for_a_rollback():
    assert Refuse().rollback_needs(filled(8, 6), 4).tolist() == [0, 1, 2, 3]


def test_a_window_counts_the_query():
    readers = _readers(Window(3), [1, 2, 3, 4], [0, 1, 2, 3, 4])
    assert readers == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_a_window_of_one_reads_the_query_alone():
    assert _readers(Window(1), [0, 1, 2], [0, 1, 2]) == [[0], [1], [2]]


def test_sinks_are_read_beside_the_window():
    readers = _readers(Window(4, 2), [1, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6])
    assert readers == [[0, 1], [0, 1, 2, 3], [0, 1, 3, 4], [0, 1, 4, 5], [0, 1, 5, 6]]


def test_a_window_never_lacks_room():
    before = filled(3, 3)
    room = Window(3).make_room(before, as_ids([1, 2]), 2)
    assert room.ledger is before
    assert room.token_ids.tolist() == [1, 2]
    assert (room.n_lacking, room.n_recomputed, room.n_skipped) == (0, 0, 0)


@pytest.mark.parametrize(
    ("policy", "n_short", "left"),
    [
        pytest.param(Window(3), 0, [0, 1, 2, 3, 4], id="nothing is short"),
        pytest.param(Window(3), 2, [2, 3, 4], id="the oldest"),
        pytest.param(Window(3, 1), 2, [0, 3, 4], id="the oldest that is no sink"),
        pytest.param(Window(3, 2), 2, [0, 1, 4], id="two sinks"),
    ],
)
def test_the_oldest_rows_leave_and_sinks_stay(policy, n_short, left):
    assert policy.evict(filled(3, 5), n_short).token_index.tolist() == left


def test_the_rows_that_stay_keep_their_slots():
    before = ledger(3, [2, 0, 1, 3], [4, 5, 6, 7])
    right = ledger(3, [0, 1, 3], [5, 6, 7])
    assert content(Window(3).evict(before, 1)) == content(right)


def test_a_row_without_a_token_is_not_taken_for_an_old_one():
    odd = ledger(3, [0, 1, 2, 3], [0, 1, 2, 3])
    odd = odd.count(1, 0).with_rows(as_ids([4]), as_ids([-1]), as_ids([-1]), as_ids([-1]))
    assert Window(3).evict(odd, 2).token_index.tolist() == [2, 3, -1]


@pytest.mark.parametrize(
    ("policy", "target", "needed"),
    [
        (Window(3), 0, []),
        (Window(3), 2, [0, 1]),
        (Window(3), 7, [5, 6]),
        (Window(1), 7, []),
        (Window(4, 2), 7, [0, 1, 6]),
        (Window(4, 3), 2, [0, 1]),
    ],
)
def test_a_rollback_needs_what_the_next_query_may_read(policy, target, needed):
    assert policy.rollback_needs(filled(8, 8), target).tolist() == needed


def test_reprefill_with_room_reads_nothing_again():
    before = filled(4, 2)
    room = Reprefill(4).make_room(before, as_ids([7, 8]), 0)
    assert room.ledger is before
    assert room.token_ids.tolist() == [7, 8]


def test_reprefill_crops_to_the_last_capacity_tokens():
    room = Reprefill(4).make_room(filled(4, 4), as_ids([9]), 1)
    assert room.token_ids.tolist() == [101, 102, 103, 9]
    assert (room.n_recomputed, room.n_skipped, room.n_lacking) == (3, 0, 0)
    assert content(room.ledger) == content(Ledger(4, seen=1, origin=1))


def test_reprefill_takes_the_held_tokens_into_a_longer_chunk():
    room = Reprefill(4).make_room(filled(4, 2), as_ids([7, 8, 9]), 1)
    assert room.token_ids.tolist() == [101, 7, 8, 9]
    assert (room.n_recomputed, room.n_skipped) == (1, 0)
    assert (room.ledger.seen, room.ledger.origin) == (1, 1)


def test_reprefill_skips_what_falls_out_of_a_chunk_longer_than_the_capacity():
    room = Reprefill(3).make_room(filled(3, 2), as_ids([5, 6, 7, 8, 9]), 4)
    assert room.token_ids.tolist() == [7, 8, 9]
    assert (room.n_recomputed, room.n_skipped) == (0, 2)
    assert (room.ledger.seen, room.ledger.origin) == (4, 4)


def test_reprefill_of_exactly_the_capacity_skips_nothing():
    room = Reprefill(3).make_room(filled(3, 1), as_ids([7, 8, 9]), 1)
    assert room.token_ids.tolist() == [7, 8, 9]
    assert (room.n_recomputed, room.n_skipped) == (0, 0)


@pytest.mark.parametrize(
    ("target", "needed"),
    [
        pytest.param(8, [5, 6, 7], id="a held token stays"),
        pytest.param(6, [5], id="the first held one stays"),
        pytest.param(5, [2, 3, 4], id="none stays: those before it"),
        pytest.param(2, [0, 1], id="far back"),
        pytest.param(0, [], id="all of the text"),
    ],
)
def test_a_rollback_under_reprefill_needs_the_tokens_before_it(target, needed):
    held = ledger(4, [0, 1, 2, 3], [5, 6, 7, 8], [0, 1, 2, 3], origin=5)
    assert Reprefill(4).rollback_needs(held, target).tolist() == needed


def test_only_policies_that_evict_after_a_step_ask_for_room_beside_the_capacity():
    assert not Refuse().evicts_at_commit
    assert not Reprefill(4).evicts_at_commit
    assert Window(4).evicts_at_commit


def test_a_kept_number_is_the_number_in_the_text():
    numbering = Kept()
    ids = as_ids([5, 6])
    assert numbering.query_position_ids(ids) is ids
    assert numbering.write_position_ids(ids) is ids
    assert numbering.read_position_ids(ids, as_ids([4, 5])) is None
    before = ledger(3, [1, 2], [4, 5])
    assert numbering.renumber(before) is before


def test_a_query_numbered_by_rank_is_the_last_of_those_it_reads():
    assert ByRank(4, 1).query_position_ids(as_ids([2, 3, 4, 9])).tolist() == [2, 3, 3, 3]


def test_keys_numbered_by_rank_are_stored_unrotated():
    assert ByRank(4, 1).write_position_ids(as_ids([2, 3])) is None


def test_each_query_gives_each_key_its_rank_among_those_it_reads():
    # Capacity 4, one sink: token 5 reads 0 3 4 5, token 6 reads 0 4 5 6.
    read_at = ByRank(4, 1).read_position_ids(as_ids([5, 6]), as_ids([0, 3, 4, 5, 6]))
    assert read_at is not None
    assert read_at[0, [0, 1, 2, 3]].tolist() == [0, 1, 2, 3]
    assert read_at[1, [0, 2, 3, 4]].tolist() == [0, 1, 2, 3]


def test_before_the_window_is_full_a_rank_is_the_place_in_the_text():
    read_at = ByRank(4, 1).read_position_ids(as_ids([2]), as_ids([0, 1, 2]))
    assert read_at.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(("capacity", "sinks"), [(1, 0), (3, 0), (4, 1), (5, 4), (8, 3)])
def test_ranks_of_the_readable_keys_are_zero_to_length_minus_one(capacity, sinks):
    window, numbering = Window(capacity, sinks), ByRank(capacity, sinks)
    for token in range(20):
        keys = np.arange(token + 1)
        readable = keys[window.allows(np.array(token), keys)]
        read_at = numbering.read_position_ids(as_ids([token]), readable)
        assert read_at is not None
        assert read_at.tolist() == [list(range(len(readable)))]
        assert numbering.query_position_ids(as_ids([token]))[0] == read_at[0, -1]


def test_after_commit_the_kept_tokens_are_numbered_from_zero():
    before = ledger(4, [0, 3, 1, 2], [0, 4, 5, 6], [0, 2, 3, 3])
    after = ByRank(4, 1).renumber(before)
    assert after.position_id.tolist() == [0, 1, 2, 3]
    assert after.token_index.tolist() == [0, 4, 5, 6]


def test_a_text_that_was_counted_too_short_starts_again_at_its_first_token():
    counted_short = replace(filled(4, 4), seen=1)
    room = Reprefill(4).make_room(counted_short, as_ids([9]), 1)
    assert (room.ledger.seen, len(room.token_ids)) == (0, 4)
