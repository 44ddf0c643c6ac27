"""A failing sequence, call by call: what the class then holds, beside what a right one holds.

What it holds is inferred: the sequence up to a call is played on a new cache, which is then read.
So nothing that is read on the way can change what a later call finds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from core.contract.calls import Answer, Append, Ask, Call
from core.contract.ideal import Expected
from core.contract.plan import Plan
from core.contract.reading import Name, View
from core.contract.rule import AN_ANSWER, Break, Case
from core.contract.subject import GaveUpError, Subject

N_MORE = 256
"""Rows that are kept of those that are too many: they are all told in words."""


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of one layer after a call.

    Attributes:
        layer: which.
        keys, values: what the rows are that come back, slot by slot: a token's serial, or in words
            what stands in its place.
        right: the rows that a right cache gives back, beside these.
        odd: why nothing can be told of the rows; empty: it can.
        is_whole: whole buffers come back by promise, so only the first rows count.
    """

    layer: int
    keys: tuple[Name, ...] = ()
    values: tuple[Name, ...] = ()
    right: tuple[Name, ...] = ()
    odd: str = ""
    is_whole: bool = False

    @property
    def n_slots(self) -> int:
        """Slots in which there is something, found or right."""
        return max(len(self.keys), len(self.values), len(self.right))

    def is_off(self, slot: int) -> bool:
        """Whether a row is another one than it should be, or is one too many or too few."""
        if self.odd or (self.is_whole and slot >= len(self.right)):
            return False
        right = self.right[slot] if slot < len(self.right) else None
        return any(
            (names[slot] if slot < len(names) else None) != right
            for names in (self.keys, self.values)
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a sequence.

    Attributes:
        words: the call; the first is the making of the cache.
        kind: its name, such as append or read.
        expected, found: what it should give, and what it gave; both empty where it gives nothing.
        is_broken: whether this is the call in which the rule is broken.
        held: the rows of each layer after it.
        length, right_length: rows that the cache says it holds, and how many are right; None: that
            is not asked, or was not told.
        n_new: rows that the call added; 0 where it was refused.
        where: the line of the user's file in which the call raised, as the checker tells it; empty:
            it did not, or that is not known.
    """

    words: str
    kind: str
    expected: str = ""
    found: str = ""
    is_broken: bool = False
    held: tuple[Held, ...] = ()
    length: int | None = None
    right_length: int | None = None
    n_new: int = 0
    where: str = ""

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Self:
        """As `dataclasses.asdict` and JSON made it."""
        held = tuple(
            Held(**{name: _hashable(value) for name, value in one.items()}) for one in told["held"]
        )
        parts: dict[str, Any] = {**told, "held": held}
        return cls(**parts)


def steps_of(subject: Subject, plan: Plan, case: Case, broken: Break) -> tuple[Step, ...]:
    """The making of the cache and each call; up to where the class hangs, if it does.

    Args:
        subject: the class.
        plan: what is known of it.
        case: the sequence.
        broken: where it goes wrong.
    """
    observer = _Observer(subject, plan, case, broken)
    return tuple(observer.steps())


class _Observer:
    """Plays the beginnings of one sequence."""

    def __init__(self, subject: Subject, plan: Plan, case: Case, broken: Break) -> None:
        self._subject, self._plan, self._case, self._broken = subject, plan, case, broken
        self._words = case.words()
        self._broken_at = -1 if broken.at is None else broken.at
        self._layers = sorted({call.layer for call in case.calls if _has_layer(call)}) or [0]

    def steps(self) -> Iterator[Step]:
        """One after the other, as long as the class can be asked."""
        for at in range(-1, len(self._case.calls)):
            try:
                yield self._step(at)
            except GaveUpError:
                return

    def _step(self, at: int) -> Step:
        """After call `at`; -1: after the making of the cache."""
        call = None if at < 0 else self._case.calls[at]
        is_broken = at == self._broken_at
        kind = "new" if call is None else "append" if isinstance(call, Append) else call.call
        words = self._words[at + 1]
        if is_broken and self._broken.expected == AN_ANSWER:  # once more would cost as long
            broken = self._broken
            return Step(words, kind, broken.expected, broken.found, is_broken)
        expected, looks = self._looks(at)
        answers = self._subject.run(
            self._case.sizes, (*self._case.calls[: at + 1], *(look for look, _ in looks))
        )
        if len(answers) < at + 2:
            told, where = self._told(None, None, is_broken=is_broken), answers[-1].where
            return Step(words, kind, *told, is_broken, where=where)
        told = self._told(expected, answers[at + 1], is_broken=is_broken)
        seen = list(zip(looks, answers[at + 2 :], strict=False))
        numbers = [(a.number, e.number) for (look, e), a in seen if look.call == "length"]
        length, right_length = numbers[0] if numbers else (None, None)
        if not self._plan.offers("read_before") and answers[at + 1].was_refused:
            seen = []  # all there is to read is what adding rows gave back, and it gave nothing
        held = tuple(self._held(look.layer, e, a) for (look, e), a in seen if look.call == "read")
        where, is_added = answers[at + 1].where, not answers[at + 1].was_refused
        n_new = len(call.k.tokens) if isinstance(call, Append) and is_added else 0
        return Step(words, kind, *told, is_broken, held, length, right_length, n_new, where)

    def _looks(self, at: int) -> tuple[Expected | None, list[tuple[Ask, Expected]]]:
        """What call `at` should give; and what is then asked, with what that should give."""
        plan = self._plan
        ideal = plan.ideal(self._case.sizes)
        expected: Expected | None = None
        for call in self._case.calls[: at + 1]:
            expected = ideal.expected(call)
        asks: list[Ask] = []
        if plan.offers("length"):
            asks.append(Ask("length", layer=self._layers[0]))
        added = self._case.calls[at] if at >= 0 else None
        if plan.offers("read_before"):
            asks += [Ask("read", layer=layer) for layer in self._layers]
        elif isinstance(added, Append):
            asks.append(Ask("read", layer=added.layer))
        return expected, [(ask, ideal.expected(ask)) for ask in asks]

    def _told(
        self, expected: Expected | None, answer: Answer | None, *, is_broken: bool
    ) -> tuple[str, str]:
        if is_broken:
            return self._broken.expected, self._broken.found
        if answer is None:
            return "", ""
        if answer.error is not None:
            right = "" if expected is None or expected.refused is None else _ending(expected)
            return right, ": ".join(part for part in answer.error if part)
        if answer.number is not None and expected is not None and expected.number is not None:
            return str(expected.number), str(answer.number)
        if expected is not None and expected.refused is not None:
            return _ending(expected), "accepted"
        return "", ""

    def _held(self, layer: int, expected: Expected, answer: Answer) -> Held:
        right = tuple(expected.tokens or ())
        if answer.error is not None or answer.pair is None:
            why = ": ".join(answer.error) if answer.error is not None else "nothing came back"
            return Held(layer, right=right, odd=why, is_whole=self._plan.is_whole)
        view = self._plan.reader(self._case.sizes).view(answer.pair, layer)
        return _compared(layer, view, expected, is_whole=self._plan.is_whole)


def _compared(layer: int, view: View, expected: Expected, *, is_whole: bool) -> Held:
    """The rows beside those of the right readings that have as many, where one has."""
    if view.odd_shape is not None:
        right = tuple(expected.tokens or ())
        return Held(layer, right=right, odd=view.odd_shape, is_whole=is_whole)
    fits = [expected.shown_with(n) for n in range(len(expected.older) + 1)]
    right = next((fit for fit in fits if len(fit) == len(view.keys)), fits[0])
    n = len(right) + N_MORE
    return Held(layer, view.keys[:n], view.values[:n], right, is_whole=is_whole)


def _ending(expected: Expected) -> str:
    return "refused" if expected.refused else "accepted"


def _has_layer(call: Call) -> bool:
    return isinstance(call, Append) or call.call in ("read", "length")


def _hashable(value: object) -> Any:  # noqa: ANN401  (a field of some type)
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
