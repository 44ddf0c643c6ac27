"""Which rules a class breaks, and which of them are the roots."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core.contract import roots
from core.contract.calls import HANGS, Ask
from core.contract.ideal import RIGHT, Habits
from core.contract.plan import Plan
from core.contract.repairs import repair_of
from core.contract.rule import AN_ANSWER, SHARED, Break, Case, Heard, Rule
from core.contract.rules import RULES
from core.contract.subject import GaveUpError, Subject
from core.contract.unasked import DECLARED_OUT, WHY_LACKING, why_none

State = Literal["pass", "fail", "follows", "note", "not_offered", "skipped"]
N_TRIES = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a rule.

    Attributes:
        rule: its number.
        title: the rule, as a sentence.
        state: pass, fail (a root), follows (from `root`), note, not_offered or skipped.
        root: the rule that explains it; None: it is one, or holds.
        case: the shortest sequence that shows it; None: nothing was broken.
        found: where that sequence goes wrong.
        repair: what to change.
        why: the reason, where it was not asked.
        n_cases: sequences that were tried.
    """

    rule: int
    title: str
    state: State
    root: int | None = None
    case: Case | None = None
    found: Break | None = None
    repair: str = ""
    why: str = ""
    n_cases: int = 0


@dataclass(frozen=True, slots=True)
class _Failure:
    rule: Rule
    case: Case
    found: Break


def check(
    subject: Subject,
    plan: Plan,
    only: Iterable[int] = (),
    at: Callable[[int], None] | None = None,
    told: Callable[[Verdict], None] | None = None,
) -> list[Verdict]:
    """Ask every rule, or those named.

    Args:
        subject: the class.
        plan: what is known of it.
        only: numbers of the rules to ask; empty: all.
        at: told the number of each rule before it is asked.
        told: told what came of each rule, as far as that is known before the others are asked.

    Returns:
        One verdict a rule, in order of their numbers; skipped from where the class could not be
        asked any more.
    """
    wanted = set(only) or set(range(1, 41))
    verdicts: dict[int, Verdict] = {}
    failures: list[_Failure] = []
    for rule in RULES:
        before = verdicts.get(rule.number)
        if rule.number not in wanted or _is_settled(before):
            continue
        if at is not None and before is None:
            at(rule.number)
        verdict, failure = _asked_or_skipped(subject, plan, rule)
        verdicts[rule.number] = _together(before, verdict)
        if told is not None:
            told(verdicts[rule.number])
        if failure is not None and verdict.state == "fail":
            failures.append(failure)
    for number, root in _followers(subject, plan, failures):
        verdicts[number] = replace(verdicts[number], state="follows", root=root)
    return [verdicts[number] for number in sorted(verdicts)]


def _is_settled(before: Verdict | None) -> bool:
    """Whether a rule that is asked in several ways needs no other one."""
    return before is not None and before.state in ("fail", "note")


def _together(before: Verdict | None, verdict: Verdict) -> Verdict:
    """What came of a rule that is asked in several ways."""
    return before if before and verdict.state == "not_offered" else verdict


def _asked_or_skipped(subject: Subject, plan: Plan, rule: Rule) -> tuple[Verdict, _Failure | None]:
    try:
        return _asked(subject, plan, rule)
    except GaveUpError as error:
        return Verdict(rule.number, rule.title, "skipped", why=str(error)), None


def _asked(subject: Subject, plan: Plan, rule: Rule) -> tuple[Verdict, _Failure | None]:
    for declared, numbers in DECLARED_OUT.items():
        if rule.number in numbers and declared in plan.declared:
            why = f"it is declared: {declared.replace('_', ' ')}"
            return Verdict(rule.number, rule.title, "skipped", why=why), None
    missing = [name for name in rule.needs if not plan.offers(name)]
    if missing:
        why = WHY_LACKING.get(missing[0], f"no {missing[0]}")
        return Verdict(rule.number, rule.title, "not_offered", why=why), None
    n = 0
    for case in rule.cases(plan):
        n += 1
        heard = Heard(plan, case, subject.run(case.sizes, case.calls))
        found = _judged(rule, heard)
        if found is None:
            continue
        shortest, found = _shrunk(subject, plan, rule, case, found)
        state: State = "note" if rule.is_note(plan) else "fail"
        verdict = Verdict(
            rule.number,
            rule.title,
            state,
            case=shortest,
            found=found,
            repair=repair_of(plan, rule, found),
            n_cases=n,
        )
        return verdict, _Failure(rule, shortest, found)
    if n == 0:
        return Verdict(
            rule.number, rule.title, "not_offered", why=why_none(plan, rule.number)
        ), None
    return Verdict(rule.number, rule.title, "pass", n_cases=n), None


def _broken(subject: Subject, plan: Plan, rule: Rule, case: Case) -> Break | None:
    return _judged(rule, Heard(plan, case, subject.run(case.sizes, case.calls)))


def _judged(rule: Rule, heard: Heard) -> Break | None:
    if rule.number != 15:
        unmade = heard.made()
        if unmade is not None:
            return unmade
    last = heard.answers[-1]
    if last.is_last and last.error is not None:
        return Break(len(heard.answers) - 2, "refusal", AN_ANSWER, ": ".join(last.error))
    return rule.judge(heard)


def _shrunk(
    subject: Subject, plan: Plan, rule: Rule, case: Case, found: Break
) -> tuple[Case, Break]:
    """The case without the calls that it does not need; every try costs the limit if it hangs."""
    if found.at is not None:
        case = replace(case, calls=case.calls[: found.at + 1])
    if found.found.startswith(HANGS):
        return case, found
    for _ in range(N_TRIES):
        for at in range(len(case.calls) - 1, -1, -1):
            calls = (*case.calls[:at], *case.calls[at + 1 :])
            smaller = _told(subject, plan, rule, replace(case, calls=calls))
            if smaller is not None and smaller.aspect == found.aspect:
                case, found = replace(case, calls=calls), smaller
                break
        else:
            break
    return case, found


def _told(subject: Subject, plan: Plan, rule: Rule, case: Case) -> Break | None:
    names = [call.call for call in case.calls if isinstance(call, Ask)]
    for name, needed in (("restore", "snapshot"), ("other", "fork")):
        if name in names and needed not in names[: names.index(name)]:
            return None  # there is nothing to go back to, or to go on with
    try:
        return _broken(subject, plan, rule, case)
    except (IndexError, StopIteration):  # the rule needs a call that is not there any more
        return None


def _followers(subject: Subject, plan: Plan, failures: Sequence[_Failure]) -> list[tuple[int, int]]:
    """(rule, root) of the failures that another one explains.

    Where a new cache holds what another one was given, nothing can be told of any. A class that
    hangs or ends the interpreter does so for one reason, until that is repaired.
    Habits next: a cache with the habits of the failed rules would answer so. Then rules
    that build on others (`roots`).
    """
    if any(failure.found.aspect == SHARED for failure in failures):
        return [(f.rule.number, 1) for f in failures if f.rule.number != 1]
    fallen = [failure.rule.number for failure in failures if failure.found.expected == AN_ANSWER]
    pairs = [(number, fallen[0]) for number in fallen[1:]]
    failures = [failure for failure in failures if failure.rule.number not in fallen[1:]]
    numbers = {failure.rule.number for failure in failures}
    habits = _habits(numbers, failures)
    above = dict(pairs)
    for failure in failures:
        root = _root_by_habit(subject, plan, failure, habits, numbers)
        if root is not None:
            above[failure.rule.number] = root
    for failure in sorted(failures, key=lambda f: roots.rank(f.rule.number)):
        if failure.rule.number not in above:
            root = _root_by_order(subject, plan, failure, failures, above)
            if root is not None:
                above[failure.rule.number] = root
    return [(number, roots.top(number, above)) for number in above]


def _root_by_order(
    subject: Subject,
    plan: Plan,
    failure: _Failure,
    failures: Sequence[_Failure],
    above: Mapping[int, int],
) -> int | None:
    """The most basic rule that is broken wherever this one is."""

    def tell(rule: Rule, case: Case) -> Break | None:
        return _told(subject, plan, rule, case)

    own = failure.rule.number
    for other in sorted((f.rule for f in failures), key=lambda rule: roots.rank(rule.number)):
        if not roots.is_more_basic(other.number, own) or roots.top(other.number, above) == own:
            continue
        try:
            if roots.explains(tell, plan, other, failure.rule):
                return other.number
        except GaveUpError:
            return None
    return None


def _habits(numbers: set[int], failures: Sequence[_Failure]) -> dict[int, Habits]:
    """rule -> the habit that its failure shows."""
    found: dict[int, Habits] = {}
    if 4 in numbers:
        found[4] = Habits(reads_whole=True)
    exact = next((f for f in failures if f.rule.number == 9), None)
    if exact is not None and exact.found.expected == "accepted":
        found[9] = Habits(n_lost=1)
    if 11 in numbers:
        found[11] = Habits(counts_refused=True)
    return found


def _root_by_habit(
    subject: Subject, plan: Plan, failure: _Failure, habits: dict[int, Habits], numbers: set[int]
) -> int | None:
    """The rule whose habit gives these answers too."""
    if failure.rule.number in habits:
        return None
    for root, habit in habits.items():
        if root in numbers and _explains(subject, plan, failure, habit):
            return root
    together = RIGHT
    for habit in habits.values():
        together = Habits(
            reads_whole=together.reads_whole or habit.reads_whole,
            n_lost=max(together.n_lost, habit.n_lost),
            counts_refused=together.counts_refused or habit.counts_refused,
        )
    if len(habits) > 1 and _explains(subject, plan, failure, together):
        named = [n for n in failure.rule.explained_by if n in habits]
        return (named or list(habits))[0]
    return None


def _explains(subject: Subject, plan: Plan, failure: _Failure, habit: Habits) -> bool:
    """Whether every sequence of the rule comes out as with this habit."""
    for case in failure.rule.cases(plan):
        try:
            answers = subject.run(case.sizes, case.calls)
        except GaveUpError:
            return False
        if failure.rule.judge(Heard(plan, case, answers, habit)) is not None:
            return False
    return True
