"""Numbers and outcomes as words that a person reads."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from core.arrays import BoolArray
from core.outcome import Ok, Outcome, PositionLimit, Refused
from core.readouts.history import rejected_tokens
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
        case PositionLimit(n_ctx, None):
            return f"ended: the model has {n_ctx} positions"
        case PositionLimit(n_ctx, position_id):
            return f"ended: needs position id {position_id}, the model has {n_ctx} positions"


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


def numbered(noun: str, numbers: Sequence[int]) -> str:
    """Ascending numbers with their noun: "token 3", "tokens 0–4"."""
    return f"{noun if len(numbers) == 1 else f'{noun}s'} {ranges(numbers)}"


def are_no_numbers(record: StepRecord) -> bool:
    """Whether the largest of a step's logits is no finite number, so that no token is best.

    Some token comes out as the largest all the same.
    """
    return record.logits is not None and not np.isfinite(record.logits.max())


def doing_words(record: StepRecord, token_text: Callable[[int], str]) -> str:
    """What a step was asked, and whether it did it."""
    name = record.phase.replace("_", " ")
    if not record.token_ids:
        return f"{name}: reads no token"
    verb = "reads" if isinstance(record.outcome, Ok) else "refuses"
    if len(record.token_ids) == 1:
        what = f"‘{token_text(record.token_ids[0])}’ at token {record.token_index[0]}"
    else:
        what = f"tokens {record.token_index[0]}–{record.token_index[-1]}"
    rejected = rejected_tokens(record)
    return f"{name}: {verb} {what}" + (
        f", rejects {numbered('token', rejected)}" if rejected else ""
    )


def _run(numbers: Sequence[int]) -> str:
    if len(numbers) < 3:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]}–{numbers[-1]}"
