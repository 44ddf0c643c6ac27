"""Which rows are read, what the policy lets a query read, and what the mask lets it see."""

from collections.abc import Callable

import numpy as np

from core.arrays import ABSENT, PAD, BoolArray, IntArray
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Answers, Aspect, Hypothesis, by_layer, once

# Which slots are read, and in which order.


def _read(call: Call, layer: int) -> Answer:
    return call.record.layers[layer].plan.view_slots.tobytes()


def _inside(slots: IntArray, call: Call, layer: int) -> Answer:
    """The slots, without those past the end of the buffer."""
    live = call.record.live[layer]
    is_outside = np.isin(slots, live.slot[live.row == ABSENT])
    read = call.record.layers[layer].plan.view_slots
    # No smaller where rows leave later, nor than what a wider chunk before has filled.
    n_rows = max(
        call.base.capacity + len(call.record.slots), 1 + int(call.base.slot.max(initial=-1))
    )
    is_outside |= (slots >= n_rows) & ~np.isin(slots, read)
    return slots[~is_outside].astype(np.int64).tobytes()


def _viewing(rule: Callable[[IntArray, Call], IntArray]) -> Callable[[Call, int], Answer]:
    def answer(call: Call, layer: int) -> Answer:
        return _inside(rule(call.entered().counted_slots, call), call, layer)

    return answer


def _counted(counted: IntArray, call: Call) -> IntArray:
    return counted


def _whole_buffer(counted: IntArray, call: Call) -> IntArray:
    return np.arange(call.base.capacity)


def _newest_only(counted: IntArray, call: Call) -> IntArray:
    return counted[-call.base.capacity :]


def _from_the_cursor(counted: IntArray, call: Call) -> IntArray:
    n, size = len(counted), call.base.capacity
    if n > size or n == len(call.record.slots) - call.record.n_padding:
        return counted
    return (n + np.arange(n)) % size


def _turned(counted: IntArray, call: Call) -> IntArray:
    return np.roll(counted, 1) if len(counted) > call.base.capacity else counted


def _view_words(run: Run, call: Call, layer: int) -> str:
    read = call.record.layers[layer].plan.view_slots
    held = call.entered().counted_slots
    return (
        f"attention of layer {layer} read slots {_span(read)}; the cache counts {len(held)} rows, "
        f"in slots {_span(held)}"
    )


def _span(slots: IntArray) -> str:
    """Slots in the order in which they stand, at most eight."""
    numbers = slots.tolist()
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(numbers) <= 8:
        return ", ".join(map(str, numbers)) or "none"
    return f"{', '.join(map(str, numbers[:4]))} … {', '.join(map(str, numbers[-3:]))}"


VIEWS = Aspect(
    field="keys",
    neutral="other slots are read than those that count as held",
    is_per_layer=True,
    observed=by_layer(_read),
    right=by_layer(_viewing(_counted)),
    hypotheses=tuple(
        Hypothesis(preset, by_layer(_viewing(rule)))
        for preset, rule in (
            ("mask-unwritten", _whole_buffer),
            ("evict-before-attend", _newest_only),
            ("ring-shuffle", _turned),
            ("ring-start", _from_the_cursor),
        )
    ),
    evidence=_view_words,
)

# What the policy lets a query read.


def _readable_of(call: Call) -> list[tuple[int, ...]] | None:
    """Of each new token, what should be readable among the rows held; None: unknown."""
    record, expected = call.record, call.verdict.expected
    n_new = len(record.token_ids) - record.n_skipped
    is_same_text = record.token_index and (
        record.token_index[-1] + 1 - record.n_rejected == expected.seen
    )
    is_refilled = expected.position_ids[:1] in ((0,), (None,)) and expected.seen > n_new
    is_same_start = call.is_refilled == (expected.recomputed > 0 or is_refilled)
    if not (record.layers and is_same_text and is_same_start and expected.readable):
        return None
    held = set(call.entered().token_index.tolist())
    return [tuple(t for t in given if t in held) for given in expected.readable[-n_new:]]


def _readable(call: Call) -> Answer:
    right = _readable_of(call)
    if right is None:
        return None
    return tuple(tuple(tokens.tolist()) for tokens in call.record.readable[-len(right) :])


def _right_readable(call: Call) -> Answer:
    right = _readable_of(call)
    return None if right is None else tuple(right)


def _reach(query: int, call: Call, n_sinks: int) -> int:
    """The earliest token in the window of a query."""
    return query - (call.base.capacity - n_sinks) + 1


def _reaching(run: Run, more: int) -> list[Answers]:
    """With a window that begins `more` tokens earlier than it should."""
    every: list[Answers] = []
    for call in run.focus:
        right = _readable_of(call)
        if right is None:
            every.append(None)
            continue
        held = set(call.entered().token_index.tolist())
        queries = call.tokens[-len(right) :].tolist()
        rows: list[tuple[int, ...]] = []
        for query, tokens in zip(queries, right, strict=True):
            first = _reach(query, call, run.n_sinks) - more
            may = [t for t in range(first, query + 1) if t in held]
            sinks = [t for t in tokens if t < run.n_sinks and t < first]
            rows.append((*sinks, *may))
        every.append((tuple(rows),))
    return every


def _one_further(run: Run) -> list[Answers]:
    return _reaching(run, 1)


def _one_less(run: Run) -> list[Answers]:
    return _reaching(run, -1)


def _readable_words(run: Run, call: Call, layer: int) -> str:
    right = _readable_of(call) or []
    given = [tuple(tokens.tolist()) for tokens in call.record.readable[-len(right) :]]
    queries = call.tokens[-len(right) :].tolist()
    for query, is_now, should_be in zip(queries, given, right, strict=True):
        if is_now != should_be:
            return (
                f"the query at token {query} may read {len(is_now)} tokens, from token "
                f"{min(is_now, default=query)} on; expected {len(should_be)}, from token "
                f"{min(should_be, default=query)} on"
            )
    return "the queries may read other tokens than the policy says"


READABLE = Aspect(
    field="readable",
    neutral="queries may read other tokens than the policy says",
    is_per_layer=False,
    observed=once(_readable),
    right=once(_right_readable),
    hypotheses=(
        Hypothesis("evict-off-by-one", _one_further),
        Hypothesis("evict-one-short", _one_less),
    ),
    evidence=_readable_words,
)

# What the mask lets a query see.

Mask = Callable[[IntArray, IntArray, BoolArray], BoolArray]
"""[T] tokens of the queries, [S] tokens of the rows read, [T, S] what may be read: what is seen."""


def _masked(call: Call, layer: int) -> Answer:
    return call.record.layers[layer].plan.mask.tobytes()


def _masking(rule: Mask) -> Callable[[Call, int], Answer]:
    def answer(call: Call, layer: int) -> Answer:
        return _by_rule(rule, call, layer).tobytes()

    return answer


def _by_rule(rule: Mask, call: Call, layer: int) -> BoolArray:
    record = call.record
    plan = record.layers[layer].plan
    key, query = plan.view_token_index, call.tokens
    n_pads = record.n_padding or call.base.n_pads
    if n_pads:
        slots = call.entered().slot[:n_pads]
        key = np.where(np.isin(plan.view_slots, slots), PAD, key)
        query = np.where(query == ABSENT, PAD, query)
    readable = np.array([np.isin(key, tokens) for tokens in record.readable])
    readable |= (query[:, None] == PAD) & (key == PAD)
    return rule(query, key, readable)


def _causal(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    return (readable & (key <= query[:, None])) | (key == ABSENT)


def _top_left(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    return np.tri(len(query), len(key), dtype=np.bool_)


def _own_block(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    return readable & (key <= query[:, None]) & (key >= query[0])


def _own_chunk(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    rule = _own_block if len(query) > 1 else _causal
    return rule(query, key, readable)


def _all_seen(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    return np.ones_like(readable) if len(query) > 1 else _causal(query, key, readable)


def _pads_seen(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    return _causal(query, key, readable) | (key == PAD)


def _pads_blind(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    return _causal(query, key, readable) & (key != PAD)


def _mask_words(run: Run, call: Call, layer: int) -> str:
    layer_record = call.record.layers[layer]
    mask, right = layer_record.plan.mask, _by_rule(_causal, call, layer)
    row = int(np.flatnonzero((mask != right).any(axis=1))[-1])
    token = call.tokens[row]
    who = "a query of padding" if token == ABSENT else f"the query at token {token}"
    weight = ""
    if mask[row].sum() == 1 and right[row].sum() > 1:
        weight = ", which gets the weight 1.0"
    return (
        f"in layer {layer} {who} sees {_columns_seen(mask[row])}{weight}; "
        f"expected {_columns_seen(right[row])}"
    )


def _columns_seen(row: BoolArray) -> str:
    seen = np.flatnonzero(row)
    if not len(seen):
        return f"none of {len(row)} columns"
    name = "column" if len(seen) == 1 else "columns"
    return f"{name} {_span(seen)} of {len(row)}"


MASKS = Aspect(
    field="visible",
    neutral="the mask does not show each query the readable tokens up to its own",
    is_per_layer=True,
    observed=by_layer(_masked),
    right=by_layer(_masking(_causal)),
    hypotheses=tuple(
        Hypothesis(preset, by_layer(_masking(rule)))
        for preset, rule in (
            ("mask-top-left", _top_left),
            ("mask-own-block", _own_block),
            ("mask-own-chunk", _own_chunk),
            ("mask-off-with-cache", _all_seen),
            ("mask-pads-open", _pads_seen),
            ("mask-nan-row", _pads_blind),
        )
    ),
    evidence=_mask_words,
)
