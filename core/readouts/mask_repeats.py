"""Rows of a mask that are of one slot, or stand for one token: each should be seen once."""

from collections.abc import Sequence

import numpy as np

from core.arrays import ABSENT, BoolArray, IntArray, frozen


def repeats(claimed: IntArray) -> list[IntArray]:
    """The columns that stand for one token, of each token that several stand for."""
    known = claimed[claimed != ABSENT]
    if bool((known[1:] > known[:-1]).all()):
        return []
    tokens, counts = np.unique(known, return_counts=True)
    return [np.flatnonzero(claimed == token) for token in tokens[counts > 1]]


def expected_once(
    expected: BoolArray, used: BoolArray, columns_alike: Sequence[IntArray]
) -> BoolArray:
    """[T, S] what should be seen: of columns that stand for one token the first that is seen."""
    expected = expected.copy()
    queries = np.arange(len(expected))
    for columns in columns_alike:
        should = expected[:, columns[0]].copy()
        expected[:, columns] = False
        expected[queries, columns[used[:, columns].argmax(axis=1)]] = should
    return frozen(expected)


def columns_of_slots(slots: IntArray, n_slots: int) -> list[IntArray]:
    """[n_slots] each: the first column of every slot, then the second, ...; ABSENT: none."""
    n_before = _n_before(slots)
    found: list[IntArray] = []
    for n in range(int(n_before.max(initial=0)) + 1):
        columns = np.flatnonzero(n_before == n)
        found.append(np.full(n_slots, ABSENT, dtype=np.int64))
        found[-1][slots[columns]] = columns
    return found


def _n_before(slots: IntArray) -> IntArray:
    """[S] how many columns before a column are of its slot."""
    order = np.argsort(slots, kind="stable")
    ordered = slots[order]
    n_before = np.empty_like(order)
    n_before[order] = np.arange(len(slots)) - np.searchsorted(ordered, ordered)
    return n_before
