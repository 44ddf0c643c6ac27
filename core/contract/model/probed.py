"""What the black-box probes speak for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.contract.model.facts import Call
from core.contract.model.finding import Finding, boxed, call_words, spans
from core.contract.model.hypotheses import Order, Probed, Query, fitting, query_of
from core.contract.model.order import OTHER
from core.diagnose.words import WORDS

WHY_UNKNOWN = "why they differ cannot be told from the logits alone"


@dataclass(frozen=True, slots=True)
class Probe:
    """A wrong call and what was found of it.

    Attributes:
        call: which.
        probed: whom its tokens see.
        swapped: whether earlier tokens may change places, and may not without a cache.
        told: told the position ids by hand, every cached logit is right.
        is_repeat_told: a text of one token, read one by one, can tell of positions.
        repeat_same, repeat_first: its cached logits are the same from the second call on; and those
            of the first place.
        split: whether a token after another one, many times over, hangs on how those were split.
    """

    call: Call
    probed: Probed
    swapped: bool
    told: bool
    is_repeat_told: bool
    repeat_same: bool
    repeat_first: bool
    split: bool


def probe_of(call: Call, chunks: Sequence[int], told: Mapping[str, Any]) -> Probe:
    """From JSON; `chunks` are those up to the call."""
    repeated = told["repeated"] or {"moves": False, "same": False, "first": False}
    return Probe(
        call,
        Probed(tuple(chunks), tuple(query_of(one) for one in told["queries"])),
        bool(told["swapped"]),
        bool(told["told"]),
        bool(repeated["moves"]),
        bool(repeated["same"]),
        bool(repeated["first"]),
        bool(told["split"]),
    )


def position_from_probes(at: int, probes: Sequence[Probe]) -> Finding | None:
    """Positions that are wrong whatever the tokens see; None: nothing speaks for that."""
    first = probes[0]
    if first.told:
        words = "told the position ids by hand, every cached logit is right"
        return boxed("cached calls get other positions than their own", at, words)
    if not first.is_repeat_told or not first.repeat_same:
        return None
    words = (
        "one token many times over, read one by one: without a cache its logits move from place to "
        "place, with a cache they are "
    )
    if first.repeat_first and at == 1:
        mechanism = WORDS["pos-restart"].mechanism
        words += "those of the first place in every call"
        return boxed(mechanism, at, words, preset="pos-restart")
    words += "the same from the second call on"
    return boxed("tokens that come alone all get one position, or none", at, words)


def sight_from_probes(
    at: int,
    probes: Sequence[Probe],
    orders: Sequence[tuple[Sequence[int], Order]],
    order_words: str,
) -> Finding | None:
    """Tokens that a call sees and must not, or must and does not; None: there are none.

    Args:
        at: the first wrong call of the session that is wrong.
        probes: that call, and others that are wrong.
        orders: tokens of each call, and the tokens of the rows that were kept.
        order_words: of rows that lie in another order than their tokens; empty: none do.
    """
    words = [words for one in probes for words in _sight_words(one)]
    if not words:
        return None
    words += [order_words] if order_words else []
    rules = fitting([one.probed for one in probes], orders)
    if len(rules) == 1:
        (rule,) = rules
        words.append(f"of the rules compared, one alone gives all of this: as if {rule.words}")
        mechanism = WORDS[rule.preset].mechanism if rule.preset else rule.mechanism
        return boxed(mechanism, at, *words, preset=rule.preset)
    if rules:
        several = ", or as if ".join(rule.words for rule in rules)
        words.append(f"of the rules compared, {len(rules)} give all of this: as if {several}")
    words += _untold_words(probes[0])
    return boxed(OTHER if order_words else _plain_mechanism(probes), at, *words)


def _untold_words(probe: Probe) -> list[str]:
    """Of a call whose last token sees nothing, as far as can be told."""
    last = _last(probe)
    if last is None or not last.blind or not last.matter <= last.still or 0 in last.matter:
        return []
    return ["whether token 0 is seen cannot be told: the logits do not hang on it"]


def _plain_mechanism(probes: Sequence[Probe]) -> str:
    """Where no rule was recognised."""
    last = _last(probes[0])
    if last is None or not last.blind:
        return "tokens of a call see other tokens than they must"
    lasts = [_last(one) for one in probes]
    if all(one is not None and one.matter <= one.still for one in lasts):
        return "the call is blind to all earlier tokens"
    return f"the call is blind to tokens {spans(last.blind)}"


def _last(probe: Probe) -> Query | None:
    """The last token of a call."""
    return probe.probed.queries[-1] if probe.probed.queries else None


def _sight_words(probe: Probe) -> list[str]:
    """Of the last token of a call, and of its first one."""
    queries, call = probe.probed.queries, probe.call
    found: list[str] = []
    if queries and queries[-1].blind:
        found.append(_blind_words(call, queries[-1]))
    if len(queries) > 1 and queries[0].leaks:
        found.append(
            f"call with {call_words(call)}: changing later tokens of the call, "
            f"{spans(queries[0].leaks)}, moves the cached logits of its first one, token "
            f"{queries[0].token}"
        )
    if len(queries) > 1 and queries[0].blind:
        found.append(
            f"call with {call_words(call)}: changing tokens {spans(queries[0].blind)} moves the "
            f"uncached logits of token {queries[0].token}, and not the cached ones"
        )
    return found


def _blind_words(call: Call, query: Query) -> str:
    matter, blind = sorted(query.matter), query.blind
    words = (
        f"call with {call_words(call)}: of the {query.token} earlier tokens, each changed in turn, "
        f"{spans(matter)} {'moves' if len(matter) == 1 else 'move'} the uncached logits; "
    )
    moving = sorted(query.matter & query.moved)
    words += f"the cached ones move for {spans(moving)}" if moving else "none moves the cached ones"
    return words + ("" if not moving else f", not for {spans(blind)}")


def _extra_words(probe: Probe) -> list[str]:
    last = _last(probe)
    if last is None or not last.extra:
        return []
    return [
        f"call with {call_words(probe.call)}: changing tokens {spans(last.extra)} moves the cached "
        "logits, and not the uncached ones"
    ]


def unknown(at: int, probes: Sequence[Probe]) -> Finding:
    """A difference without a reason that is known, with what speaks against some."""
    first = probes[0]
    words: list[str] = []
    if any(_last(one) is not None for one in probes):
        words.append(
            f"call with {call_words(first.call)}: every earlier token that moves the uncached "
            "logits moves the cached ones as well"
        )
    words += _extra_words(first)
    if first.split:
        words.append(
            "after one token many times over, the same next token has other logits when those were "
            "read one by one than when one call read them: what is kept of them (positions, rows, "
            "which key goes with which value) hangs on how the text was split into calls"
        )
    if first.swapped:
        words.append("swapping two earlier tokens moves the uncached logits, not the cached ones")
        return boxed("the order of earlier tokens does not matter", at, *words)
    if first.split:
        return boxed("logits hang on how earlier tokens were split into calls", at, *words)
    return boxed("cached logits differ from uncached ones", at, *words, WHY_UNKNOWN)
