"""Orders what could have gone wrong, and says it with its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.diagnose.account import Call, Run, run_of
from core.diagnose.admission import ADMISSION, ROOM
from core.diagnose.aspect import Answers, Aspect, Hypothesis
from core.diagnose.finding import Diagnosis, Place, Rival
from core.diagnose.kept import RETAINED, TAKEN_BACK, TOLD
from core.diagnose.narrow import KINDS
from core.diagnose.needs import can_act
from core.diagnose.numbers import CHANGED_KEYS, ENTRY, HEADS
from core.diagnose.positions import LIMIT, PAST, POSITIONS, SHIFTS
from core.diagnose.rows import ROWS
from core.diagnose.sight import MASKS, READABLE, VIEWS
from core.diagnose.words import UNDECIDED, UNKNOWN, WORDS
from core.record import StepRecord
from core.verdict import StepVerdict

ASPECTS: tuple[Aspect, ...] = (
    ROOM,
    ADMISSION,
    TAKEN_BACK,
    PAST,
    POSITIONS,
    LIMIT,
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

FOLLOWS: tuple[tuple[Aspect, tuple[Aspect, ...]], ...] = (
    (ROWS, (TAKEN_BACK,)),
    (RETAINED, (ADMISSION,)),
)
"""Decisions that are answered wrongly as soon as one of others was: a row that should have been
taken back is nobody's, and one that should have been refused is one too many."""

REACH = 200
"""Steps after the first wrong one that are looked at, unless more are asked for."""
_BEFORE = 8
_MOST_RIVALS = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """An aspect that was answered wrongly, and the rules that explain it, best first.

    Attributes:
        odd: (place in focus, layer) of each wrong answer, in order.
        n_asked: steps in which the rule was asked, from the first wrong one on.
        fits: those that give all of the wrong answers, and are known by them.
        maybes: those that give them as well as other causes could.
    """

    aspect: Aspect
    odd: tuple[tuple[int, int], ...]
    n_asked: int
    fits: tuple[str, ...]
    maybes: tuple[str, ...]

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
    causes = _causes([each for each in found if each is not None])
    if not causes:
        return (_unknown(verdicts[wrong]),)
    return tuple(_diagnosis(each, run, is_first=not i) for i, each in enumerate(causes))


def _causes(found: Sequence[_Found]) -> list[_Found]:
    """Those that do not follow from another one, in the order in which they first show.

    What no rule explains can be the cause of what comes after it, but hardly the second one.
    """
    first = {id(each.aspect): each.first for each in found}
    causes = [
        each
        for each in found
        if not any(first.get(id(cause), each.first + 1) <= each.first for cause in _causes_of(each))
    ]
    decided = [each for each in causes if not each.aspect.is_last_resort]
    ordered = sorted(decided or causes, key=lambda each: each.first)
    return [each for i, each in enumerate(ordered) if not i or each.fits]


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
    known = [(each, _n_against(each, run, observed, right, odd)) for each in aspect.hypotheses]
    ranked = sorted(((n, each) for each, n in known if n is not None), key=lambda pair: pair[0])
    sure = [each.preset_like for _, each in ranked if each.is_sure(run)]
    maybes = [each.preset_like for _, each in ranked if each.preset_like not in sure]
    n_asked = sum(place >= odd[0][0] for place in asked)
    return _Found(aspect, odd, n_asked, tuple(sure), tuple(maybes))


def _n_against(
    hypothesis: Hypothesis,
    run: Run,
    observed: Sequence[Answers],
    right: Sequence[Answers],
    odd: Sequence[tuple[int, int]],
) -> int | None:
    """Right answers that a wrong rule would have got wrong; None: it does not explain the run.

    It does if it gives every wrong answer, and from the first to the last of them, in the layers
    that have any, every right one too: a rule can be wrong in some steps and some layers only, but
    where it is it answers as it does.
    """
    predicted = hypothesis.predicts(run)
    wrong, layers = set(odd), {layer for _, layer in odd}
    acting = range(odd[0][0], odd[-1][0] + 1)
    n_against = 0
    for place, (is_now, should_be) in enumerate(zip(observed, right, strict=True)):
        if is_now is None or should_be is None:
            continue
        would_be = predicted[place] or should_be
        for layer, (a, b) in enumerate(zip(is_now, would_be, strict=True)):
            if a == b:
                continue
            if (place, layer) in wrong or (place in acting and layer in layers):
                return None
            n_against += 1
    return n_against


def _diagnosis(found: _Found, run: Run, *, is_first: bool) -> Diagnosis:
    best = found.fits[0] if found.fits else None
    words = None if best is None else WORDS[best]
    place, layer = found.odd[0]
    why_none = f"{' and '.join(found.maybes)} {UNDECIDED}" if found.maybes else UNKNOWN
    return Diagnosis(
        mechanism=f"{found.aspect.neutral}; {why_none}" if words is None else words.mechanism,
        preset_like=best,
        where=_where(found, run, is_first=is_first),
        evidence=(
            f"step {run.focus[place].record.step}: "
            f"{found.aspect.evidence(run, run.focus[place], layer)}; {_how_often(found, run)}"
            f"{_when(found, run)}{_how_far(run)}",
            *(() if words is None else (words.pattern,)),
            *(_in_the_logits(run) if is_first else ()),
        ),
        rivals=_rivals(found, run),
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
        return "in this step alone" if found.n_asked > 1 else "no other step decides this"
    since = run.focus[places[0] :]
    odd_steps = {call.record.step for call in calls}
    what = "step"
    if all(call.record.phase == "decode" for call in calls):
        what = "decode step"
        since = [call for call in since if call.record.phase == "decode" and call.is_accepted]
    if since and all(call.record.step in odd_steps for call in since):
        return f"every {what} since step {first}"
    if len(places) == found.n_asked:
        return f"every step since step {first} that asks it"
    return f"in {len(places)} of {found.n_asked} steps since step {first}"


def _how_far(run: Run) -> str:
    """Up to which step that was counted, where the run goes on."""
    last = run.focus[-1].record.step
    return f"; steps after {last} were not looked at" if len(run.calls) < len(run.records) else ""


def _when(found: _Found, run: Run) -> str:
    """In which steps the rule acted, where what it did is seen in later ones too."""
    named = [rule for rule in found.aspect.hypotheses if rule.preset_like in found.fits[:1]]
    acted = named[0].acted(run) if named else None
    if acted is None:
        return ""
    first, last = acted
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    return f"; {steps} alone wrote by this rule"


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


def _rivals(found: _Found, run: Run) -> tuple[Rival, ...]:
    """First what explains the wrong answers as well, then what is easily taken for it.

    What the run has not what it takes for is not taken for anything.
    """
    like = WORDS[found.fits[0]].like if found.fits else None
    ids = [*found.fits[1:], *found.maybes]
    if like is not None and like not in ids and can_act(like, run):
        ids.append(like)
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
