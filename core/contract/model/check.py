"""Cached decoding of a model against its own uncached forward, and what explains a difference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from core.contract.model.comparable import must_be_comparable, no_numbers
from core.contract.model.facts import About
from core.contract.model.finding import Finding, boxed
from core.contract.model.outcome import NO_ANSWER, Outcome, calls_of
from core.contract.model.reach import text_within_cache, text_within_reach
from core.contract.model.sessions import Session, Wish, sessions, vocabulary_of
from core.contract.model.subject import ModelSubject, Uncached
from core.contract.model.verdict import Bands, bands_of
from core.contract.model.why import findings_of
from core.contract.subject import NotDrivableError
from core.verdict import Standing

HARDLY = 10.0


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
            wish, text, last, lambda c: calls_of(subject, Session("", tuple(c), [text]))[-1]
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
        findings = findings_of(subject, outcomes, bands, vocabulary_of(subject.about, wish))
    notes = _notes(bands, uncached, outcomes)
    if not findings and uncached.nan_ids:
        notes.append(no_numbers(uncached))
    return Report(
        subject.about, tuple(text), bands, tuple(outcomes), tuple(findings), tuple(notes), uncached
    )


def _outcome(subject: ModelSubject, session: Session, bands: Bands) -> Outcome:
    calls = calls_of(subject, session)
    standings: tuple[Standing, ...] = tuple(bands.standing(call) for call in calls)
    last = calls[-1]
    is_batch = len(session.ids) > 1
    may_refuse = is_batch or (last.n > 1 and last.past > 0)
    if last.raised is not None and last.raised[0] != NO_ANSWER and may_refuse:
        why = f"{last.raised[0]}: {last.raised[1]}"
        return Outcome(session, calls[:-1], standings[:-1], why)
    return Outcome(session, calls, standings)


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
