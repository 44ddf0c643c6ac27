"""Cached decoding of a model against its own uncached forward, and what explains a difference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.contract.model.comparable import must_be_comparable, no_numbers
from core.contract.model.diagnose import diagnose, from_probes, of_second_text, unexplained
from core.contract.model.facts import About, Call
from core.contract.model.finding import Finding, boxed, call_words
from core.contract.model.reach import text_within_cache, text_within_reach
from core.contract.model.sessions import Session, Wish, sessions, vocabulary_of
from core.contract.model.subject import FellError, ModelSubject, Uncached
from core.contract.model.verdict import Bands, bands_of
from core.contract.subject import NotDrivableError
from core.verdict import Standing

NO_ANSWER = "no answer"
HARDLY = 10.0
N_PROBES = 4
"""Calls at which a hypothesis is looked at, where the model shows nothing of its inside."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a session.

    Attributes:
        session: which.
        calls: up to the first that raised.
        standings: one per call.
        refused: why calls of several tokens after others are not taken; empty: they are.
    """

    session: Session
    calls: tuple[Call, ...]
    standings: tuple[Standing, ...]
    refused: str = ""

    @property
    def first_wrong(self) -> int | None:
        """The first call that is wrong; None: none is."""
        return next((i for i, one in enumerate(self.standings) if one == "wrong"), None)

    @property
    def standing(self) -> Standing:
        """The worst of its calls."""
        found = set(self.standings)
        return "wrong" if "wrong" in found else "rounding" if "rounding" in found else "right"


@dataclass(frozen=True, slots=True)
class Report:
    """All that a check found.

    Attributes:
        about: the model.
        ids: the text that it read.
        bands: the thresholds.
        outcomes: one per session.
        findings: why sessions are wrong.
        notes: what else is to be known.
    """

    about: About
    ids: tuple[int, ...]
    bands: Bands
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    uncached: Uncached


def check_model_of(
    subject: ModelSubject, wish: Wish, at: Callable[[], None] | None = None
) -> Report:
    """Read a text in every way, and explain the first way that is wrong.

    A model of a 16-bit type with nothing wrong is read again in float32: what its own type leaves
    room for as rounding may still be a fault.

    Args:
        subject: the model.
        wish: what was asked for.
        at: told after each session.

    Raises:
        NotDrivableError: nothing can be compared.
    """
    report = _checked(subject, wish, at)
    dtype, source = report.about.dtype, subject.source
    if report.findings or dtype not in ("float16", "bfloat16"):
        return report
    try:
        subject.turn_to(replace(source, is_widened=True))
        wide = _checked(subject, wish, None)
    except NotDrivableError as error:
        return replace(report, notes=(*report.notes, f"not read again in float32: {error}"))
    if any(call.raised for one in wide.outcomes for call in one.calls):
        note = "not read again in float32: a call fails in it"
        return replace(report, notes=(*report.notes, note))
    note = f"in {dtype} itself nothing is wrong (above {report.bands.wrong:.2g}); read in float32"
    return replace(wide, notes=(*wide.notes, note))


def _checked(subject: ModelSubject, wish: Wish, at: Callable[[], None] | None) -> Report:
    """A report of as much text as the model and its cache take."""
    text, short = text_within_reach(subject, wish)
    report = _read(subject, wish, text, at)
    last = report.outcomes[0].calls[-1]
    if last.is_refused:
        cut = text_within_cache(
            wish, text, last, lambda c: _calls(subject, Session("", tuple(c), [text]))[-1]
        )
        if cut is not None:
            text, short = cut
            report = _read(subject, wish, text, at)
    return replace(report, notes=(*short, *report.notes))


def _read(
    subject: ModelSubject, wish: Wish, text: list[int], at: Callable[[], None] | None
) -> Report:
    uncached = subject.uncached([text], with_numbers=wish.with_numbers)
    bands = bands_of(subject.about, uncached)
    must_be_comparable(uncached, bands)
    outcomes: list[Outcome] = []
    for session in sessions(wish, text):
        outcomes.append(_outcome(subject, session, bands))
        if at is not None:
            at()
        if outcomes[-1].calls and outcomes[-1].calls[-1].raised is not None and len(outcomes) == 1:
            break  # the plainest way fails
    if uncached.spread > bands.wrong:
        findings = [_of_no_cause(uncached, bands)]
    else:
        findings = _findings(subject, outcomes, bands, vocabulary_of(subject.about, wish))
    notes = _notes(bands, uncached, outcomes)
    if not findings and uncached.nan_ids:
        notes.append(no_numbers(uncached))
    return Report(
        subject.about, tuple(text), bands, tuple(outcomes), tuple(findings), tuple(notes), uncached
    )


def _outcome(subject: ModelSubject, session: Session, bands: Bands) -> Outcome:
    calls = _calls(subject, session)
    standings: tuple[Standing, ...] = tuple(bands.standing(call) for call in calls)
    last = calls[-1]
    is_batch = len(session.ids) > 1
    may_refuse = is_batch or (last.n > 1 and last.past > 0)
    if last.raised is not None and last.raised[0] != NO_ANSWER and may_refuse:
        why = f"{last.raised[0]}: {last.raised[1]}"
        return Outcome(session, calls[:-1], standings[:-1], why)
    return Outcome(session, calls, standings)


def _calls(subject: ModelSubject, session: Session, *, watch: bool = False) -> tuple[Call, ...]:
    """The calls of a session; where one hangs or ends the process, that is what it raised."""
    calls: list[Call] = []
    try:
        calls.extend(
            subject.decode(session.ids, session.chunks, watch=watch, before=session.before)
        )
    except FellError as error:
        past, at = sum(session.chunks[: len(calls)]), len(calls)
        calls.append(Call(past, session.chunks[at], raised=(NO_ANSWER, str(error))))
    except NotDrivableError as error:
        if len(session.ids) == 1:
            raise
        calls.append(Call(0, session.chunks[0], raised=("without a cache", str(error))))
    return tuple(calls)


def _findings(
    subject: ModelSubject, outcomes: Sequence[Outcome], bands: Bands, vocabulary: int
) -> list[Finding]:
    """Of the first session that is wrong; the others are told in its evidence."""
    wrong = [one for one in outcomes if one.first_wrong is not None]
    if not wrong:
        return []
    outcome = wrong[0]
    plain = outcomes[0] if outcome is not outcomes[0] else None
    found = _of(subject, wrong, plain, bands, vocabulary)
    others = [one.session.words for one in wrong[1:]]
    right = [one.session.words for one in outcomes if one.standing != "wrong" and one.calls]
    words = f"black box: {_numbers(outcome, bands)}"
    where = f"black box: wrong in {'; '.join([outcome.session.words, *others])}"
    if right:
        where += f"; not in {'; '.join(right)}"
    first = replace(found[0], evidence=(*found[0].evidence, words, where))
    return [first, *found[1:]]


def _numbers(outcome: Outcome, bands: Bands) -> str:
    at = outcome.first_wrong or 0
    call = outcome.calls[at]
    if call.raised is not None:
        return f"{outcome.session.words}: call {at} raises"
    error = "not a finite number" if call.error is None else f"{call.error:.3g}"
    return (
        f"{outcome.session.words}: call {at} ({call_words(call)}) has a largest logit error of "
        f"{error}, wrong above {bands.wrong:.2g}"
    )


def _of(
    subject: ModelSubject,
    wrong: Sequence[Outcome],
    plain: Outcome | None,
    bands: Bands,
    vocabulary: int,
) -> list[Finding]:
    """Of the first session that is wrong; black-box probes look at the other ones too."""
    outcome = wrong[0]
    at = outcome.first_wrong
    assert at is not None  # noqa: S101  (it is a wrong one)
    raised = outcome.calls[at].raised
    if raised is not None:
        words = f"call with {call_words(outcome.calls[at])}: {raised[0]}: {raised[1]}"
        return [boxed("a cached call fails", at, words)]
    calls = _calls(subject, outcome.session, watch=True)
    also = () if plain is None else _calls(subject, plain.session, watch=True)
    found = diagnose(calls, at, subject.about.key_heads, also) if len(calls) > at else []
    if outcome.session.before is not None:
        return [of_second_text(outcome.calls[at], at, found)]
    if found:
        return found
    if len(outcome.session.ids) > 1:
        return [_of_batch(outcome, at)]
    probed = from_probes(at, _probes(subject, wrong, bands, vocabulary))
    looked = unexplained(calls, at) if len(calls) > at else None
    return [probed] if looked is None else [probed.with_more(looked)]


def _probes(
    subject: ModelSubject, wrong: Sequence[Outcome], bands: Bands, vocabulary: int
) -> list[tuple[Call, dict[str, Any]]]:
    """The first wrong call, the last one of its session, and the first one of other sessions."""
    wanted = [(wrong[0], wrong[0].first_wrong or 0)]
    last = len(wrong[0].calls) - 1
    if last != wanted[0][1] and wrong[0].standings[last] == "wrong":
        wanted.append((wrong[0], last))
    for one in wrong[1:]:
        is_plain = one.session.before is None and len(one.session.ids) == 1
        if is_plain and len(wanted) < N_PROBES:
            wanted.append((one, one.first_wrong or 0))
    found: list[tuple[Call, dict[str, Any]]] = []
    for one, at in wanted:
        if one.calls[at].raised is None:
            session = one.session
            probe = subject.probe(
                session.ids, session.chunks, at, spare=vocabulary // 2, band=bands.right
            )
            found.append((one.calls[at], probe))
    return found


def _of_batch(outcome: Outcome, at: int) -> Finding:
    words = f"call with {call_words(outcome.calls[at])}: alone each text is right, together not"
    return boxed("sequences of a batch touch each other", at, words)


def _of_no_cause(uncached: Uncached, bands: Bands) -> Finding:
    """Of a model that no cache can equal; how it decodes with one is not explained then."""
    words = (
        f"forwards of two lengths give one token logits that differ by {uncached.spread:.2g}, "
        f"wrong above {bands.wrong:.2g}: there is no causal mask, or something hangs on the length"
    )
    return boxed("without a cache, later tokens change earlier logits", 0, words)


def _notes(bands: Bands, uncached: Uncached, outcomes: Sequence[Outcome]) -> list[str]:
    notes = [f"thresholds: {bands.words}"]
    if uncached.sway <= HARDLY * bands.wrong:
        notes.append(
            f"the logits hardly hang on earlier tokens (another one before the last moves them by "
            f"{uncached.sway:.2g}), so a fault of the cache may not show"
        )
    notes += [f"not taken: {one.session.words} ({one.refused})" for one in outcomes if one.refused]
    return notes
