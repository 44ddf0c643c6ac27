"""Orders what could have gone wrong, and says it with its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.diagnose.account import Call, Run, run_of
from core.diagnose.admission import ADMISSION, ROOM
from core.diagnose.aspect import Answers, Aspect, Hypothesis
from core.diagnose.finding import Diagnosis, Place, Rival
from core.diagnose.kept import RETAINED, TAKEN_BACK, TOLD
from core.diagnose.numbers import CHANGED_KEYS, ENTRY, HEADS, KINDS
from core.diagnose.positions import PAST, POSITIONS, SHIFTS
from core.diagnose.rows import ROWS
from core.diagnose.sight import MASKS, READABLE, VIEWS
from core.diagnose.words import UNKNOWN, WORDS
from core.record import StepRecord
from core.verdict import StepVerdict

ASPECTS: tuple[Aspect, ...] = (
    ROOM,
    ADMISSION,
    TAKEN_BACK,
    PAST,
    POSITIONS,
    SHIFTS,
    VIEWS,
    READABLE,
    MASKS,
    KINDS,
    ROWS,
    CHANGED_KEYS,
    HEADS,
    ENTRY,
    RETAINED,
    TOLD,
)
"""In the order in which a step asks them."""

FOLLOWS: tuple[tuple[Aspect, tuple[Aspect, ...]], ...] = ((ROWS, (TAKEN_BACK,)),)
"""Decisions that are answered wrongly as soon as one of others was: a row that should have been
taken back is nobody's."""

REACH = 200
"""Steps after the first wrong one that are looked at, unless more are asked for."""
_BEFORE = 8
_LEAST_SHARE = 0.5
"""A mechanism is named only if it gives at least this share of the wrong answers."""
_MOST_RIVALS = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """How well a wrong rule explains what an aspect answered.

    Attributes:
        preset_like: the rule.
        share: of the wrong answers, how many are its own.
        n_against: right answers that it would have got wrong.
    """

    preset_like: str
    share: float
    n_against: int


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """An aspect that was answered wrongly, and the rules that explain it, best first.

    Attributes:
        odd: (place in focus, layer) of each wrong answer, in order.
        n_asked: steps in which the rule was asked, from the first wrong one on.
    """

    aspect: Aspect
    odd: tuple[tuple[int, int], ...]
    n_asked: int
    scored: tuple[_Scored, ...]

    @property
    def first(self) -> int:
        """The first wrong step, as a place in focus."""
        return self.odd[0][0]


def diagnose(
    records: Sequence[StepRecord], verdicts: Mapping[int, StepVerdict], reach: int = REACH
) -> tuple[Diagnosis, ...]:
    """What went wrong in a run; empty where no verdict is wrong.

    One diagnosis for each mechanism, in the order in which they first show.

    Args:
        records: of the run; those without a verdict, and all after them, are left out.
        verdicts: by step.
        reach: steps after the first wrong one that are looked at.
    """
    n = next((step for step in range(len(records)) if step not in verdicts), len(records))
    wrong = next((step for step in range(n) if verdicts[step].is_wrong), None)
    if wrong is None:
        return ()
    run = run_of(records, verdicts, max(0, wrong - _BEFORE), min(n, wrong + reach + 1))
    found = [_found(aspect, run) for aspect in ASPECTS]
    named = _causes([each for each in found if each is not None and each.scored])
    if not named:
        return (_unknown(verdicts[wrong]),)
    return tuple(_diagnosis(each, run, is_first=not i) for i, each in enumerate(named))


def _causes(named: Sequence[_Found]) -> list[_Found]:
    """Those that do not follow from another one, in the order in which they first show."""
    first = {id(each.aspect): each.first for each in named}
    causes = [
        each
        for each in named
        if not any(first.get(id(cause), each.first + 1) <= each.first for cause in _causes_of(each))
    ]
    sure = [each for each in causes if not each.aspect.is_last_resort]
    return sorted(sure or causes, key=lambda each: each.first)


def _causes_of(found: _Found) -> tuple[Aspect, ...]:
    return next((causes for effect, causes in FOLLOWS if effect is found.aspect), ())


def _found(aspect: Aspect, run: Run) -> _Found | None:
    observed, right = aspect.observed(run), aspect.right(run)
    odd = tuple(
        (place, layer)
        for place, (is_now, should_be) in enumerate(zip(observed, right, strict=True))
        if is_now is not None and should_be is not None
        for layer, (a, b) in enumerate(zip(is_now, should_be, strict=True))
        if a != b
    )
    if not odd:
        return None
    asked = [place for place, answers in enumerate(observed) if answers is not None]
    scored = [_scored(each, run, observed, right, odd) for each in aspect.hypotheses]
    good = [each for each in scored if each.share >= _LEAST_SHARE]
    good.sort(key=lambda each: (-each.share, each.n_against))
    return _Found(aspect, odd, sum(place >= odd[0][0] for place in asked), tuple(good))


def _scored(
    hypothesis: Hypothesis,
    run: Run,
    observed: Sequence[Answers],
    right: Sequence[Answers],
    odd: Sequence[tuple[int, int]],
) -> _Scored:
    predicted = hypothesis.predicts(run)
    wrong, n_hits, n_against = set(odd), 0, 0
    for place, (is_now, should_be) in enumerate(zip(observed, right, strict=True)):
        if is_now is None or should_be is None:
            continue
        would_be = predicted[place] or should_be
        for layer, (a, b) in enumerate(zip(is_now, would_be, strict=True)):
            if (place, layer) in wrong:
                n_hits += a == b
            else:
                n_against += a != b
    return _Scored(hypothesis.preset_like, n_hits / len(odd), n_against)


def _diagnosis(found: _Found, run: Run, *, is_first: bool) -> Diagnosis:
    best = found.scored[0].preset_like
    words = WORDS[best]
    place, layer = found.odd[0]
    return Diagnosis(
        mechanism=words.mechanism,
        preset_like=best,
        where=_where(found, run, is_first=is_first),
        evidence=(
            f"step {run.focus[place].record.step}: "
            f"{found.aspect.evidence(run.focus[place], layer)}; {_how_often(found, run)}",
            words.pattern,
            *_in_the_logits(run),
        ),
        rivals=_rivals(found),
    )


def _where(found: _Found, run: Run, *, is_first: bool) -> Place:
    """The first wrong step in which the aspect was answered wrongly, or the first after it."""
    place, layer = found.odd[0]
    wrong = next((call for call in run.focus[place:] if call.verdict.is_wrong), run.focus[place])
    difference = wrong.verdict.first_difference
    if is_first and difference is not None:
        return Place(wrong.record.step, difference.layer, difference.head, difference.field)
    own_layer = layer if found.aspect.is_per_layer else None
    return Place(wrong.record.step, own_layer, None, found.aspect.field)


def _how_often(found: _Found, run: Run) -> str:
    """In which steps the rule was answered wrongly."""
    places = sorted({place for place, _ in found.odd})
    calls: list[Call] = [run.focus[place] for place in places]
    first = calls[0].record.step
    if len(places) == 1:
        return "in this step alone" if found.n_asked > 1 else "no later step asks it"
    decodes = [c for c in run.focus[places[0] :] if c.record.phase == "decode" and c.is_accepted]
    odd_steps = {call.record.step for call in calls}
    if decodes and all(call.record.step in odd_steps for call in decodes):
        return f"every decode step since step {first}"
    return f"in {len(places)} of {found.n_asked} steps since step {first}"


def _in_the_logits(run: Run) -> tuple[str, ...]:
    for call in run.focus:
        logits = call.verdict.logits
        if logits is not None and logits.standing == "wrong":
            return (f"logits are wrong from step {call.record.step}, {_error(call)}",)
    return ("logits are never wrong in these steps",)


def _error(call: Call) -> str:
    logits = call.verdict.logits
    is_finite = logits is not None and logits.max_abs_error < float("inf")
    return f"by {logits.max_abs_error:.3g}" if logits and is_finite else "not finite"


def _rivals(found: _Found) -> tuple[Rival, ...]:
    """First what explains the wrong answers as well, then what is easily taken for it."""
    best = found.scored[0]
    equals = [each.preset_like for each in found.scored[1:] if each.share == best.share]
    like = WORDS[best.preset_like].like
    ids: list[str] = []
    for each in (*equals, *(() if like is None else (like,))):
        if each != best.preset_like and each not in ids:
            ids.append(each)
    return tuple(Rival(each, WORDS[each].apart) for each in ids[:_MOST_RIVALS])


def _unknown(verdict: StepVerdict) -> Diagnosis:
    difference = verdict.first_difference
    if difference is None:
        where = Place(verdict.step, None, None, None)
    else:
        where = Place(verdict.step, difference.layer, difference.head, difference.field)
    wrong = [name for name in ("policy", "mechanism") if getattr(verdict, name) == "wrong"]
    if verdict.logits is not None and verdict.logits.standing == "wrong":
        wrong.append("logits")
    field = "no recorded field" if where.field is None else where.field.replace("_", " ")
    return Diagnosis(
        UNKNOWN, None, where, (f"step {verdict.step}: {', '.join(wrong)} wrong; {field} differs",)
    )
