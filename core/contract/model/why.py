"""Why a session is wrong: what was seen of it, and, where nothing was, what probes tell."""

from collections.abc import Sequence
from dataclasses import replace

from core.contract.model.diagnose import diagnose, of_second_text, unexplained
from core.contract.model.facts import Call
from core.contract.model.finding import Finding, boxed, call_words
from core.contract.model.order import kept_order_words, kept_orders
from core.contract.model.outcome import Outcome, calls_of
from core.contract.model.positions import position_finding
from core.contract.model.probed import (
    Probe,
    position_from_probes,
    probe_of,
    sight_from_probes,
    unknown,
)
from core.contract.model.subject import ModelSubject
from core.contract.model.verdict import Bands

N_LONGEST = 12
N_PROBES = 4
"""Calls at which a hypothesis is looked at, where the model shows nothing of its inside."""


def findings_of(
    subject: ModelSubject, outcomes: Sequence[Outcome], bands: Bands, vocabulary: int
) -> list[Finding]:
    """Why the first session that is wrong is so; the others are told in its evidence."""
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
    calls = calls_of(subject, outcome.session, watch=True)
    also = () if plain is None else calls_of(subject, plain.session, watch=True)
    found = diagnose(calls, at, subject.about.key_heads, also) if len(calls) > at else []
    if outcome.session.before is not None:
        return [of_second_text(outcome.calls[at], at, found)]
    is_seen = any(call.attentions for call in calls)
    if found and is_seen:
        return found
    if len(outcome.session.ids) > 1:
        return found or [_of_batch(outcome, at)]
    if not is_seen and len(calls) > at:
        calls = _with_kept(subject, outcome, calls)
    probes = _probes(subject, wrong, bands, vocabulary)
    return found_by_probes(calls, at, subject.about.key_heads, found, probes)


def found_by_probes(
    calls: Sequence[Call],
    at: int,
    key_heads: int | None,
    found: Sequence[Finding],
    probes: Sequence[Probe],
) -> list[Finding]:
    """Positions and whom tokens see, from outside the model; a difference without a reason else.

    Args:
        calls: of the session that is wrong, with what they kept, where nothing else was seen.
        at: its first wrong call.
        key_heads: heads of keys; None: not known.
        found: what was seen to be wrong: positions, at most.
        probes: of this call, and of others.
    """
    position = next(iter(found), None) or position_finding(calls, key_heads)
    if position is None or position.call > at:
        position = position_from_probes(at, probes)
    sight = sight_from_probes(at, probes, kept_orders(calls), kept_order_words(calls))
    named = [one for one in (position, sight) if one is not None]
    looked = unexplained(calls, at) if len(calls) > at else None
    if not named:
        named = [unknown(at, probes)]
    return named if looked is None else [named[0].with_more(looked), *named[1:]]


def _with_kept(subject: ModelSubject, outcome: Outcome, calls: Sequence[Call]) -> tuple[Call, ...]:
    """With what the rows tell that the model keeps."""
    kept = subject.kept(outcome.session.ids, outcome.session.chunks)
    return tuple(
        replace(call, kept=kept[i] if i < len(kept) else None) for i, call in enumerate(calls)
    )


def _probes(
    subject: ModelSubject, wrong: Sequence[Outcome], bands: Bands, vocabulary: int
) -> list[Probe]:
    """The first wrong call, the last one of its session, and the first one of other sessions."""
    wanted = [(wrong[0], wrong[0].first_wrong or 0)]
    last = len(wrong[0].calls) - 1
    if last != wanted[0][1] and wrong[0].standings[last] == "wrong":
        wanted.append((wrong[0], last))
    for one in wrong[1:]:
        is_plain = one.session.before is None and len(one.session.ids) == 1
        if is_plain and len(wanted) < N_PROBES:
            wanted.append((one, one.first_wrong or 0))
    asked = [
        (one.session.ids, one.session.chunks[: at + 1], one.calls[at])
        for one, at in wanted
        if one.calls[at].raised is None
    ]
    ids = wrong[0].session.ids
    if any(call.n > 1 and call.past for _, _, call in asked):
        n = min(len(ids[0]), N_LONGEST)
        asked.append((ids, (1, n - 1), Call(1, n - 1)))  # few that are seen by others that are
    return [
        probe_of(
            call,
            chunks,
            subject.probe(text, chunks, len(chunks) - 1, spare=vocabulary // 2, band=bands.right),
        )
        for text, chunks, call in asked
    ]


def _of_batch(outcome: Outcome, at: int) -> Finding:
    words = f"call with {call_words(outcome.calls[at])}: alone each text is right, together not"
    return boxed("sequences of a batch touch each other", at, words)
