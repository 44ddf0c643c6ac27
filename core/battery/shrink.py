"""From a case that fails to the smallest one that does: fewest tokens, then layers, then slots."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

from core.battery.case import Case, Ids
from core.errors import CoreError

Fails = Callable[[Case], bool]
_MOST_TRIED = 1500
"""Cases tried at the end to make sure that none is smaller; each takes some milliseconds."""


def smallest(case: Case, fails: Fails) -> Case:
    """A case that fails as `case` does, with fewest tokens, then layers, then slots.

    Halving finds a small one; then all that are smaller still are tried, smallest first.
    """
    seen: dict[Case, bool] = {}

    def is_failing(other: Case) -> bool:
        if other not in seen:
            seen[other] = _fails(other, fails)
        return seen[other]

    found = _descended(case, is_failing)
    for smaller in sorted(_all_smaller(found), key=lambda other: other.size)[:_MOST_TRIED]:
        if is_failing(smaller):
            return smaller
    return found


def _fails(case: Case, fails: Fails) -> bool:
    try:
        return fails(case)
    except CoreError:
        return False  # no such run


def _descended(case: Case, is_failing: Fails) -> Case:
    """Goes on from the first smaller case that fails, until there is none."""
    while True:
        smaller = next(
            (other for other in _moves(case) if other.size < case.size and is_failing(other)), None
        )
        if smaller is None:
            return case
        case = smaller


def _moves(case: Case) -> Iterator[Case]:
    """Cases that are a little smaller; larger steps first."""
    yield from (replace(case, prompt=ids) for ids in _shorter(case.prompt) if ids)
    yield from (replace(case, then=ids) for ids in _shorter(case.then))
    yield from (replace(case, other=ids) for ids in _shorter(case.other))
    if case.n > 0:
        yield replace(case, prompt=case.prompt[1:], n=case.n - 1)
        yield replace(case, then=case.then[:-1], n=case.n - 1)
    for n_slots in (1, 2):
        if case.capacity > n_slots:
            fewer = _with_capacity(case, case.capacity - n_slots)
            yield from (replace(fewer, prompt=ids) for ids in _shorter(case.prompt) if ids)
            yield from (replace(fewer, then=ids) for ids in _shorter(case.then))
    yield from (replace(case, layers=n) for n in {1, case.layers // 2, case.layers - 1} if n > 0)
    yield from (_with_capacity(case, n) for n in (case.capacity // 2, case.capacity - 1) if n > 0)
    for name in ("sinks", "n", "ranks"):
        value: int = getattr(case, name)
        yield from (replace(case, **{name: n}) for n in {0, value // 2, value - 1} if n >= 0)
    yield from (replace(case, chunk=n) for n in {case.chunk // 2, case.chunk - 1} if n > 0)


def _shorter(ids: Ids) -> Iterator[Ids]:
    n = len(ids)
    if n > 3:
        yield ids[: n // 2]
        yield ids[n // 2 :]
    if n > 0:
        yield ids[:-1]
        yield ids[1:]


def _with_capacity(case: Case, n: int) -> Case:
    return replace(case, capacity=n, sinks=min(case.sinks, n - 1))


def _all_smaller(case: Case) -> Iterator[Case]:
    """Every case of the same kind with fewer tokens, or as many and fewer layers or slots."""
    limit = case.size[:3]
    lengths = product(
        range(1, len(case.prompt) + 1), range(len(case.then) + 1), range(len(case.other) + 1)
    )
    for n_prompt, n_then, n_other in lengths:
        shorter = replace(
            case, prompt=case.prompt[:n_prompt], then=case.then[:n_then], other=case.other[:n_other]
        )
        for layers, capacity in product(range(1, case.layers + 1), range(1, case.capacity + 1)):
            smaller = _with_capacity(replace(shorter, layers=layers), capacity)
            if smaller.size[:3] < limit:
                chunks = range(1, case.chunk + 1) if case.chunk else (0,)
                for chunk, n in product(chunks, range(case.n + 1)):
                    yield replace(smaller, chunk=chunk, n=n)
