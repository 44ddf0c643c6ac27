"""Which mechanisms the calls of a model show."""

from collections.abc import Sequence
from dataclasses import replace

from core.contract.model.facts import Call
from core.contract.model.finding import Finding, boxed, call_words, seen
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
