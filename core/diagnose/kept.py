"""What is held after a step: what is taken back, what leaves, and what is told of it."""

from dataclasses import replace

import numpy as np

from core.arrays import ABSENT
from core.diagnose.account import Call, Run, cropped
from core.diagnose.aspect import Answer, Answers, Aspect, Hypothesis, once
from core.engine.types import Ledger

# What is taken back.


def _held(ledger: Ledger) -> Answer:
    return ledger.length, ledger.seen, tuple(ledger.token_index.tolist())


def _cut(call: Call) -> tuple[Ledger, int] | None:
    """What a rollback or rejected drafts cut, and by how many tokens; None: nothing is cut."""
    record = call.record
    if not call.is_accepted:
        return None
    if record.phase == "rollback":
        return call.start, record.n_rolled_back
    if record.n_rejected and record.layers:
        return call.entered(), record.n_rejected
    return None


def _taken_back(call: Call) -> Answer:
    if call.n_common is not None and call.record.token_index:
        has_strays = any(_has_stray(call, layer) for layer in range(len(call.record.layers)))
        return call.record.token_index[0], len(call.record.token_ids), has_strays
    return None if _cut(call) is None else _held(call.record.ledger)


def _has_stray(call: Call, layer: int) -> bool:
    """Whether a row is read of a token that was to be taken back, and so is nobody's."""
    told = call.record.layers[layer]
    claimed = told.plan.view_token_index
    return bool(((told.row_token == ABSENT) & (claimed >= _n_reusable(call))).any())


def _n_reusable(call: Call) -> int:
    return min(call.n_common or 0, len(call.record.prompt_ids) - 1)


def _left_by(call: Call, n_kept: int, n_less: int) -> Answer:
    """The answer of a rule that takes back `n_less` tokens less, and so keeps `n_kept`."""
    if call.n_common is not None:
        n_right = _n_reusable(call)
        has_strays = bool(call.record.layers) and n_kept > n_right
        return n_kept, len(call.record.prompt_ids) - n_right, has_strays
    cut = _cut(call)
    return None if cut is None else _held(cropped(cut[0], max(0, cut[1] - n_less)))


def _right_cut(call: Call) -> Answer:
    return _left_by(call, _n_reusable(call), 0)


def _all_stay(call: Call) -> Answer:
    n = max(call.before.seen, _n_reusable(call))
    return _left_by(call, n, 1 << 30)


def _one_stays(call: Call) -> Answer:
    n = _n_reusable(call)
    return _left_by(call, n + (n < call.before.seen), 1)


def _none_stays(call: Call) -> Answer:
    n = _n_reusable(call)
    if call.n_common is not None:
        return _left_by(call, 0 if n < call.before.seen else n, 0)
    return None if _cut(call) is None else (0, 0, ())


def _last_twice(call: Call) -> Answer:
    if call.n_common is None:
        return None
    n_prompt = len(call.record.prompt_ids)
    return call.n_common, n_prompt - min(call.n_common, n_prompt - 1), False


def _cut_words(run: Run, call: Call, layer: int) -> str:
    record = call.record
    if call.n_common is not None:
        return (
            f"of the {len(record.prompt_ids)} tokens of the new prompt {call.n_common} were known; "
            f"{record.token_index[0]} rows were kept, expected {_n_reusable(call)}"
        )
    cut = _cut(call)
    n_right = cropped(*cut).length if cut else 0
    n = cut[1] if cut else 0
    return (
        f"{n} {'token was' if n == 1 else 'tokens were'} to be taken back; "
        f"length {record.ledger.length} was left, expected {n_right}"
    )


TAKEN_BACK = Aspect(
    field="length",
    neutral="other rows stay than should when tokens are taken back",
    is_per_layer=False,
    observed=once(_taken_back),
    right=once(_right_cut),
    hypotheses=(
        Hypothesis("prefix-last-twice", once(_last_twice)),
        Hypothesis("spec-no-rollback", once(_all_stay)),
        Hypothesis("spec-short", once(_one_stays)),
        Hypothesis("spec-reset", once(_none_stays)),
    ),
    evidence=_cut_words,
)

# What leaves.


def _is_committed(call: Call) -> bool:
    return bool(call.record.layers) and call.record.n_rejected == 0


def _retained(call: Call) -> Answer:
    return _rows(call.record.ledger) if _is_committed(call) else None


def _rows(ledger: Ledger) -> Answer:
    return ledger.length, tuple(ledger.token_index.tolist())


def _n_to_leave(call: Call) -> int:
    """Rows that leave after the step."""
    return 0 if call.is_refilled else call.record.n_short


def _without_oldest(ledger: Ledger, n: int, n_sinks: int) -> Ledger:
    if n == 0:
        return ledger
    keep = np.ones(len(ledger.slot), dtype=bool)
    keep[np.flatnonzero(ledger.token_index >= n_sinks)[:n]] = False
    return ledger.only(keep)


def _right_retained(run: Run) -> list[Answers]:
    return [
        (_rows(_without_oldest(call.entered(), _n_to_leave(call), run.n_sinks)),)
        if _is_committed(call)
        else None
        for call in run.focus
    ]


def _all_retained(call: Call) -> Answer:
    return _rows(call.entered()) if _is_committed(call) else None


def _oldest_left(call: Call) -> Answer:
    if not _is_committed(call):
        return None
    held, n = call.entered(), _n_to_leave(call)
    return _rows(held.only(np.arange(len(held.slot)) >= n) if n else held)


def _newest_left(call: Call) -> Answer:
    if not _is_committed(call):
        return None
    held, n = call.entered(), _n_to_leave(call)
    n_held = len(held.slot)
    keep = np.ones(n_held, dtype=bool)
    if n:
        keep[max(0, n_held - 1 - n) : n_held - 1] = False
    return _rows(held.only(keep))


def _joined_again(run: Run) -> list[Answers]:
    every: list[Answers] = []
    for call in run.focus:
        if not _is_committed(call):
            every.append(None)
            continue
        old, held = call.base, call.entered()
        joined = old.with_rows(held.slot, held.token_index, held.position_id, held.token_id)
        joined = replace(joined, length=old.length + held.length)
        every.append((_rows(_without_oldest(joined, _n_to_leave(call), run.n_sinks)),))
    return every


def _retained_words(run: Run, call: Call, layer: int) -> str:
    held = call.record.ledger
    tokens = held.token_index.tolist()
    n_twice = len(tokens) - len(set(tokens))
    if n_twice:
        return f"length {held.length} after the step: {n_twice} of the rows stand there again"
    missing = [t for t in call.entered().token_index.tolist() if t not in set(tokens)]
    left = f"{_named(missing)} left the cache"
    right = [token for token, _ in call.verdict.expected.live]
    return (
        f"{left}, which holds {_named(tokens)} ({len(tokens)} rows, capacity {held.capacity}); "
        f"expected {_short(right)}"
    )


def _named(tokens: list[int]) -> str:
    if not tokens:
        return "no token"
    return f"{'token' if len(tokens) == 1 else 'tokens'} {_short(tokens)}"


def _short(tokens: list[int]) -> str:
    """At most eight numbers."""
    if len(tokens) <= 8:
        return ", ".join(map(str, tokens)) or "nothing"
    return f"{', '.join(map(str, tokens[:4]))} … {', '.join(map(str, tokens[-3:]))}"


RETAINED = Aspect(
    field="contents",
    neutral="other rows are held after the step than the policy says",
    is_per_layer=False,
    observed=once(_retained),
    right=_right_retained,
    hypotheses=(
        Hypothesis("evict-newest", once(_newest_left)),
        Hypothesis("evict-never", once(_all_retained)),
        Hypothesis("sinks-lost", once(_oldest_left)),
        Hypothesis("store-double-append", _joined_again),
    ),
    evidence=_retained_words,
)

# What is told.


def _told(call: Call) -> Answer:
    return call.record.reported_length


def _right_told(call: Call) -> Answer:
    return call.record.ledger.length


def _dropped_counted(call: Call) -> Answer:
    ledger = call.record.ledger
    n_left = ledger.seen - ledger.capacity
    return n_left if n_left > 0 else ledger.seen


def _told_words(run: Run, call: Call, layer: int) -> str:
    ledger = call.record.ledger
    return (
        f"the cache reports length {call.record.reported_length} and holds {ledger.length} rows; "
        f"{ledger.seen} tokens were read"
    )


TOLD = Aspect(
    field="length",
    neutral="the length told is not the number of rows held",
    is_per_layer=False,
    observed=once(_told),
    right=once(_right_told),
    hypotheses=(Hypothesis("gauge-lies", once(_dropped_counted)),),
    evidence=_told_words,
)
