"""What is wrong with a step, in one sentence."""

from collections.abc import Iterable

from core.compare import readable_of
from core.readouts.words import outcome_words, ranges
from core.record import StepRecord
from core.verdict import Difference, StepVerdict

_IN_A_LAYER = {
    "keys": "the keys read are not those of the tokens that they stand for",
    "values": "the values read are not those of the tokens that they stand for",
    "rotated_keys": "the keys were used at other positions than they should have been",
    "visible": "a query saw other rows than those of the tokens that it may read",
    "scores": "the attention scores are off",
    "weights": "the attention weights are off",
    "output": "the output of the attention is off",
    "residual": "the output of the layer is off",
}


def difference_words(record: StepRecord, verdict: StepVerdict) -> str:
    """Where a step first differs from what was expected; empty where it does not."""
    difference = verdict.first_difference
    if difference is None:
        return ""
    if difference.field in _IN_A_LAYER:
        return f"{_IN_A_LAYER[difference.field]} ({_place(difference)})"
    if difference.field == "slots":
        return f"new rows went to the slots {ranges(record.slots.tolist())}, not all of them free"
    if difference.field == "logits":
        return "the logits are off"
    is_now, should_be = _values(record, verdict, difference.field)
    name = difference.field.replace("_", " ")
    return f"{name}: {is_now}; right would be: {should_be}"


def _place(difference: Difference) -> str:
    place = f"layer {difference.layer}"
    return place if difference.head is None else f"{place}, head {difference.head}"


def _values(record: StepRecord, verdict: StepVerdict, field: str) -> tuple[str, str]:
    """What is and what should be, for what is decided once per step."""
    expected = verdict.expected
    by_field = {
        "outcome": [
            outcome_words(outcome, record.phase, record.ledger.capacity)
            for outcome in (record.outcome, expected.outcome)
        ],
        "length": [f"{n} rows held" for n in (record.reported_length, expected.length)],
        "seen": [f"{n} tokens read" for n in (record.ledger.seen, expected.seen)],
        "position_ids": [_numbers(ids) for ids in (record.position_ids, expected.position_ids)],
        "readable": [_last_set(sets) for sets in (readable_of(record), expected.readable)],
    }
    is_now, should_be = by_field[field]
    return is_now, should_be


def _numbers(position_ids: Iterable[int | None]) -> str:
    return ranges(p for p in position_ids if p is not None) or "none"


def _last_set(sets: tuple[tuple[int, ...], ...]) -> str:
    return f"tokens {ranges(sets[-1])} for the last query" if sets else "none"
