"""What a rule is: sequences of calls, and which part of the answers it judges."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from core.contract.calls import Answer, Append, Ask, Call, Sizes
from core.contract.ideal import RIGHT, Expected, Habits, fits
from core.contract.plan import Plan
from core.contract.reading import View, listed

AN_ANSWER = "an answer"
"""Expected of a call in which the class hangs, or ends the interpreter."""

A_REASON = "refused, by an error that says why"
"""Expected where the class fails, by a mistake in its code, at what it should refuse."""

SHARED = "shared"
"""Aspect of rows that a new cache shows: another one was given them."""

NAME_ERRORS = ("AttributeError", "NameError", "SystemExit", "UnboundLocalError")
"""What no wrong argument explains."""


@dataclass(frozen=True, slots=True)
class Case:
    """A sequence of calls on a new cache; rules judge its answers."""

    sizes: Sizes
    calls: tuple[Call, ...]

    def words(self) -> list[str]:
        """The sequence as a person reads it."""
        calls = [c.words(self.sizes) if isinstance(c, Append) else c.words() for c in self.calls]
        return [f"new, capacity {self.sizes.capacity}", *calls]


@dataclass(frozen=True, slots=True)
class Break:
    """Where answers differ from what they should be.

    Attributes:
        at: index of the call; None: the making of the cache.
        aspect: refusal, count, contents, length, seen, shape, dtype, kind, shared, blocks.
        expected, found: in words.
    """

    at: int | None
    aspect: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Heard:
    """The answers to a case, beside what a right cache answers."""

    plan: Plan
    case: Case
    answers: Sequence[Answer]
    habits: Habits = RIGHT

    def steps(self) -> Iterator[tuple[int, Call, Answer, Expected]]:
        """Call by call, as far as there are answers."""
        ideal = self.plan.ideal(self.case.sizes, self.habits)
        pairs = zip(self.case.calls, self.answers[1:], strict=False)
        for at, (call, answer) in enumerate(pairs):
            yield at, call, answer, ideal.expected(call)

    def view(self, answer: Answer, layer: int) -> View | None:
        """The rows that came back; None: none did."""
        if answer.pair is None:
            return None
        return self.plan.reader(self.case.sizes).view(answer.pair, layer)

    def made(self) -> Break | None:
        """Why there is nothing to judge: the cache could not be made."""
        error = self.answers[0].error
        if error is None:
            return None
        return Break(None, "refusal", "a new cache", f"{error[0]}: {error[1]}")


Judge = Callable[[Heard], Break | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a cache.

    Attributes:
        number: 1 to 40.
        title: the rule, as a sentence.
        repair: what to change where it fails.
        cases: its sequences, the shortest first; none where it does not apply to this class.
        judge: what is wrong with the answers; None: nothing.
        needs: what the surface must offer.
        is_note: whether a failure is only told, given what the class promises.
        explained_by: rules whose habits, together, may make this one fail; the likeliest first.
    """

    number: int
    title: str
    repair: str
    cases: Callable[[Plan], Iterator[Case]]
    judge: Judge
    needs: tuple[str, ...] = ()
    is_note: Callable[[Plan], bool] = lambda plan: False
    explained_by: tuple[int, ...] = ()


def refusals(heard: Heard) -> Break | None:
    """Appends that raise and should not, or do not and should, or fail by a mistake of their own.

    An append that does not fit for what it is may well fail by Python's own errors of types and
    indices; one that lacks room, by none of them.
    """
    for at, call, answer, expected in heard.steps():
        if not isinstance(call, Append) and getattr(call, "call", "") != "truncate":
            continue
        if answer.is_last:
            return Break(at, "refusal", AN_ANSWER, raised_words(answer))
        if expected.refused is None or answer.was_refused == expected.refused:
            if expected.refused and _is_mistake(heard, call, answer):
                return Break(at, "refusal", A_REASON, raised_words(answer))
            continue
        should = "refused" if expected.refused else "accepted"
        return Break(at, "refusal", should, raised_words(answer) if answer.error else "accepted")
    return None


def _is_mistake(heard: Heard, call: Call, answer: Answer) -> bool:
    if not answer.is_mistake or answer.error is None:
        return False
    is_misfit = isinstance(call, Append) and not fits(call, heard.case.sizes)
    return answer.error[0] in NAME_ERRORS or not is_misfit


def contents(heard: Heard) -> Break | None:
    """Rows that are not those that were appended, in their order."""
    for at, call, answer, expected in heard.steps():
        if expected.tokens is None or answer.was_refused:
            if getattr(call, "call", "") == "read" and answer.was_refused:
                return Break(at, "contents", _of(expected), raised_words(answer))
            continue
        view = heard.view(answer, call.layer)
        if view is None:
            continue
        if view.odd_shape is not None:
            return Break(at, "shape", _of(expected), view.odd_shape)
        if not _shows(view, expected, is_whole=heard.plan.is_whole):
            return Break(at, "contents", _of(expected), view.words())
    return None


def counts(heard: Heard) -> Break | None:
    """More rows than were appended; of no matter where whole buffers are promised."""
    if heard.plan.is_whole:
        return None
    for at, call, answer, expected in heard.steps():
        if expected.tokens is None:
            continue
        view = heard.view(answer, call.layer)
        if view is None or view.odd_shape is not None:
            continue
        most = len(expected.tokens) + len(expected.older)
        for names in (view.keys, view.values):
            if len(names) > most:
                n, m = len(expected.tokens), len(names)
                return Break(at, "count", f"{n} row{'s' * (n != 1)}", f"{m} rows: {listed(names)}")
    return None


def first_rows(heard: Heard) -> Break | None:
    """The rows that were appended are not the first ones, in order; more may follow (rule 4)."""
    for at, call, answer, expected in heard.steps():
        if expected.tokens is None or answer.was_refused:
            continue
        view = heard.view(answer, call.layer)
        if view is None:
            continue
        if view.odd_shape is not None:
            return Break(at, "shape", _of(expected), view.odd_shape)
        n = len(expected.tokens)
        for names in (view.keys, view.values):
            shown = [expected.shown_with(m) for m in range(len(expected.older) + 1)]
            if not any(names[: len(tokens)] == tokens for tokens in shown):
                return Break(at, "contents", _of(expected), view.words())
        if any(other[0][:n] != view.keys[:n] for other in view.others):
            return Break(at, "contents", _of(expected), "another sequence of the batch differs")
    return None


def lengths(heard: Heard) -> Break | None:
    """Numbers that are not what they count."""
    for at, call, answer, expected in heard.steps():
        if expected.number is None or not isinstance(call, Ask):
            continue
        name = call.call
        wanted = expected.number
        if answer.was_refused:
            return Break(at, name, str(wanted), raised_words(answer))
        if answer.number is not None and answer.number != wanted:
            return Break(at, name, str(wanted), str(answer.number))
    return None


def one_of(*judges: Judge) -> Judge:
    """The first of several that finds something."""

    def judge(heard: Heard) -> Break | None:
        return next((found for j in judges if (found := j(heard)) is not None), None)

    return judge


exactly = one_of(refusals, contents)
"""Accepted or refused as it should be, and read exactly."""

first_ones = one_of(refusals, first_rows)
"""The same, of the rows that were appended; more may follow."""

whole_state = one_of(refusals, lengths, counts, first_rows)
"""The same, with every number and no row too many."""


def _shows(view: View, expected: Expected, *, is_whole: bool) -> bool:
    fits = [expected.shown_with(n) for n in range(len(expected.older) + 1)]
    if is_whole:
        return any(view.keys[: len(f)] == f and view.values[: len(f)] == f for f in fits)
    return view.agrees and view.keys in fits


def _of(expected: Expected) -> str:
    return listed(expected.tokens or ())


def raised_words(answer: Answer) -> str:
    """What a call raised, and where, if that was a mistake."""
    if answer.error is None:
        return "accepted"
    kind, message = answer.error
    where = f" ({answer.where})" if answer.is_mistake and answer.where else ""
    return (f"{kind}: {message}" if message else kind) + where
