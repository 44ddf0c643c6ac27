"""What is wrong with a step, in one sentence with the numbers of the record and of the oracles."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from core.arrays import ABSENT
from core.compare import held_of, readable_of
from core.outcome import Ok
from core.readouts.words import compared_outcome, plural, ranges
from core.record import LayerRecord, StepRecord
from core.verdict import Difference, StepVerdict

_TENSORS = {
    "keys": "the keys read",
    "values": "the values read",
    "rotated_keys": "the keys as the queries used them",
    "scores": "the attention scores",
    "weights": "the attention weights",
    "output": "the output of the attention",
    "residual": "the output of the layer",
}


def difference_words(record: StepRecord, verdict: StepVerdict) -> str:
    """Where a step first differs from what was expected; empty where it does not."""
    difference = verdict.first_difference
    if difference is None:
        return ""
    if difference.layer is None:
        return _DECIDED_ONCE[difference.field](record, verdict)
    told = record.layers[difference.layer]
    if difference.field == "visible":
        return f"mask, {_place(difference)}: {_sight(record, verdict, told)}"
    rows = ""
    if difference.field in ("keys", "values"):
        rows = (
            _unread(verdict, told)
            or _odd_rows(told, difference.field)
            or _odd_turn(record, verdict, told)
        )
    name = difference.field.replace("_", " ")
    return f"{name}, {_place(difference)}: {rows or _tensor(difference)}"


def rests_on(verdict: StepVerdict) -> str:
    """On what a wrong verdict rests where the logits of the step are not wrong; empty: they are.

    Also empty where nothing is wrong, or no logits were computed.
    """
    logits = verdict.logits
    if not verdict.is_wrong or logits is None or logits.standing == "wrong":
        return ""
    are = "are right" if logits.standing == "right" else "differ by no more than rounding"
    parts = ["whole numbers compared exactly (policy)"] if verdict.policy == "wrong" else []
    if verdict.mechanism == "wrong":
        parts.append("the rows that were read and seen (mechanism)")
    return f"the logits there {are}; the verdict rests on {' and '.join(parts)}"


def error_words(error: float) -> str:
    """A largest error: "off by 14.5", or "not finite"."""
    return f"off by {error:.3g}" if math.isfinite(error) else "not finite"


def _place(difference: Difference) -> str:
    place = f"layer {difference.layer}"
    return place if difference.head is None else f"{place}, head {difference.head}"


def _tensor(difference: Difference) -> str:
    name = _TENSORS[difference.field]
    verb = "are" if name.startswith("the keys") or name.endswith("s") else "is"
    if difference.error is None or difference.band is None:
        return f"{name} {verb} off"
    within = f"equal up to {difference.band:.2g}"
    return f"{name} {verb} {error_words(difference.error)} ({within})"


# What is decided once per step.


def _outcome(record: StepRecord, verdict: StepVerdict) -> str:
    return compared_outcome(record, verdict.expected.outcome)


def _length(record: StepRecord, verdict: StepVerdict) -> str:
    is_refused = not isinstance(record.outcome, Ok)
    start = "refused, as it should be; but length" if is_refused else "length"
    is_now, should_be = record.reported_length, verdict.expected.length
    return f"{start} {is_now} of {record.ledger.capacity}, expected {should_be}"


def _seen(record: StepRecord, verdict: StepVerdict) -> str:
    return f"seen: {plural(record.ledger.seen, 'token')} read, expected {verdict.expected.seen}"


def _position_ids(record: StepRecord, verdict: StepVerdict) -> str:
    given, right = record.position_ids, verdict.expected.position_ids
    if len(given) != len(right):
        return f"position ids: {plural(len(given), 'token')} numbered, expected {len(right)}"
    numbered = zip(record.token_index, given, right, strict=True)
    odd = [(token, a, b) for token, a, b in numbered if a != b]
    token, is_now, should_be = odd[0]
    more = f", and {plural(len(odd) - 1, 'more token')} wrongly" if len(odd) > 1 else ""
    was_given = "no position id" if is_now is None else f"position id {is_now}"
    expected = "none" if should_be is None else should_be
    return f"position ids: token {token} was given {was_given}, expected {expected}{more}"


def _slots(record: StepRecord, verdict: StepVerdict) -> str:
    return f"slots: new rows went to {ranges(record.slots.tolist())}, not all of them free"


def _readable(record: StepRecord, verdict: StepVerdict) -> str:
    given, right = readable_of(record), verdict.expected.readable
    for token, is_now, should_be in zip(record.token_index, given, right, strict=False):
        if is_now != should_be:
            return (
                f"readable: token {token} may read {ranges(is_now) or 'nothing'}, "
                f"expected {ranges(should_be) or 'nothing'}"
            )
    return f"readable: {plural(len(given), 'token')} may read, expected {len(right)}"


def _logits(record: StepRecord, verdict: StepVerdict) -> str:
    logits = verdict.logits
    if logits is None:
        return "logits: there is nothing to compare with"
    above = f"wrong above {logits.wrong_above:.2g}"
    return f"logits: {error_words(logits.max_abs_error)} ({above})"


def _contents(record: StepRecord, verdict: StepVerdict) -> str:
    given, right = held_of(record), verdict.expected.live
    tokens, right_tokens = ([token for token, _ in held] for held in (given, right))
    if tokens != right_tokens:
        return f"contents: holds {_tokens(tokens)}; should hold {_tokens(right_tokens)}"
    numbered = zip(given, right, strict=True)
    odd = [(token, a, b) for (token, a), (_, b) in numbered if a != b]
    token, is_now, should_be = odd[0]
    more = f", and {plural(len(odd) - 1, 'more token')} wrongly" if len(odd) > 1 else ""
    return f"contents: holds token {token} at position id {is_now}; should be {should_be}{more}"


_DECIDED_ONCE: dict[str, Callable[[StepRecord, StepVerdict], str]] = {
    "outcome": _outcome,
    "length": _length,
    "seen": _seen,
    "position_ids": _position_ids,
    "slots": _slots,
    "readable": _readable,
    "logits": _logits,
    "contents": _contents,
}


# What a layer read and saw.


def _odd_rows(told: LayerRecord, field: str) -> str:
    """The first row that is not that of the token it stands for; empty: each is.

    Where values are the first to differ, the keys are right.
    """
    plan = told.plan
    odd = np.flatnonzero(told.row_token != plan.view_token_index)
    if not len(odd):
        return ""
    slot, claimed, found = (int(a[odd[0]]) for a in _columns(told))
    said = f"slot {slot} stands for {_token(claimed)}"
    none = "the row of no token" if field == "keys" else "its own key with another value"
    holds = f"holds {none if found == ABSENT else f'the row of {_token(found)}'}"
    more = f"; {plural(len(odd) - 1, 'more row')} likewise" if len(odd) > 1 else ""
    return f"{said} and {holds}{more}"


def _unread(verdict: StepVerdict, told: LayerRecord) -> str:
    """Tokens that should be read and are not among the rows; empty: all are."""
    wanted = {token for tokens in verdict.expected.readable for token in tokens}
    missing = sorted(wanted - set(told.plan.view_token_index.tolist()))
    if not missing:
        return ""
    name, verb = ("token", "is") if len(missing) == 1 else ("tokens", "are")
    return f"{name} {ranges(missing)} should be read, and {verb} not among the rows that are"


def _odd_turn(record: StepRecord, verdict: StepVerdict, told: LayerRecord) -> str:
    """The first new key that was rotated at another position than its token's; empty: none."""
    turned = told.plan.write_position_ids
    if turned is None:
        return ""
    n_new = len(record.token_ids) - record.n_skipped
    right = verdict.expected.position_ids[-n_new:]
    numbered = zip(record.token_index[-n_new:], turned[-n_new:].tolist(), right, strict=False)
    for token, position, expected in numbered:
        if position != expected:
            return f"the key of token {token} was rotated at position {position}, not {expected}"
    return ""


def _columns(told: LayerRecord) -> Sequence[np.ndarray]:
    return told.plan.view_slots, told.plan.view_token_index, told.row_token


def _token(token_index: int) -> str:
    return "no token" if token_index == ABSENT else f"token {token_index}"


def _tokens(tokens: Sequence[int]) -> str:
    """Ascending token indices: "token 3", "tokens 0–6, 8", "no token"."""
    if len(tokens) < 2:
        return _token(tokens[0] if tokens else ABSENT)
    return f"tokens {ranges(tokens)}"


def _sight(record: StepRecord, verdict: StepVerdict, told: LayerRecord) -> str:
    """The first new token that sees what it should not, or is blind."""
    n_new = len(record.token_ids) - record.n_skipped
    tokens = record.token_index[-n_new:]
    masks, rights = told.plan.mask[-n_new:], verdict.expected.readable[-n_new:]
    n_loose = verdict.expected.n_loose
    for token, mask, right in zip(tokens, masks, rights, strict=False):
        found = told.row_token[mask]
        seen = sorted(found[found != ABSENT].tolist())
        n_none = len(found) - len(seen)
        if seen != list(right) or n_none != n_loose:
            return f"token {token} sees {_seen_words(seen, n_none)}, expected {ranges(right)}"
        if (read := found[found != ABSENT].tolist()) != seen:
            return (
                f"token {token} sees the right rows out of token order: {ranges(read)}, "
                f"expected {ranges(right)}"
            )
    return "the rows seen are not in the order of their tokens"


def _seen_words(seen: Sequence[int], n_none: int) -> str:
    parts = [_tokens(seen)] if seen else []
    if n_none:
        parts.append(f"{plural(n_none, 'row')} of no token")
    return " and ".join(parts) or "nothing"
