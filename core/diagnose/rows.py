"""Whose row is really where a token's row should be, found from the bytes that were read."""

from collections.abc import Callable, Sequence

import numpy as np

from core.arrays import ABSENT, FloatArray, IntArray
from core.blank_rows import rows_unwritten
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Answers, Aspect, Hypothesis, by_own_layer
from core.diagnose.half_rows import half_words
from core.diagnose.in_place import scaled_columns
from core.diagnose.replay import EMPTY, Replayed, Write, by_reference, from_row_zero, nothing
from core.trace import rows_as_read


def _claimed(call: Call, layer: int) -> IntArray:
    """[S] the tokens that the rows read stand for; ABSENT where they stand for none."""
    plan = call.record.layers[layer].plan
    is_outside = plan.read_rows == ABSENT
    return np.where(is_outside, ABSENT, plan.view_token_index)


def _answer(found: IntArray, call: Call, layer: int) -> Answer:
    """What is found at the rows that stand for a token; of equal rows, the first one's token."""
    if layer == 0 and call.twins:
        found = np.array([call.twins.get(token, token) for token in found.tolist()], np.int64)
    return np.where(_claimed(call, layer) == ABSENT, ABSENT, found).tobytes()


def _tokens(run: Run, call: Call, layer: int) -> IntArray:
    """[S] token whose row is there; ABSENT: no token's of this text; EMPTY: never written."""
    told = call.record.layers[layer]
    if (told.row_token != ABSENT).all():
        return told.row_token
    return np.where(rows_unwritten(run.records, layer, told), EMPTY, told.row_token)


def _observed(run: Run) -> list[Answers]:
    return _asking(run, _tokens)


def _as_claimed(call: Call, layer: int) -> Answer:
    return _answer(_claimed(call, layer), call, layer)


Find = Callable[[Run, Call, int], IntArray]
"""[S] of a layer: the token whose row would be found at each row that was read."""


def _asking(run: Run, find: Find) -> list[Answers]:
    every: list[Answers] = []
    for call in run.focus:
        layers = range(len(call.record.layers))
        every.append(tuple(_answer(find(run, call, n), call, n) for n in layers) or None)
    return every


def _finding(find: Find) -> Callable[[Run], list[Answers]]:
    return lambda run: _asking(run, find)


def _all_but_row_zero(run: Run, call: Call, layer: int) -> IntArray:
    rows = call.record.layers[layer].plan.read_rows
    return np.where(rows == 0, EMPTY, _claimed(call, layer))


def _of_the_last_layer(run: Run, call: Call, layer: int) -> IntArray:
    """Rows of earlier calls are those that the last layer reads there, byte by byte."""
    layers = call.record.layers
    plan, last = layers[layer].plan, len(layers) - 1
    is_old = ~np.isin(plan.read_rows, plan.write_rows)
    if layer == last or not np.array_equal(plan.read_rows, layers[last].plan.read_rows):
        return _claimed(call, layer)
    read = (rows_as_read(run.records, call.record.step, n)[:, :, is_old] for n in (layer, last))
    is_same = np.array_equal(*read, equal_nan=True)
    return np.where(is_old & is_same, ABSENT, _claimed(call, layer))


def _scrambled(run: Run) -> list[Answers]:
    """Rows from before the buffer grew are gone where it was read again number by number."""
    size: dict[int, int] = {}
    before: dict[int, Call] = {}
    gone: dict[tuple[int, int], set[int]] = {}
    answers: dict[int, Answers] = {}
    for call in run.calls:
        record = call.record
        if not record.layers:
            continue
        which = record.request
        n_before = size.get(which, record.n_allocated)
        size[which] = record.n_allocated
        every: list[Answer] = []
        for layer, told in enumerate(record.layers):
            lost = gone.setdefault((which, layer), set())
            if record.n_allocated > n_before and _is_flat(run, before[which], call, layer):
                lost |= set(before[which].record.layers[layer].plan.read_rows.tolist())
            lost -= set(told.plan.write_rows.tolist())
            is_gone = np.isin(told.plan.read_rows, list(lost))
            found = np.where(is_gone, ABSENT, _claimed(call, layer))
            every.append(_answer(found, call, layer))
        before[which] = call
        answers[id(call)] = tuple(every)
    return [answers.get(id(call)) for call in run.focus]


def _is_flat(run: Run, before: Call, call: Call, layer: int) -> bool:
    """Whether the numbers of the smaller buffer stand in the larger one in their flat order."""
    old, new = before.record, call.record
    plan = new.layers[layer].plan
    n_heads, _, d_head = new.layers[layer].new_keys.shape
    shape = (2, n_heads, old.n_allocated, d_head)
    kv = np.zeros(shape, dtype=new.layers[layer].new_keys.dtype)
    kv[:, :, old.layers[layer].plan.read_rows] = rows_as_read(run.records, old.step, layer)
    flat = np.zeros((2, n_heads * new.n_allocated * d_head), dtype=kv.dtype)
    flat[:, : kv[0].size] = kv.reshape(2, -1)
    grown = flat.reshape(2, n_heads, new.n_allocated, d_head)
    is_old = ~np.isin(plan.read_rows, plan.write_rows)
    read = rows_as_read(run.records, new.step, layer)[:, :, is_old]
    is_another = not np.array_equal(read, kv[:, :, plan.read_rows[is_old]])
    return is_another and np.array_equal(read, grown[:, :, plan.read_rows[is_old]])


def _left_scaled(run: Run) -> list[Answers]:
    """Rows that were changed where they are are nobody's until they are written again."""
    changed: dict[tuple[int, int], set[int]] = {}
    answers: dict[int, Answers] = {}
    for call in run.calls:
        which = call.record.request
        if call.record.parents:
            changed = _moved(changed, call.record.parents)
        every: list[Answer] = []
        for layer, told in enumerate(call.record.layers):
            rows = changed.setdefault((which, layer), set())
            rows |= set(told.plan.read_rows[scaled_columns(run, call, layer)].tolist())
            rows -= set(told.plan.write_rows.tolist())
            is_changed = np.isin(told.plan.read_rows, list(rows))
            every.append(_answer(np.where(is_changed, ABSENT, _claimed(call, layer)), call, layer))
        answers[id(call)] = tuple(every) or None
    return [answers[id(call)] for call in run.focus]


def _moved(
    rows: dict[tuple[int, int], set[int]], parents: Sequence[int]
) -> dict[tuple[int, int], set[int]]:
    """By sequence and layer, what is so of the rows of each beam's parent."""
    return {
        (beam, layer): set(of_parent)
        for beam, parent in enumerate(parents)
        for (which, layer), of_parent in rows.items()
        if which == parent
    }


# Rules of beams: what is found is nobody's row of this text, so the bytes are compared.


def _as_found_if(run: Run, fits: Callable[[Run, Call, int], bool]) -> list[Answers]:
    every: list[Answers] = []
    for call in run.focus:
        is_moved = call.reordered_at is not None and call.parent != call.record.request
        if not call.record.layers or not is_moved:
            every.append(None)
            continue
        answers = [
            _answer(_tokens(run, call, layer), call, layer)
            if fits(run, call, layer)
            else _as_claimed(call, layer)
            for layer in range(len(call.record.layers))
        ]
        every.append(tuple(answers))
    return every


def _read_before(run: Run, call: Call, layer: int, which: int) -> tuple[IntArray, FloatArray]:
    """[n] rows and [2, Hkv, n, D] what sequence `which` last read before the reorder."""
    for number in range((call.reordered_at or 0) - 1, -1, -1):
        record = run.records[number]
        if record.request == which and record.layers:
            rows = record.layers[layer].plan.read_rows
            return rows, rows_as_read(run.records, number, layer)
    return np.empty(0, dtype=np.int64), np.empty((2, 0, 0, 0))


def _half_is_of(run: Run, call: Call, layer: int, part: int, which: int) -> bool:
    """Whether the odd rows' keys (part 0) or values (1) are those that `which` had there."""
    told = call.record.layers[layer]
    odd = np.flatnonzero(told.row_token != told.plan.view_token_index)
    rows, kept = _read_before(run, call, layer, which)
    place = {row: column for column, row in enumerate(rows.tolist())}
    pairs = [
        (column, place[row])
        for column, row in zip(odd.tolist(), told.plan.read_rows[odd].tolist(), strict=True)
        if row in place
    ]
    if not pairs:
        return False
    now, then = zip(*pairs, strict=True)
    read = rows_as_read(run.records, call.record.step, layer)
    return np.array_equal(read[part][:, list(now)], kept[part][:, list(then)])


def _own_rows(run: Run, call: Call, layer: int) -> bool:
    own = call.record.request
    return _half_is_of(run, call, layer, 0, own) and _half_is_of(run, call, layer, 1, own)


def _own_values(run: Run, call: Call, layer: int) -> bool:
    own, parent = call.record.request, call.parent
    is_mixed = _half_is_of(run, call, layer, 0, parent) and not _own_rows(run, call, layer)
    return is_mixed and _half_is_of(run, call, layer, 1, own)


def _rows_stay(run: Run) -> list[Answers]:
    return _as_found_if(run, _own_rows)


def _values_stay(run: Run) -> list[Answers]:
    return _as_found_if(run, _own_values)


def _row_words(run: Run, call: Call, layer: int) -> str:
    told = call.record.layers[layer]
    claimed, found = _claimed(call, layer), _tokens(run, call, layer)
    odd = np.flatnonzero((claimed != ABSENT) & (claimed != found))
    at, n = int(odd[0]), len(odd)
    row = found[at]
    holds = {ABSENT: "no row of this text", EMPTY: "zeros: nothing was written there"}
    what = holds.get(int(row), f"the row of token {row}")
    if row == ABSENT:
        what = half_words(run, call, layer, at) or what
    others = "1 more row is" if n == 2 else f"{n - 1} more rows are"
    more = f"; {others} not what {'it' if n == 2 else 'they'} should be"
    return (
        f"in layer {layer} slot {told.plan.view_slots[at]} stands for token {claimed[at]} and "
        f"holds {what}{more if n > 1 else ''}"
    )


_RIGHT = by_own_layer(_as_claimed)


def _replayed(preset_like: str, write: Write) -> Hypothesis:
    rule = Replayed(write, _observed, _RIGHT, _answer)
    return Hypothesis(preset_like, rule.predicts, acted=rule.acted)


ROWS = Aspect(
    field="keys",
    neutral="rows read back are not those of the tokens that they stand for",
    is_per_layer=True,
    observed=_observed,
    right=_RIGHT,
    hypotheses=(
        Hypothesis("store-first-lost", _finding(_all_but_row_zero)),
        _replayed("store-write-lost", nothing),
        _replayed("store-row-zero", from_row_zero),
        _replayed("store-alias-in", by_reference),
        Hypothesis("store-alias-out", _left_scaled),
        Hypothesis("store-grow-scramble", _scrambled),
        Hypothesis("store-layers-share", _finding(_of_the_last_layer)),
        Hypothesis("beam-no-reorder", _rows_stay),
        Hypothesis("beam-keys-only", _values_stay),
    ),
    evidence=_row_words,
)
