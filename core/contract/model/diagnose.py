"""Which mechanisms the calls of a model show."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.contract.model.facts import Call
from core.contract.model.finding import Finding, boxed, call_words, seen, spans
from core.contract.model.order import order_finding
from core.contract.model.positions import position_finding, query_shift_finding
from core.contract.model.rows import MISSING, rows_finding
from core.contract.model.sight import sight_finding


def diagnose(
    calls: Sequence[Call], first_wrong: int, key_heads: int | None, also: Sequence[Call] = ()
) -> list[Finding]:
    """What was seen to be wrong, in the order in which a call uses it; empty: nothing was.

    Args:
        calls: of one text, observed.
        first_wrong: the first call with wrong logits.
        key_heads: heads of keys; None: not known.
        also: calls of another session, which a rule must fit as well.
    """
    position = position_finding(calls, key_heads) or query_shift_finding(calls)
    sight = order_finding(calls) or sight_finding(calls, also)
    rows = rows_finding(calls, first_wrong)
    if sight is not None and rows is not None:
        if rows.preset_like in ("store-double-append", "pos-hole"):
            sight = None  # more rows than tokens: what the mask shows follows
        elif sight.preset_like == "mask-unwritten":
            rows = None
    if position is not None and rows is not None and _follows(rows, position):
        rows = None
    found = [one for one in (position, sight, rows) if one is not None]
    found = [one for one in _without_twins(found) if one.call <= first_wrong or len(found) == 1]
    return [_with_layers(one, calls, first_wrong) for one in found]


def _follows(rows: Finding, position: Finding) -> bool:
    """Rows at wrong positions are nobody's; where positions count rows, it is the other way."""
    counts_rows = position.preset_like == "pos-retained-rows" and rows.mechanism == MISSING
    return rows.preset_like is None and not counts_rows


def _without_twins(found: Sequence[Finding]) -> list[Finding]:
    """One finding a mechanism, with the evidence of all."""
    kept: list[Finding] = []
    for one in found:
        twin = next((k for k in kept if k.mechanism == one.mechanism), None)
        if twin is None:
            kept.append(one)
        else:
            at = kept.index(twin)
            kept[at] = twin.with_more(one)
    return kept


def _with_layers(finding: Finding, calls: Sequence[Call], first_wrong: int) -> Finding:
    """With the first layer whose attention differs from that of the uncached forward."""
    words = first_layer_words(calls[first_wrong])
    return (
        replace(finding, evidence=(*finding.evidence, f"observed: {words}")) if words else finding
    )


def first_layer_words(call: Call) -> str:
    """Where attention first differs; empty: nowhere, or it was not seen."""
    off = next((one for one in call.attentions if one.output_off), None)
    if off is None:
        return ""
    return (
        f"call with {call_words(call)}: layer {off.layer} is the first whose attention gives "
        "another output than without a cache"
    )


def unexplained(calls: Sequence[Call], first_wrong: int) -> Finding | None:
    """Attention that differs for no reason that was recognised; None: none was seen."""
    call = calls[first_wrong]
    if not call.attentions:
        return None
    words = first_layer_words(call)
    if words:
        off = next(one for one in call.attentions if one.output_off)
        return seen("cached attention gives another output", first_wrong, off.layer, words)
    words = f"call with {call_words(call)}: attention of all {len(call.attentions)} layers is right"
    return seen("cached logits differ behind attention that is right", first_wrong, None, words)


def of_second_text(call: Call, at: int, found: Sequence[Finding]) -> Finding:
    """A text that is wrong only after another one, with what was seen of it."""
    words = f"call with {call_words(call)}: right in a new model, wrong after another text"
    counts_on = any(one.layer is None for one in found)
    first = boxed(
        "a second text sees what the first one left in the model",
        at,
        words,
        preset="store-stale-reset" if counts_on else None,
    )
    for one in found:
        first = first.with_more(one)
    return first


def from_probes(at: int, probes: Sequence[tuple[Call, Mapping[str, Any]]]) -> Finding:
    """What the black-box probes speak for.

    Args:
        at: the first wrong call of the session that is wrong.
        probes: that call, and others that are wrong, each with what was found of it.
    """
    call, probe = probes[0]
    blind = list(probe["blind"])
    told = "told the position ids by hand, every cached logit is right"
    if probe["told"]:
        words = [_blind_words(call, probe), told]
        return boxed("cached calls get other positions than their own", at, *words)
    if blind:
        return _of_blind(at, probes)
    words = [
        f"call with {call_words(call)}: changing any earlier token moves the cached logits of its "
        "last token as well"
    ]
    words += _first_query_words(call, probe)
    if len(words) > 1:
        return boxed("tokens of a call see other tokens than they must", at, *words)
    if probe["swapped"]:
        words.append("swapping two earlier tokens moves the uncached logits, not the cached ones")
        return boxed("the order of earlier tokens does not matter", at, *words)
    words.append("why they differ cannot be told from the logits alone")
    return boxed("cached logits differ from uncached ones", at, *words)


def _blind_words(call: Call, probe: Mapping[str, Any]) -> str:
    return (
        f"call with {call_words(call)}: changing each of the {call.past} earlier tokens moves the "
        f"uncached logits for tokens {spans(list(probe['matter']))}, the cached ones not for "
        f"{spans(list(probe['blind']))}"
    )


def _of_blind(at: int, probes: Sequence[tuple[Call, Mapping[str, Any]]]) -> Finding:
    """Of a call that does not hang on earlier tokens on which it must."""
    _, probe = probes[0]
    matter, blind = list(probe["matter"]), list(probe["blind"])
    words = [_blind_words(call, one) for call, one in probes]
    if blind == matter and 0 not in matter:
        words.append("whether token 0 is seen cannot be told: the logits do not hang on it")
    if all(list(one["blind"]) == list(one["matter"]) for _, one in probes):
        return boxed("the call is blind to all earlier tokens", at, *words)
    mechanism = f"the call is blind to tokens {spans(blind)}"
    if all(_is_top_left(call, one) for call, one in probes):
        words.append("all of this is as if the causal mask were aligned top-left")
        return boxed(mechanism, at, *words, preset="mask-top-left")
    return boxed(mechanism, at, *words)


def _is_top_left(call: Call, probe: Mapping[str, Any]) -> bool:
    """Whether the last token of a call sees as many of the first tokens as the call has."""
    shown = [token for token in probe["matter"] if token not in probe["blind"]]
    return shown == [token for token in probe["matter"] if token < call.n]


def _first_query_words(call: Call, probe: Mapping[str, Any]) -> list[str]:
    """Of the first token of a call of several: what it sees and must not, and the other way."""
    first = probe["first"]
    if first is None:
        return []
    words: list[str] = []
    if first["leaks"]:
        words.append(
            f"changing later tokens of the call, {spans(list(first['leaks']))}, moves the cached "
            f"logits of its first one, token {call.past}"
        )
    if first["blind"]:
        words.append(
            f"changing tokens {spans(list(first['blind']))} moves the uncached logits of token "
            f"{call.past}, and not the cached ones"
        )
    return words
