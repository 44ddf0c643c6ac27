"""It does not matter in which slots the rows lie, nor in which order they are read."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from core.arrays import IntArray
from core.battery.bench import Bench, Found, zipped
from core.battery.case import Case
from core.battery.law import Law
from core.battery.silence import Silent
from core.engine.seams import Seams
from core.engine.types import Ledger

_FIRST_ROWS = 8
"""Rows that a growable buffer has at first, if no chunk is longer."""


def _cases(case: Case) -> Iterator[Case]:
    for n in (1, 2):
        yield replace(case, n=n, chunk=0 if n == 1 else min(2, len(case.prompt)))


def _other_slots(case: Case, bench: Bench) -> Found:
    n_rows = case.capacity
    if case.policy in ("window", "sinks"):
        n_rows += bench.spec(case).longest_append
    order = _shuffled(case.n, n_rows)
    return zipped("with other slots", bench.run(case, _with_slots(order)), bench.run(case))


def _other_order(case: Case, bench: Bench) -> Found:
    return zipped(
        "with rows in another order", bench.run(case, _with_order(case.n)), bench.run(case)
    )


def _grow_cases(case: Case) -> Iterator[Case]:
    if len(case.text) > _FIRST_ROWS:
        yield replace(case, capacity=len(case.text), chunk=2)


def _growing(case: Case, bench: Bench) -> Found:
    """A buffer that starts small and is doubled against one that has all its rows."""
    n, least = min(len(case.text), case.capacity), _FIRST_ROWS + 1
    if n < least:
        return Silent(
            f"{n} rows do not make a buffer grow that starts with {_FIRST_ROWS}; give {least} "
            f"tokens and capacity={least} or more"
        )
    return zipped("in a buffer that grows", bench.run(case, growable=True), bench.run(case))


def _with_slots(order: IntArray) -> Callable[[Seams], Seams]:
    """A table that hands slot `order[s]` out wherever the given one hands out slot s."""
    back = np.argsort(order)

    def adapted(seams: Seams) -> Seams:
        def next_slots(ledger: Ledger, n_new: int) -> IntArray:
            usual = replace(ledger, slot=_mapped(back, ledger.slot))
            return _mapped(order, seams.next_slots(usual, n_new))

        return replace(seams, next_slots=next_slots)

    return adapted


def _with_order(seed: int) -> Callable[[Seams], Seams]:
    """A table whose rows are read in another order."""

    def adapted(seams: Seams) -> Seams:
        def kv_view(ledger: Ledger) -> IntArray:
            view = seams.kv_view(ledger)
            return view[_shuffled(seed, len(view))]

        return replace(seams, kv_view=kv_view)

    return adapted


def _shuffled(seed: int, n: int) -> IntArray:
    """[n] the numbers from 0, in another order where there is one: `seed` 1 turns them round."""
    numbers = list(range(n))
    if seed == 1:
        numbers.reverse()
    else:
        random.Random(seed).shuffle(numbers)
    return np.array(numbers, dtype=np.int64)


def _mapped(order: IntArray, slots: IntArray) -> IntArray:
    """Slots outside the order stay what they are."""
    mapped = slots.copy()
    is_known = slots < len(order)
    mapped[is_known] = order[slots[is_known]]
    return mapped


LAWS = (
    Law(
        "slots",
        "slots",
        "free slots that are handed out in another order change nothing",
        _cases,
        _other_slots,
    ),
    Law(
        "slots-read",
        "slots",
        "rows that are read in another order change nothing",
        _cases,
        _other_order,
    ),
    Law(
        "slots-grow",
        "slots",
        "rows keep what they hold while the buffer grows",
        _grow_cases,
        _growing,
    ),
)
