"""Rules 9 to 15: how many rows there are, and what a refusal changes."""

from collections.abc import Iterator

from core.contract.calls import Append
from core.contract.plan import Plan, rows_of
from core.contract.rule import (
    Break,
    Case,
    Heard,
    Rule,
    exactly,
    first_rows,
    lengths,
    one_of,
    refusals,
)
from core.contract.rules_shapes import misfits
from core.contract.sequences import LENGTH, READ, in_blocks, looks, with_length


def _exact(plan: Plan) -> Iterator[Case]:
    if plan.policy != "refuse" or plan.own_capacity is not None:
        return
    for capacity in (1, 2, 7):
        sizes = plan.sizes(capacity)
        n = sizes.capacity
        singles = in_blocks(sizes, (1,) * n)
        yield Case(sizes, tuple(singles))
        yield Case(sizes, tuple(in_blocks(sizes, (n,))))
        yield Case(sizes, (*singles, rows_of(sizes, [n])))


def _block_over(plan: Plan) -> Iterator[Case]:
    if plan.policy != "refuse":
        return
    for capacity in (2, 3, 5):
        sizes = plan.sizes(capacity)
        n = sizes.capacity
        some = in_blocks(sizes, (1,) * (n - 1))
        over = rows_of(sizes, [n - 1, n])
        look = (READ,) if plan.offers("read") else ()
        yield Case(sizes, (*some, over))
        yield Case(sizes, (*some, over, *with_length(plan), *look))


def _refused(plan: Plan) -> Iterator[Case]:
    """A look, an append that should be refused, the same look, and a row that fits."""
    seen = looks(plan)
    sizes = plan.sizes(4)
    first = rows_of(sizes, [0])
    if plan.policy == "refuse":
        for capacity in (2, 4):
            small = plan.sizes(capacity)
            n = small.capacity
            full = in_blocks(small, (1,) * (n - 1))
            over = rows_of(small, [n, n + 1])
            yield Case(small, (*full, *seen, over, *seen))
        n = sizes.capacity
        if n > 2:
            yield Case(sizes, (*in_blocks(sizes, (1, 1)), *seen, rows_of(sizes, range(2, n + 1)),
                               *seen, rows_of(sizes, [2]), READ))  # fmt: skip
        yield Case(sizes, (*seen, rows_of(sizes, range(n + 1)), *seen, first, READ))
    for own, wrong in misfits(plan):
        one, fitting = rows_of(own, [0]), rows_of(own, [1])
        yield Case(own, (one, *seen, wrong, *seen, fitting, READ))


def _changes_nothing(heard: Heard) -> Break | None:
    """Each look after a refusal shows what it showed before; a row that fits lands behind."""
    before: dict[str, object] = {}
    was_refused = False
    for at, call, answer, expected in heard.steps():
        if isinstance(call, Append):
            was_refused = answer.was_refused and expected.refused is not False
            if not was_refused:
                before.clear()
            continue
        view = heard.view(answer, call.layer)
        shown: object = answer.number
        if view is not None:
            # What attention may use: a buffer that comes back whole is judged by the rows counted.
            n = len(expected.tokens or ())
            shown = (view.keys[:n], view.values[:n]) if heard.plan.is_whole else view
        words = view.words() if view is not None else str(answer.number)
        if was_refused and call.call in before and before[call.call] != shown:
            return Break(at, call.call, "as before the refusal", words)
        if not was_refused:
            before[call.call] = shown
    return _lands_behind(heard)


def _lands_behind(heard: Heard) -> Break | None:
    """What is read at the end, when a row was accepted after a refusal."""
    steps = list(heard.steps())
    appends = [(call, answer) for _, call, answer, _ in steps if isinstance(call, Append)]
    refused = [answer.was_refused for _, answer in appends]
    if len(refused) < 2 or True not in refused or refused.index(True) == len(refused) - 1:
        return None
    at, call, answer, expected = steps[-1]
    if appends[-1][1].was_refused:
        return Break(len(steps) - 2, "refusal", "a row that fits is accepted", "refused")
    view = heard.view(answer, call.layer)
    if view is None or expected.tokens is None:
        return None
    n = len(expected.tokens)
    if view.keys[:n] != expected.tokens or view.values[:n] != expected.tokens:
        return Break(at, "contents", f"{list(expected.tokens)}", view.words())
    return None


def _huge(plan: Plan) -> Iterator[Case]:
    if plan.policy != "refuse":
        return
    sizes = plan.sizes(8)
    over = rows_of(sizes, [token % 100 for token in range(10 * sizes.capacity)])
    yield Case(sizes, (over,))
    yield Case(sizes, (rows_of(sizes, [0]), over))


def _nothing(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(2)
    seen = looks(plan)
    none = rows_of(sizes, [])
    if plan.offers("length"):
        yield Case(sizes, (none, LENGTH))
    for n in (1, 2):
        some = in_blocks(sizes, (1,) * n)
        yield Case(sizes, (*some, *seen, none, *seen))


def _moves_nothing(heard: Heard) -> Break | None:
    """What is seen after an append of no rows is what was seen before."""
    before: dict[str, object] = {}
    for at, call, answer, _ in heard.steps():
        if isinstance(call, Append):
            if call.k.tokens:
                before.clear()
            continue
        view = heard.view(answer, call.layer)
        shown: object = answer.number if view is None else view
        if call.call in before and before[call.call] != shown:
            words = str(answer.number) if view is None else view.words()
            return Break(at, call.call, "as before", words)
        before.setdefault(call.call, shown)
    return lengths(heard) if len(heard.case.calls) == 2 else None


def _one(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(1)
    if (
        plan.policy == "unbounded"
        or plan.own_capacity is not None
        or (sizes.sinks is not None and sizes.sinks > 0)
    ):
        return
    look = (READ,) if plan.offers("read") else ()
    yield Case(sizes, (rows_of(sizes, [0]), *look))
    yield Case(sizes, (rows_of(sizes, [0]), rows_of(sizes, [1]), *look))


def _no_room(plan: Plan) -> Iterator[Case]:
    if "capacity" not in plan.surface.roles:
        return
    for capacity in (0, -1):
        yield Case(plan.sizes(capacity), ())


def _is_refused_at_birth(heard: Heard) -> Break | None:
    if heard.answers[0].was_refused:
        return None
    return Break(None, "refusal", "refused", f"a cache of capacity {heard.case.sizes.capacity}")


RULES = (
    Rule(
        9,
        "as many rows as the capacity are accepted, and not one more",
        "refuse when length + n > capacity, not when it reaches it",
        _exact,
        refusals,
        explained_by=(3,),
    ),
    Rule(
        10,
        "a block that does not fit is refused as a whole",
        "check length + n before the first row is written",
        _block_over,
        one_of(refusals, lengths, first_rows),
        explained_by=(9, 11, 4),
    ),
    Rule(
        11,
        "a refused append changes nothing",
        "check first, then write, then count",
        _refused,
        _changes_nothing,
        explained_by=(7,),
    ),
    Rule(
        12,
        "an append far above the capacity is refused at once",
        "compare numbers of rows before any array is made",
        _huge,
        refusals,
        explained_by=(9, 10),
    ),
    Rule(
        13,
        "an append of no rows moves nothing",
        "count by the rows of k; do not take an empty array for a row",
        _nothing,
        _moves_nothing,
        explained_by=(11,),
    ),
    Rule(
        14,
        "a capacity of 1 works",
        "allow the length to reach the capacity",
        _one,
        exactly,
        explained_by=(9, 4, 23),
    ),
    Rule(
        15,
        "a capacity of 0 or less is refused at construction",
        "raise in the constructor when the capacity is below 1",
        _no_room,
        _is_refused_at_birth,
        is_note=lambda plan: True,
    ),
)
