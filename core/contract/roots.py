"""Whether the failure of one rule is what another one's failure looks like there.

A rule that builds on others fails with them: rows that land in the wrong place are wrong after a
truncation too. To see whether that is all, each sequence in which the rule fails is played without
the calls that the other rule knows nothing of (the truncation). If the other rule is broken by what
is left, in the same respect and with sizes that it knows, nothing is seen that it does not show.
One sequence that is right without those calls makes the failure a finding of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from core.contract.calls import Append, Ask, Call, Sizes
from core.contract.plan import Plan
from core.contract.rule import Break, Case, Rule

Tell = Callable[[Rule, Case], Break | None]
"""What is wrong with a class, in a sequence that a rule judges."""

BASIC = (4, 1, 2, 3, 5, 9, 23)
"""Rules that others build on, the most basic first; the rest in order of their numbers."""

NOT_ALONE = frozenset((6, 11, 13, 15, 17, 18, 19, 25, *range(30, 34), 35, 36, 39, 40))
"""Rules that explain no other: they judge by what was read before, and only their own sequences."""

NUMBERS = ("length", "seen", "kind")


def is_more_basic(one: int, other: int) -> bool:
    """Whether a rule may explain the other."""
    return one not in NOT_ALONE and rank(one) < rank(other)


def explains(tell: Tell, plan: Plan, root: Rule, failed: Rule) -> bool:
    """Whether every failing sequence of a rule breaks a more basic one without its own calls.

    Args:
        tell: asks the class.
        plan: what is known of it.
        root: the more basic rule, which is broken.
        failed: the rule that may follow.
    """
    known = {kind for case in root.cases(plan) for kind in _kinds_of(plan, case)}
    sizes = {_sizes(case): case.sizes for case in root.cases(plan)}
    for case in failed.cases(plan):
        found = tell(failed, case)
        if found is None:
            continue
        n_calls = 0 if found.at is None else found.at + 1
        own = _left(plan, replace(case, calls=case.calls[:n_calls]), known)
        if not _is_alike(tell(root, own), found):
            return False
        if _sizes(case) not in sizes and not any(
            _is_alike(tell(root, _resized(own, other)), found) for other in sizes.values()
        ):
            return False
    return True


def _sizes(case: Case) -> tuple[int, int | None]:
    return case.sizes.capacity, case.sizes.sinks


def _resized(case: Case, sizes: Sizes) -> Case:
    """The same rows in a cache that holds as many as another one."""
    return replace(case, sizes=replace(case.sizes, capacity=sizes.capacity, sinks=sizes.sinks))


def rank(rule: int) -> int:
    """How basic a rule is; the most basic is 0."""
    return BASIC.index(rule) if rule in BASIC else len(BASIC) + rule


def top(number: int, above: Mapping[int, int]) -> int:
    """The rule at the end of a chain of rules that explain each other."""
    while number in above:
        number = above[number]
    return number


def _is_alike(broken: Break | None, found: Break) -> bool:
    """Rows, counts and refusals apart; whatever comes after a wrong refusal is wrong with it."""
    if broken is None:
        return False
    return broken.aspect == "refusal" or _group(broken) == _group(found)


def _group(found: Break) -> str:
    if found.aspect == "refusal":
        return "refusal"
    return "number" if found.aspect in NUMBERS else "rows"


def _left(plan: Plan, case: Case, known: set[str]) -> Case:
    """The sequence without calls of other kinds, its rows plain ones, and a look at the end."""
    kinds = _kinds_of(plan, case)
    calls = [
        _plain(call, case.sizes)
        for call, kind in zip(case.calls, kinds, strict=True)
        if kind in known
    ]
    if "read" in known and plan.offers("read"):
        layers = [c.layer for c in calls if isinstance(c, Append)]
        calls.append(Ask("read", layer=layers[-1] if layers else 0))
    return replace(case, calls=tuple(calls))


def _plain(call: Call, sizes: Sizes) -> Call:
    if not isinstance(call, Append):
        return call
    k, v = (
        replace(rows, kind="plain", dtype=sizes.dtype, fill=None, special=None)
        for rows in (call.k, call.v)
    )
    return replace(call, k=k, v=v, scratch=None)


def _kinds_of(plan: Plan, case: Case) -> Iterator[str]:
    """What each call is about: its name; of an append, whether it should be refused."""
    ideal = plan.ideal(case.sizes)
    for call in case.calls:
        expected = ideal.expected(call)
        if not isinstance(call, Append):
            yield call.call
        elif expected.refused:
            yield "refused"
        else:
            yield "append" if call.k.tokens else "append of nothing"
