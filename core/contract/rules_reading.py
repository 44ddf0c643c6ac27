"""Rules 1 to 6: what is read is what was appended."""

from collections.abc import Iterator
from itertools import pairwise

from core.contract.calls import Ask, Call
from core.contract.ideal import Expected
from core.contract.plan import MOST_OWN, Plan, rows_of
from core.contract.reading import View
from core.contract.rule import (
    SHARED,
    Break,
    Case,
    Heard,
    Rule,
    contents,
    counts,
    first_ones,
    first_rows,
    lengths,
    one_of,
    refusals,
)
from core.contract.sequences import LENGTH, READ, in_blocks, with_length


def _empty(plan: Plan) -> Iterator[Case]:
    if plan.is_whole:
        return
    calls: list[Call] = [LENGTH] if plan.offers("length") else []
    if plan.offers("read_before"):
        calls.append(READ)
    if calls:
        yield Case(plan.sizes(4), tuple(calls))


def _starts_empty(heard: Heard) -> Break | None:
    """A read that raises shows no row either. Rows of tokens were given to another cache."""
    for at, call, answer, expected in heard.steps():
        view = heard.view(answer, call.layer)
        if view is not None and not _as_many(view, expected):
            is_shared = any(isinstance(name, int) for name in (*view.keys, *view.values))
            aspect = SHARED if is_shared else "count"
            return Break(at, aspect, f"{len(expected.tokens or ())} rows", view.words())
    return lengths(heard)


def _as_many(view: View, expected: Expected) -> bool:
    """Whether there are as many rows as there should be, rows that left in this append or not."""
    n = len(expected.tokens or ())
    return len(view.keys) == len(view.values) and n <= len(view.keys) <= n + len(expected.older)


def _shapes_cases(plan: Plan) -> Iterator[Case]:
    if plan.is_whole:
        return
    for n in (1, 2, 5):
        sizes = plan.sizes(8)
        yield Case(sizes, with_length(plan, rows_of(sizes, range(n)), READ))
    if plan.has_no_known_end:  # as many as it took without a word
        sizes = plan.sizes(MOST_OWN)
        yield Case(sizes, (*in_blocks(sizes, (1,) * MOST_OWN), READ))


def _shapes(heard: Heard) -> Break | None:
    for at, call, answer, expected in heard.steps():
        view = heard.view(answer, call.layer)
        if view is None or expected.tokens is None:
            continue
        n = len(expected.tokens)
        if view.odd_shape is not None:
            return Break(at, "shape", f"keys and values of {n} rows", view.odd_shape)
        if not _as_many(view, expected):
            found = f"{len(view.keys)} keys, {len(view.values)} values"
            return Break(at, "shape", f"{n} keys, {n} values", found)
    return None


def _contents_cases(plan: Plan) -> Iterator[Case]:
    for blocks in ((1,), (1, 1), (2,), (1, 2), (2, 1), (1, 1, 1), (5,), (2, 3), (3, 1, 1)):
        sizes = plan.sizes(8)
        yield Case(sizes, (*in_blocks(sizes, blocks), READ))
        if len(blocks) > 1:
            yield Case(sizes, tuple(c for block in in_blocks(sizes, blocks) for c in (block, READ)))
    if has_two_head_sizes(plan):
        for d_k, d_v in ((4, 3), (3, 5)):
            sizes = plan.sizes(8, d_k=d_k, d_v=d_v)
            yield Case(sizes, (*in_blocks(sizes, (1, 2)), READ))


def has_two_head_sizes(plan: Plan) -> bool:
    """Whether keys and values may have another number of components, each its own argument."""
    roles = plan.surface.arguments.values()
    return any("d_k" in each and "d_v" not in each for each in roles) and any(
        "d_v" in each and "d_k" not in each for each in roles
    )


def _never_written(plan: Plan) -> Iterator[Case]:
    if plan.is_whole:
        return
    for blocks in ((1,), (2,), (1, 2), (3, 3)):
        sizes = plan.sizes(16)
        yield Case(sizes, (*in_blocks(sizes, blocks), READ))


def _splits(plan: Plan) -> Iterator[Case]:
    """All ways to cut six rows, one block of six last."""
    for cuts in range(2**5):
        blocks: list[int] = []
        n = 1
        for place in range(5):
            if cuts >> place & 1:
                n += 1
            else:
                blocks.append(n)
                n = 1
        sizes = plan.sizes(8)
        yield Case(sizes, (*in_blocks(sizes, (*blocks, n)), READ))


def _growing(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(8)
    for blocks in ((1, 1), (1, 1, 1), (2, 1, 2), (3, 3)):
        if sum(blocks) > sizes.capacity:
            continue  # a capacity of its own: rows leave
        yield Case(sizes, tuple(c for block in in_blocks(sizes, blocks) for c in (block, READ)))


def _earlier_stay(heard: Heard) -> Break | None:
    """Rows read at one time are read again at the next."""
    seen: list[tuple[int, tuple[int | str, ...], tuple[int | str, ...]]] = []
    for at, call, answer, expected in heard.steps():
        view = heard.view(answer, call.layer)
        if view is not None and isinstance(call, Ask) and expected.tokens is not None:
            n = len(expected.tokens)
            seen.append((at, view.keys[:n], view.values[:n]))
    for (_, keys, values), (at, later_keys, later_values) in pairwise(seen):
        if later_keys[: len(keys)] != keys or later_values[: len(values)] != values:
            return Break(at, "contents", f"{list(keys)} first", f"{list(later_keys)}")
    return None


RULES = (
    Rule(
        1,
        "a new cache is empty",
        "start with a length of 0 and read the first `length` rows, not the whole buffer",
        _empty,
        _starts_empty,
        explained_by=(4,),
    ),
    Rule(
        2,
        "keys and values come back with one row for each that was appended",
        "slice keys and values by the same length, along the axis of rows",
        _shapes_cases,
        one_of(refusals, lengths, _shapes),
        needs=("read",),
        explained_by=(4,),
    ),
    Rule(
        3,
        "rows are read as they were appended, bit for bit and in order",
        "write the new rows at length : length + n of both keys and values",
        _contents_cases,
        first_ones,
        needs=("read",),
        explained_by=(2,),
    ),
    Rule(
        4,
        "reading shows only rows that were appended",
        "return the first `length` rows; those behind were never written and take softmax weight",
        _never_written,
        counts,
        needs=("read",),
    ),
    Rule(
        5,
        "a block of rows and the same rows one by one give the same reads",
        "count every row of a block, and write all of them",
        _splits,
        one_of(refusals, first_rows, contents),
        needs=("read",),
        explained_by=(2, 3, 4),
    ),
    Rule(
        6,
        "earlier rows stay as they are when later rows arrive",
        "write behind the last row, never onto one that is held",
        _growing,
        _earlier_stay,
        needs=("read",),
        explained_by=(2, 3, 4),
    ),
)
