"""Cached decoding of a model against its own uncached forward, and what explains a difference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.contract.model.diagnose import diagnose, from_probes, unexplained
from core.contract.model.facts import About, Call
from core.contract.model.finding import Finding, call_words
from core.contract.model.subject import FellError, Ids, ModelSubject, Uncached
from core.contract.model.verdict import Bands, bands_of
from core.contract.subject import NotDrivableError
from core.verdict import Standing

N_PROMPT, N_STEPS = 5, 8
_SEED = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for.

    Attributes:
        vocabulary: token ids that the model knows; None: ask the model.
        prompt: token ids of the prompt; empty: drawn at random.
        n_steps: tokens decoded after it.
    """

    vocabulary: int | None = None
    prompt: tuple[int, ...] = ()
    n_steps: int = N_STEPS


@dataclass(frozen=True, slots=True)
class Session:
    """A way to read the text.

    Attributes:
        words: what it is called.
        chunks: tokens of each call.
        ids: [B, N] texts.
        before: texts that the same model reads first; None: none.
    """

    words: str
    chunks: tuple[int, ...]
    ids: Ids
    before: Ids | None = None


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


def check_model(
    subject: ModelSubject, wish: Wish, at: Callable[[], None] | None = None
) -> Report:
    """Read a text in every way, and explain the first way that is wrong.

    Args:
        subject: the model.
        wish: what was asked for.
        at: told after each session.

    Raises:
        NotDrivableError: nothing can be compared.
    """
    text = _text(subject.about, wish)
    uncached = subject.uncached([text])
    if uncached.largest == 0:
        raise NotDrivableError(
            "every logit is 0, so nothing can be compared; give the model weights, such as random "
            "ones for its head"
        )
    bands = bands_of(subject.about, uncached)
    outcomes: list[Outcome] = []
    for session in _sessions(subject.about, wish, text, uncached):
        outcomes.append(_outcome(subject, session, bands))
        if at is not None:
            at()
        if outcomes[-1].calls and outcomes[-1].calls[-1].raised is not None and len(outcomes) == 1:
            break  # the plainest way fails
    findings = _findings(subject, outcomes, bands, _vocabulary(subject.about, wish))
    notes = _notes(bands, uncached, outcomes)
    return Report(
        subject.about, tuple(text), bands, tuple(outcomes), tuple(findings), tuple(notes), uncached
    )


def _vocabulary(about: About, wish: Wish) -> int:
    found = wish.vocabulary or about.vocabulary
    if found is None:
        raise NotDrivableError(
            f"{about.model} does not say how many token ids it knows; give --vocab N"
        )
    return found


def _text(about: About, wish: Wish) -> list[int]:
    """The prompt and random tokens after it, no token twice where there are enough."""
    vocabulary = _vocabulary(about, wish)
    unknown = [token for token in wish.prompt if not 0 <= token < vocabulary]
    if unknown:
        raise NotDrivableError(
            f"--prompt-ids names token {unknown[0]}, and the model knows 0 to {vocabulary - 1}"
        )
    n_prompt = len(wish.prompt) or min(N_PROMPT, (about.context or N_PROMPT + 1) - 1)
    n = n_prompt + wish.n_steps
    if about.context is not None:
        n = min(n, about.context)
    if n <= n_prompt or n_prompt < 1:
        raise NotDrivableError(
            f"a prompt of {n_prompt} tokens leaves no room to decode: the model reads "
            f"{about.context}; give fewer --prompt-ids"
        )
    rng = np.random.default_rng(_SEED)
    left = [int(t) for t in rng.permutation(vocabulary) if t not in wish.prompt]
    while len(left) < n:
        left += [int(t) for t in rng.permutation(vocabulary)]
    return [*wish.prompt, *left[: n - len(wish.prompt)]]


def _sessions(about: About, wish: Wish, text: list[int], uncached: Uncached) -> list[Session]:
    n, first = len(text), len(wish.prompt) or min(N_PROMPT, len(text) - 1)
    found = [
        Session(f"prefill of {p}, then single tokens", _chunks(n, p, 1), [text])
        for p in dict.fromkeys((first, 2, 1))
        if p < n
    ]
    found += [
        Session(f"prefill of {first}, then {c} at a time", _chunks(n, first, c), [text])
        for c in (2, 3)
        if first + c <= n
    ]
    halves = max(1, first // 2)
    if first > 1:
        chunks = (halves, first - halves, *[1] * (n - first))
        words = f"prompt in chunks of {halves} and {first - halves}, then single tokens"
        found.append(Session(words, chunks, [text]))
    back = text[::-1]
    found.append(Session("a second text on the same model", _chunks(n, first, 1), [text], [back]))
    found.append(Session("two texts in one batch", _chunks(n, first, 1), [text, back]))
    return found


def _chunks(n: int, first: int, size: int) -> tuple[int, ...]:
    """The first call, then calls of one size, the last of what is left."""
    left = n - first
    chunks = [first, *[size] * (left // size)]
    return (*chunks, left % size) if left % size else tuple(chunks)


def _outcome(subject: ModelSubject, session: Session, bands: Bands) -> Outcome:
    calls = _calls(subject, session)
    standings = tuple(bands.standing(call) for call in calls)
    last = calls[-1]
    is_batch = len(session.ids) > 1
    if last.raised is not None and (is_batch or (last.n > 1 and last.past)):
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
        calls.append(Call(past, session.chunks[at], raised=("no answer", str(error))))
    return tuple(calls)


def _findings(
    subject: ModelSubject, outcomes: Sequence[Outcome], bands: Bands, vocabulary: int
) -> list[Finding]:
    """Of the first session that is wrong; the others are told in its evidence."""
    wrong = [one for one in outcomes if one.first_wrong is not None]
    if not wrong:
        return []
    outcome = wrong[0]
    found = _of(subject, outcome, bands, vocabulary)
    others = [one.session.words for one in wrong[1:]]
    right = [one.session.words for one in outcomes if one.standing != "wrong" and one.calls]
    words = f"black box: {_numbers(outcome, bands)}"
    where = f"black box: wrong in {'; '.join([outcome.session.words, *others])}"
    if right:
        where += f"; not in {'; '.join(right)}"
    return [replace(one, evidence=(*_marked(one), words, where)) for one in found]


def _marked(finding: Finding) -> tuple[str, ...]:
    """The evidence, each with what it rests on."""
    return tuple(f"{finding.basis}: {words}" for words in finding.evidence)


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
    subject: ModelSubject, outcome: Outcome, bands: Bands, vocabulary: int
) -> list[Finding]:
    at = outcome.first_wrong
    assert at is not None  # noqa: S101  (it is a wrong one)
    raised = outcome.calls[at].raised
    if raised is not None:
        words = f"call with {call_words(outcome.calls[at])}: {raised[0]}: {raised[1]}"
        mechanism = "a cached call fails"
        return [Finding(mechanism, None, "black box", at, None, (words,))]
    calls = _calls(subject, outcome.session, watch=True)
    found = diagnose(calls, at, subject.about.key_heads) if len(calls) > at else []
    if found:
        return found
    if len(outcome.session.ids) > 1:
        return [_of_batch(outcome, at)]
    probe = subject.probe(
        outcome.session.ids, outcome.session.chunks, at, spare=vocabulary // 2, band=bands.right
    )
    boxed = from_probes(outcome.calls[at], at, probe)
    plain = unexplained(calls, at) if len(calls) > at else None
    if plain is None:
        return [boxed]
    return [replace(boxed, evidence=(*boxed.evidence, *plain.evidence))]


def _of_batch(outcome: Outcome, at: int) -> Finding:
    words = f"call with {call_words(outcome.calls[at])}: alone each text is right, together not"
    return Finding(
        "sequences of a batch touch each other", None, "black box", at, None, (words,)
    )


def _notes(bands: Bands, uncached: Uncached, outcomes: Sequence[Outcome]) -> list[str]:
    notes = [f"thresholds: {bands.words}"]
    if uncached.spread > bands.wrong:
        notes.append(
            f"without a cache, later tokens change the logits of earlier ones (by up to "
            f"{uncached.spread:.2g}): the model is not causal, or its positions hang on the length"
        )
    notes += [
        f"not taken: {one.session.words} ({one.refused})" for one in outcomes if one.refused
    ]
    return notes
