"""Whether the parts of a trace from elsewhere fit together, and what they tell."""

from collections.abc import Iterator, Sequence

import numpy as np

from core.arrays import ABSENT, IntArray
from core.contract.model.verdict import EPS
from core.errors import TraceError
from core.foreign.file import ForeignFile, shown
from core.foreign.trace import ForeignTrace

WITHOUT = {
    "n_tokens": "taken: the last calls read one token each, the first one all before",
    "position_ids": "nothing is said of positions",
    "cache_length": "nothing is said of the cache's length",
    "reference": "no verdict on the logits (right, rounding, wrong)",
}
"""What a tensor that is not there means."""


def problems(trace: ForeignTrace) -> list[str]:
    """What does not fit, one line each; empty: all does."""
    n, n_calls = len(trace.token_ids), trace.n_calls
    vocabulary = trace.logits.shape[1]
    if not n or not trace.logits.size:
        shape = list(trace.logits.shape)
        return [f"token_ids has {n} tokens, logits the shape {shape}; give one call at least"]
    return [*_of_lengths(trace, n, n_calls), *_of_values(trace, vocabulary)]


def _of_lengths(trace: ForeignTrace, n: int, n_calls: int) -> Iterator[str]:
    n_rows, counts = len(trace.logits), trace.n_tokens
    if n_calls != n_rows:
        yield f"n_tokens has {n_calls} numbers, logits {n_rows} rows; give one of each per call"
    elif n_rows > n:
        yield f"logits has {n_rows} rows for {n} tokens; give one row a call, each reads a token"
    elif counts.min() < 1:
        call = int(counts.argmin())
        yield f"n_tokens[{call}] is {counts[call]}; each call reads one token at least"
    elif sum(counts.tolist()) != n:
        yield f"n_tokens adds up to {sum(counts.tolist())}, token_ids has {n}; they must agree"
    for name, per, expected in (("position_ids", "token", n), ("cache_length", "call", n_rows)):
        column: IntArray | None = getattr(trace, name)
        if column is not None and len(column) != expected:
            yield f"{name} has {len(column)} numbers for {expected} {per}s; give one per {per}"
    if trace.reference is not None and trace.reference.shape != trace.logits.shape:
        shapes = [list(x.shape) for x in (trace.reference, trace.logits)]
        yield f"reference has the shape {shapes[0]}, logits {shapes[1]}; they must agree"


def _of_values(trace: ForeignTrace, vocabulary: int) -> Iterator[str]:
    ids = trace.token_ids
    outside = np.flatnonzero((ids < 0) | (ids >= vocabulary))
    if len(outside):
        token = int(outside[0])
        yield (
            f"token_ids[{token}] is {ids[token]}, outside the vocabulary: logits have "
            f"{vocabulary} columns, so ids go from 0 to {vocabulary - 1}"
        )
    for name in ("position_ids", "cache_length"):
        column: IntArray | None = getattr(trace, name)
        if column is not None and (column < ABSENT).any():
            place = int(np.flatnonzero(column < ABSENT)[0])
            yield f"{name}[{place}] is {column[place]}; give a number from 0 on, {ABSENT} for none"
    if trace.dtype not in EPS:
        yield f"dtype is {trace.dtype!r:.40}; how it rounds is known of {', '.join(EPS)}"


def checked(path: object, trace: ForeignTrace) -> ForeignTrace:
    """The trace itself.

    Raises:
        TraceError: its parts do not fit together.
    """
    found = problems(trace)
    if found:
        more = f" (and {len(found) - 1} more: kvscope validate)" if len(found) > 1 else ""
        raise TraceError(f"{path}: {found[0]}{more}")
    return trace


def account(file: ForeignFile) -> list[str]:
    """What a trace holds, lacks and tells, one line each; its parts fit together."""
    trace = file.trace
    engine = shown(trace.engine or "an engine that is not named")
    lines = [
        f"by {engine}, in {trace.dtype}: {len(trace.token_ids)} tokens in {trace.n_calls} calls, "
        f"{trace.logits.shape[1]} token ids",
        f"has {', '.join(file.has)}",
    ]
    lines += [f"no {name}: {words}" for name, words in WITHOUT.items() if name not in file.has]
    if file.unread:
        lines.append(f"not read: {', '.join(map(shown, file.unread))}")
    return [*lines, *facts(trace)]


def facts(trace: ForeignTrace) -> list[str]:
    """What the numbers of a trace tell, one line each."""
    return [
        *_positions(trace),
        *_lengths(trace),
        _choices(trace),
        *_not_finite(trace),
        verdict_words(trace),
    ]


def _call_of(trace: ForeignTrace, token: int) -> int:
    return int(np.searchsorted(np.array(trace.ends), token, side="right"))


def _positions(trace: ForeignTrace) -> Iterator[str]:
    given = trace.position_ids
    if given is None:
        return
    other = np.flatnonzero((given != np.arange(len(given))) & (given != ABSENT))
    n_given = int((given != ABSENT).sum())
    if not n_given:
        yield "position ids: none was given, so the model chose them"
    elif not len(other):
        yield f"position ids: the token index, in {_share(n_given, len(given), 'tokens')}"
    else:
        token = int(other[0])
        yield (
            f"position ids: not the token index first in call {_call_of(trace, token)}: token "
            f"{token} at position {given[token]} ({len(other)} of {n_given})"
        )


def _lengths(trace: ForeignTrace) -> Iterator[str]:
    told = trace.cache_length
    if told is None:
        return
    ends = np.array(trace.ends)
    other = np.flatnonzero((told != ends) & (told != ABSENT))
    n_told = int((told != ABSENT).sum())
    if not n_told:
        yield "cache length: the cache does not say"
    elif not len(other):
        yield f"cache length: the tokens read so far, in {_share(n_told, len(told), 'calls')}"
    else:
        call = int(other[0])
        yield (
            f"cache length: not the tokens read so far first in call {call}: {told[call]}, where "
            f"{ends[call]} were read ({len(other)} of {n_told})"
        )


def _choices(trace: ForeignTrace) -> str:
    """How many of the tokens read next were those of the largest logit."""
    followed = trace.token_ids[trace.ends[:-1]]
    chosen = trace.logits[:-1].argmax(axis=1)
    other = np.flatnonzero(followed != chosen)
    words = f"next tokens: the largest logit in {len(chosen) - len(other)} of {len(chosen)} calls"
    if not len(other):
        return words
    call = int(other[0])
    return (
        f"{words}; another one first after call {call}: token id {followed[call]} was read, "
        f"{chosen[call]} has the largest logit"
    )


def _not_finite(trace: ForeignTrace) -> Iterator[str]:
    calls = np.flatnonzero(~np.isfinite(trace.logits).all(axis=1)).tolist()
    if calls:
        yield f"logits that are no finite numbers: in {_some(calls)}"


def verdict_words(trace: ForeignTrace) -> str:
    """How the logits stand, in one line."""
    bands = trace.bands
    if bands is None:
        why = trace.unjudged or "there is no reference"
        return f"verdict: none, {why if why.isprintable() else ascii(why)}"
    standings, errors = trace.standings, trace.errors
    counts = [f"{name} {standings.count(name)}" for name in ("right", "rounding", "wrong")]
    limits = f"right up to {bands.right:.2g}, wrong above {bands.wrong:.2g}"
    words = f"verdict on logits: {', '.join(counts)} (largest error {max(errors):.2g}; {limits})"
    wrong = [call for call, standing in enumerate(standings) if standing == "wrong"]
    if not wrong:
        return words
    call, end = wrong[0], trace.ends[wrong[0]]
    first = end - int(trace.n_tokens[call])
    tokens = f"token {first}" if first == end - 1 else f"tokens {first}-{end - 1}"
    return f"{words}; first wrong: call {call} ({tokens}), error {errors[call]:.3g}"


def _share(n: int, n_all: int, what: str) -> str:
    return f"all {n} {what}" if n == n_all else f"the {n} of {n_all} {what} where it is told"


def _some(calls: Sequence[int]) -> str:
    shown = ", ".join(map(str, calls[:6]))
    more = f" and {len(calls) - 6} more" if len(calls) > 6 else ""
    return f"call{'s' * (len(calls) > 1)} {shown}{more}"
