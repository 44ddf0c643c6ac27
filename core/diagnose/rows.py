"""Whose row is really where a token's row should be, found from the bytes that were read."""

from collections.abc import Callable

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Answers, Aspect, Hypothesis, by_layer, by_own_layer
from core.trace import rows_as_read


def _claimed(call: Call, layer: int) -> IntArray:
    """[S] the tokens that the rows read stand for; ABSENT where they stand for none."""
    return call.record.layers[layer].plan.view_token_index


def _where_claimed(found: IntArray, call: Call, layer: int) -> Answer:
    return np.where(_claimed(call, layer) == ABSENT, ABSENT, found).tobytes()


def _found(call: Call, layer: int) -> Answer:
    return _where_claimed(call.record.layers[layer].row_token, call, layer)


def _as_claimed(call: Call, layer: int) -> Answer:
    return _claimed(call, layer).tobytes()


Find = Callable[[Call, int], IntArray]
"""[S] of a layer: the token whose row would be found at each row that was read."""


def _finding(find: Find) -> Callable[[Call, int], Answer]:
    def answer(call: Call, layer: int) -> Answer:
        return _where_claimed(find(call, layer), call, layer)

    return answer


def _nothing(call: Call, layer: int) -> IntArray:
    return np.full(len(_claimed(call, layer)), ABSENT)


def _all_but_row_zero(call: Call, layer: int) -> IntArray:
    rows = call.record.layers[layer].plan.read_rows
    return np.where(rows == 0, ABSENT, _claimed(call, layer))


def _of_the_last_layer(call: Call, layer: int) -> IntArray:
    layers = call.record.layers
    if layer == len(layers) - 1:
        return _claimed(call, layer)
    plan = layers[layer].plan
    return np.where(np.isin(plan.read_rows, plan.write_rows), plan.view_token_index, ABSENT)


def _lost_at_times(call: Call, layer: int) -> IntArray:
    """Nothing where the row reads zero: some were not written, or not in every layer."""
    told = call.record.layers[layer]
    is_odd = told.row_token != told.plan.view_token_index
    return np.where(is_odd & _reads_zero(call, layer), ABSENT, told.plan.view_token_index)


def _reads_zero(call: Call, layer: int) -> BoolArray:
    """[S] whether a row whose bytes were first read in this step, or never written, is zero."""
    told, first = call.record.layers[layer], call.record.layers[layer].first_read
    is_zero = ~first.kv.any(axis=(0, 1, 3))
    is_new_zero = np.isin(told.plan.read_rows, first.row[is_zero])
    is_old = told.row_version != call.record.step
    return np.where(is_old, told.row_token == ABSENT, is_new_zero)


# Rules that need what was written in the steps before.

Places = dict[int, int]
"""Row to the token whose row is there."""


def _replayed(run: Run, write: Callable[[Call, Places], None]) -> list[Answers]:
    """What is found if each step writes by a rule of its own, the same in all layers."""
    held: dict[int, Places] = {}
    focus = {id(call) for call in run.focus}
    every: list[Answers] = []
    for call in run.calls:
        places = held.setdefault(call.record.request, {})
        _forget(call, places)
        if call.record.layers:
            write(call, places)
        if id(call) in focus:
            every.append(_found_in(call, places))
        if call.record.n_rejected:
            _drop_from(places, call.record.token_index[-1] + 1 - call.record.n_rejected)
    return every


def _forget(call: Call, places: Places) -> None:
    record = call.record
    if record.phase == "new_prompt" and record.token_index:
        _drop_from(places, record.token_index[0])
    elif record.phase == "rollback" and call.is_accepted:
        _drop_from(places, call.start.seen - record.n_rolled_back)


def _drop_from(places: Places, token: int) -> None:
    for row in [row for row, held in places.items() if held >= token]:
        del places[row]


def _found_in(call: Call, places: Places) -> Answers:
    if not call.record.layers:
        return None
    every: list[Answer] = []
    for layer, told in enumerate(call.record.layers):
        found = np.array([places.get(row, ABSENT) for row in told.plan.read_rows.tolist()])
        every.append(_where_claimed(found.astype(np.int64), call, layer))
    return tuple(every)


def _from_row_zero(run: Run) -> list[Answers]:
    def write(call: Call, places: Places) -> None:
        tokens: list[int] = call.tokens.tolist()
        places.update(enumerate(tokens))

    return _replayed(run, write)


def _all_the_newest(run: Run) -> list[Answers]:
    """Rows of single tokens all show the newest single token."""
    single: dict[int, set[int]] = {}

    def write(call: Call, places: Places) -> None:
        rows: list[int] = call.record.layers[0].plan.write_rows.tolist()
        borrowed = single.setdefault(call.record.request, set())
        tokens: list[int] = call.tokens.tolist()
        if len(rows) > 1:
            borrowed.difference_update(rows)
            places.update(zip(rows, tokens, strict=True))
            return
        borrowed.update(rows)
        newest: int = tokens[0]
        places.update(dict.fromkeys(borrowed, newest))

    return _replayed(run, write)


def _scrambled(run: Run) -> list[Answers]:
    """Rows from before the buffer grew are found no more; with one head they are."""
    size: dict[int, int] = {}

    def write(call: Call, places: Places) -> None:
        record = call.record
        has_grown = record.n_allocated > size.get(record.request, record.n_allocated)
        size[record.request] = record.n_allocated
        if has_grown and record.layers[0].new_keys.shape[0] > 1:
            places.clear()
        rows = record.layers[0].plan.write_rows.tolist()
        places.update(zip(rows, call.tokens.tolist(), strict=True))

    return _replayed(run, write)


# Rules of beams: what is found is nobody's row of this text, so the bytes are compared.


def _as_found_if(run: Run, fits: Callable[[Run, Call, int], bool]) -> list[Answers]:
    every: list[Answers] = []
    for call in run.focus:
        is_moved = call.reordered_at is not None and call.parent != call.record.request
        if not call.record.layers or not is_moved:
            every.append(None)
            continue
        answers = [
            _found(call, layer) if fits(run, call, layer) else _as_claimed(call, layer)
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


def _row_words(call: Call, layer: int) -> str:
    told = call.record.layers[layer]
    claimed, found = told.plan.view_token_index, told.row_token
    odd = np.flatnonzero((claimed != ABSENT) & (claimed != found))
    at, n = int(odd[0]), len(odd)
    row = found[at]
    is_zero = _reads_zero(call, layer)[at]
    holds = "no row of this text" if row == ABSENT else f"the row of token {row}"
    holds = "zeros: nothing was written there" if is_zero and row == ABSENT else holds
    others = "1 more row is" if n == 2 else f"{n - 1} more rows are"
    more = f"; {others} not what it should be" if n == 2 else f"; {others} not what they should be"
    return (
        f"in layer {layer} slot {told.plan.view_slots[at]} stands for token {claimed[at]} and "
        f"holds {holds}{more if n > 1 else ''}"
    )


ROWS = Aspect(
    field="keys",
    is_per_layer=True,
    observed=by_layer(_found),
    right=by_layer(_as_claimed),
    hypotheses=(
        Hypothesis("store-write-lost", by_layer(_finding(_nothing))),
        Hypothesis("store-first-lost", by_layer(_finding(_all_but_row_zero))),
        Hypothesis("store-row-zero", _from_row_zero),
        Hypothesis("store-alias-in", _all_the_newest),
        Hypothesis("store-grow-scramble", _scrambled),
        Hypothesis("store-layers-share", by_own_layer(_finding(_of_the_last_layer))),
        Hypothesis("beam-no-reorder", _rows_stay),
        Hypothesis("beam-keys-only", _values_stay),
        Hypothesis("store-write-lost", by_own_layer(_finding(_lost_at_times))),
    ),
    evidence=_row_words,
)
