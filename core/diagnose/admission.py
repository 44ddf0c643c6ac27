"""Whether there is room, and what an append or a refusal leaves counted."""

from core.diagnose.account import APPENDS, Call, Run
from core.diagnose.aspect import Answer, Aspect, Hypothesis, once
from core.outcome import Ok, PositionLimit, Refused

# How many rows an append is short.


def _asks_for_room(call: Call) -> bool:
    return call.record.phase in (*APPENDS, "probe")


def _n_short(call: Call) -> Answer:
    return call.record.n_short if _asks_for_room(call) else None


def _short_by(call: Call, more: int) -> Answer:
    if not _asks_for_room(call):
        return None
    return max(0, call.start.length + call.n_rows - call.start.capacity + more)


def _right_short(call: Call) -> Answer:
    return _short_by(call, 0)


def _one_early(call: Call) -> Answer:
    return _short_by(call, 1)


def _one_late(call: Call) -> Answer:
    return _short_by(call, -1)


def _one_row_test(call: Call) -> Answer:
    if not _asks_for_room(call):
        return None
    return 0 if call.start.length < call.start.capacity else call.n_rows


def _room_words(run: Run, call: Call, layer: int) -> str:
    start, n = call.start, call.n_rows
    n_right = max(0, start.length + n - start.capacity)
    took = f"{'was' if n == 1 else 'were'} {'taken' if call.is_accepted else 'refused'}"
    rows = _count(n, "row")
    return (
        f"{rows} beside {start.length} held in {start.capacity} slots {took}, counted as "
        f"{call.record.n_short} too many; {n_right} {'is' if n_right == 1 else 'are'} too many"
    )


ROOM = Aspect(
    field="outcome",
    neutral="an append is counted as more or fewer rows too many than it is",
    is_per_layer=False,
    observed=once(_n_short),
    right=once(_right_short),
    hypotheses=(
        Hypothesis("cap-early", once(_one_early)),
        Hypothesis("cap-one-row-test", once(_one_row_test)),
        Hypothesis("cap-late", once(_one_late)),
    ),
    evidence=_room_words,
)

# What admission counts.


def _is_even(call: Call) -> bool:
    n_keys, n_values = call.record.n_probed
    return n_keys == n_values


def _n_left_counted(call: Call) -> int:
    """Rows more than before that a refusal left counted."""
    return 0 if call.is_accepted else call.record.ledger.length - call.start.length


def _is_asked(call: Call) -> bool:
    return _asks_for_room(call) and not isinstance(call.record.outcome, PositionLimit)


def _admitted(call: Call) -> Answer:
    return (call.is_accepted, _n_left_counted(call)) if _is_asked(call) else None


def _is_to_accept(call: Call) -> bool:
    return _is_even(call) and _has_room(call)


def _has_room(call: Call) -> bool:
    """Whether there is room, by the engine's own count, or the policy makes it."""
    makes_room = call.is_accepted and not isinstance(call.verdict.expected.outcome, Refused)
    return call.record.n_short == 0 or makes_room


def _right_admission(call: Call) -> Answer:
    return (_is_to_accept(call), 0) if _is_asked(call) else None


def _counted_first(call: Call) -> Answer:
    if not _is_asked(call):
        return None
    n_keys = call.record.n_probed[0] or call.n_rows
    is_taken = _is_to_accept(call)
    return is_taken, 0 if is_taken else n_keys


def _uneven_taken(call: Call) -> Answer:
    return (_has_room(call), 0) if _is_asked(call) else None


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _admission_words(run: Run, call: Call, layer: int) -> str:
    record, start = call.record, call.start
    n_keys, n_values = record.n_probed
    if isinstance(record.outcome, Ok):
        what = _count(call.n_rows, "row")
        if n_keys:
            what = f"{_count(n_keys, 'key')} and {_count(n_values, 'value')}"
        room = "" if _has_room(call) else f", {record.n_short} too many by its own count,"
        return f"an append of {what}{room} was taken; expected: refused"
    if _is_to_accept(call):
        return (
            f"{_count(call.n_rows, 'row')} beside {start.length} held in {start.capacity} slots "
            f"{'was' if call.n_rows == 1 else 'were'} refused; expected: taken"
        )
    return (
        f"the refused append left length {record.ledger.length}; "
        f"it was {start.length} before, and a refusal changes nothing"
    )


ADMISSION = Aspect(
    field="length",
    neutral="what is taken or left counted does not follow from the room there is",
    is_per_layer=False,
    observed=once(_admitted),
    right=once(_right_admission),
    hypotheses=(
        Hypothesis("cap-counter-first", once(_counted_first)),
        Hypothesis("store-uneven", once(_uneven_taken)),
    ),
    evidence=_admission_words,
)
