import numpy as np
import pytest

from core.arrays import ABSENT, as_ids
from core.engine.types import Ledger, are_all, highest, lowest_free
from tests.helpers.ledgers import content, filled, ledger


def test_a_new_ledger_holds_nothing():
    new = Ledger(5)
    assert (new.capacity, new.length, new.seen, new.origin) == (5, 0, 0, 0)
    assert new.counted_slots.tolist() == []


@pytest.mark.parametrize(
    ("taken", "n", "expected"),
    [([], 2, [0, 1]), ([0, 1, 2], 1, [3]), ([4, 1], 3, [0, 2, 3]), ([9], 0, [])],
)
def test_the_lowest_free_slots_ascend(taken, n, expected):
    assert lowest_free(as_ids(taken), n).tolist() == expected


@pytest.mark.parametrize("numbers", [[], [0], [3, 9, 4], [7, 7, 2], [0, 1, 2, 3]])
def test_the_highest_number_is_that_of_python(numbers):
    assert highest(as_ids(numbers)) == max(numbers, default=-1)


@pytest.mark.parametrize("truths", [[[]], [[True]], [[True, True], [True, False]], [[False]]])
def test_all_are_true_where_python_says_so(truths):
    assert are_all(np.array(truths, dtype=bool)) is all(each for row in truths for each in row)


def test_what_a_ledger_claims_cannot_be_written_to():
    held = filled(8, 3)
    for slots in (held.slot, as_ids([2, 0])):
        assert not any(claims.flags.writeable for claims in held.claims_for(slots))


def test_entries_are_added_without_being_counted():
    one = as_ids([5]), as_ids([3]), as_ids([4]), as_ids([103])
    after = filled(8, 3).with_rows(*one)
    assert after.slot.tolist() == [0, 1, 2, 5]
    assert after.token_index.tolist() == [0, 1, 2, 3]
    assert after.position_id.tolist() == [0, 1, 2, 4]
    assert after.token_id.tolist() == [100, 101, 102, 103]
    assert (after.length, after.seen) == (3, 3)


def test_dropped_entries_are_counted_back():
    after = filled(8, 4).only(as_ids([1, 0, 1, 0]).astype(bool))
    assert content(after) == content(ledger(8, [0, 2], [0, 2], seen=4))


def test_counting_changes_no_entry():
    before = filled(8, 3)
    after = before.count(2, 1)
    assert (after.length, after.seen) == (5, 4)
    assert after.slot is before.slot
    assert (before.length, before.seen) == (3, 3)


def test_claims_are_found_by_slot_and_not_by_order():
    held = ledger(4, [3, 0, 1], [5, 6, 7], [2, 3, 4])
    tokens, positions = held.claims_for(as_ids([0, 1, 2, 3]))
    assert tokens.tolist() == [6, 7, ABSENT, 5]
    assert positions.tolist() == [3, 4, ABSENT, 2]


def test_claims_for_its_own_slots_are_its_own_arrays():
    held = ledger(4, [3, 0, 1], [5, 6, 7])
    tokens, positions = held.claims_for(held.slot)
    assert tokens is held.token_index
    assert positions is held.position_id


def test_an_empty_ledger_claims_nothing():
    tokens, positions = Ledger(4).claims_for(as_ids([0, 2]))
    assert tokens.tolist() == [ABSENT, ABSENT]
    assert positions.tolist() == [ABSENT, ABSENT]


def test_arrays_of_a_ledger_cannot_be_written():
    after = filled(8, 3).with_rows(as_ids([5]), as_ids([3]), as_ids([3]), as_ids([7]))
    for of in (Ledger(8), after, after.only(as_ids([1, 0, 1, 1]).astype(bool))):
        for array in (of.slot, of.token_index, of.position_id, of.token_id):
            assert not array.flags.writeable
