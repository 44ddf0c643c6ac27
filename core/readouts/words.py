"""Numbers and outcomes as words that a person reads."""

from collections.abc import Iterable, Sequence

import numpy as np

from core.arrays import BoolArray
from core.outcome import Ok, Outcome, PositionLimit, Refused
from core.record import StepRecord


def ranges(numbers: Iterable[int]) -> str:
    """Ascending whole numbers, runs of three or more as `first–last`: "0, 3–7"."""
    parts: list[str] = []
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            parts.append(_run(run))
            run = []
        run.append(number)
    if run:
        parts.append(_run(run))
    return ", ".join(parts)


def places(is_told: BoolArray) -> str:
    """The places that are true, as `ranges` says them; made from their runs alone."""
    edges = np.flatnonzero(np.diff(is_told, prepend=False, append=False)).tolist()
    runs = zip(edges[::2], edges[1::2], strict=True)
    return ", ".join(_run(range(first, stop)) for first, stop in runs)


def plural(n: int, noun: str) -> str:
    """A count with its noun: "1 row", "2 rows"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def outcome_words(outcome: Outcome, record: StepRecord) -> str:
    """How a step ended, or should have, with its numbers."""
    match outcome:
        case Ok():
            return "accepted"
        case Refused() if record.n_probed[0] != record.n_probed[1]:
            keys, values = record.n_probed
            return f"refused: {plural(keys, 'key')} and {plural(values, 'value')}"
        case Refused(needed, free) if record.phase == "rollback":
            return f"refused: needs {needed}, {free} still held"
        case Refused(needed, free):
            return f"refused: needs {needed}, {free} free of {record.ledger.capacity}"
        case PositionLimit(n_ctx):
            return f"ended: the model has {n_ctx} positions"


def outcome_name(outcome: Outcome) -> str:
    """How a step ended, in one word: its numbers are told elsewhere."""
    match outcome:
        case Ok():
            return "accepted"
        case Refused():
            return "refused"
        case PositionLimit():
            return "ended"


def compared_outcome(record: StepRecord, expected: Outcome | None) -> str:
    """How a step ended and, where that is wrong, how it should have; None: not judged yet."""
    words = outcome_words(record.outcome, record)
    if expected is None or expected == record.outcome:
        return words
    return f"{words}; should be {outcome_words(expected, record)}"


def _run(numbers: Sequence[int]) -> str:
    if len(numbers) < 3:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]}–{numbers[-1]}"
