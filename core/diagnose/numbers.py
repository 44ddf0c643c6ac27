"""The numbers themselves: keys as they are used, what comes in at the bottom, heads that are read.

Where the integers are right, what is left to compare are the tensors that the record holds.
"""

import numpy as np

from core.arrays import FloatArray, IntArray
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Answers, Aspect, Hypothesis, by_own_layer, once
from core.diagnose.in_place import is_left_turned, is_turned
from core.diagnose.narrow import VALUES, kind_of
from core.trace import rows_as_read

# Keys as they are used, against keys as they were read.


def _read_keys(run: Run, call: Call, layer: int) -> FloatArray:
    return rows_as_read(run.records, call.record.step, layer)[0]


AS_READ, TURNED_ON, TURNED_BACK, OTHER = "as read", "turned on", "turned back", "others"


def _changed(run: Run) -> list[Answers]:
    """Of each layer, how keys of earlier calls and keys of this call were changed."""
    every: list[Answers] = []
    for call in run.focus:
        layers = range(len(call.record.layers))
        every.append(tuple(_change(run, call, layer) for layer in layers) or None)
    return every


def _change(run: Run, call: Call, layer: int) -> Answer:
    told = call.record.layers[layer]
    used, plan = told.used_keys, told.plan
    if used is None:
        return AS_READ, AS_READ
    read, place = _read_keys(run, call, layer), plan.view_position_ids
    turned_at = np.zeros_like(place)
    if used.ndim > 3:  # each query turns keys as it reads them: the last one stands for all
        used = used[-1]
        turned_at = place if plan.read_position_ids is None else plan.read_position_ids[-1]
    n_old = _n_old(call, layer)
    return tuple(
        _turn(read[:, part], used[:, part], turned_at[part], place[part])
        for part in (slice(None, n_old), slice(n_old, None))
    )


def _turn(read: FloatArray, used: FloatArray, turned_at: IntArray, place: IntArray) -> Answer:
    """How the keys used [Hkv, n, D] come from those read, beyond the turn that is due."""
    is_due = bool(turned_at.any())
    if np.array_equal(used, read) if not is_due else is_turned(read, used, turned_at):
        return AS_READ
    if is_turned(read, used, turned_at + place):
        return TURNED_ON
    return TURNED_BACK if is_turned(read, used, turned_at - place) else OTHER


def _unchanged(call: Call, layer: int) -> Answer:
    return AS_READ, AS_READ


def _n_old(call: Call, layer: int) -> int:
    n_read = len(call.record.layers[layer].plan.read_rows)
    return max(0, n_read - len(call.record.slots))


def _old_turned(call: Call, layer: int) -> Answer:
    place = call.record.layers[layer].plan.view_position_ids[: _n_old(call, layer)]
    return TURNED_ON if place.any() else AS_READ, AS_READ


def _new_raw(call: Call, layer: int) -> Answer:
    plan = call.record.layers[layer].plan
    is_turned = plan.write_position_ids is not None and bool(plan.write_position_ids.any())
    return AS_READ, TURNED_BACK if is_turned else AS_READ


def _is_not_left_turned(run: Run) -> bool:
    return not is_left_turned(run)


def _change_words(run: Run, call: Call, layer: int) -> str:
    first = call.verdict.first_difference
    by = "" if first is None or first.error is None else f", by up to {first.error:.3g}"
    n_read, n_own = len(call.record.layers[layer].plan.read_rows), len(call.record.slots)
    own = "the last one is" if n_own == 1 else f"the last {n_own} are"
    return (
        f"layer {layer} used keys that are not those it read back: {n_read} rows were read, "
        f"{own} this call's own{by}"
    )


CHANGED_KEYS = Aspect(
    field="rotated_keys",
    neutral="keys are changed between the store and the scores",
    is_per_layer=True,
    observed=_changed,
    right=by_own_layer(_unchanged),
    hypotheses=(
        Hypothesis("rope-on-read", by_own_layer(_old_turned), is_sure=_is_not_left_turned),
        Hypothesis("rope-write-back", by_own_layer(_old_turned), is_sure=is_left_turned),
        Hypothesis("rope-writeback-lost", by_own_layer(_new_raw)),
    ),
    evidence=_change_words,
)

# What a token brings in at the bottom.


def _enters_wrong(call: Call) -> Answer:
    """Whether a key that the call brings in is wrong in layer 0, though its row is in its place."""
    if not call.record.layers:
        return None
    told = call.record.layers[0]
    is_placed = np.array_equal(told.row_token, told.plan.view_token_index)
    is_read_as_stored = told.used_keys is None or told.used_keys.ndim > 3
    rows = told.plan.write_rows[call.record.n_padding :].tolist()
    off = call.verdict.off_rows[0] if call.verdict.off_rows else ()
    is_off = any(first <= row < end for row in rows for first, end in off)
    return bool(is_off and is_placed and is_read_as_stored and kind_of(call, 0) == VALUES)


def _enters_right(call: Call) -> Answer:
    return False if call.record.layers else None


def _without_position(run: Run) -> list[Answers]:
    """Single tokens alone enter wrong, but for those whose key is as good as right by chance."""
    is_refuted = _has_one_key_twice(run) is False
    return [
        None
        if not call.record.layers
        else (bool(len(call.record.slots) == 1 and not is_refuted and _enters_wrong(call)),)
        for call in run.focus
    ]


def _is_without_position(run: Run) -> bool:
    return _has_one_key_twice(run) is True


def _has_one_key_twice(run: Run) -> bool | None:
    """Whether a token that was read alone at two places had the same key; None: none was."""
    known: dict[int, tuple[int, FloatArray]] = {}
    for call in run.calls:
        record = call.record
        if len(record.slots) != 1 or not record.layers or not _enters_wrong(call):
            continue
        key, place = record.layers[0].new_keys, int(record.layers[0].plan.position_ids[0])
        before, other = known.setdefault(record.token_ids[-1], (place, key))
        if before != place:
            return np.array_equal(other, key)
    return None


def _entry_words(run: Run, call: Call, layer: int) -> str:
    first = call.verdict.first_difference
    by = "off" if first is None or first.error is None else f"off by {first.error:.3g}"
    tokens = call.tokens[call.record.n_padding :]
    who = f"token {tokens[0]} came alone" if len(tokens) == 1 else f"{len(tokens)} tokens came"
    its = "its position id is right and its row is in its place"
    its = its if len(tokens) == 1 else "their position ids are right and their rows in place"
    return f"{who}: {its}, but keys of layer 0 are {by}"


ENTRY = Aspect(
    field="keys",
    neutral="keys that layer 0 stores are not those of its tokens at their position ids",
    is_per_layer=False,
    observed=once(_enters_wrong),
    right=once(_enters_right),
    hypotheses=(Hypothesis("pos-skip-single", _without_position, is_sure=_is_without_position),),
    evidence=_entry_words,
    is_last_resort=True,
)

# Which key head each query head reads.

_NEAR = 1e-3
"""A score is that of a key head if it is off by less than this share of the largest score."""
_NUMBER_TYPES = 40
"""How much further off 16-bit types may be, where every other head is off by more."""


def _n_rep(call: Call, layer: int) -> int:
    told = call.record.layers[layer]
    return len(told.queries) // len(told.new_keys)


def _heads_read(run: Run) -> list[Answers]:
    """In steps whose first difference are scores: others are off by what came before."""
    every: list[Answers] = []
    for call in run.focus:
        first = call.verdict.first_difference
        find = _heads_of if first is not None and first.field == "scores" else _its_own_heads
        layers = range(len(call.record.layers))
        every.append(tuple(find(run, call, layer) for layer in layers) or None)
    return every


def _its_own_heads(run: Run, call: Call, layer: int) -> tuple[int, ...]:
    return _interleaved(call, layer)


def _heads_of(run: Run, call: Call, layer: int) -> tuple[int, ...]:
    """The key head that each query head's scores are products with; the right one if none is."""
    told = call.record.layers[layer]
    n_heads, n_kv = len(told.queries), len(told.new_keys)
    rights = np.array(_interleaved(call, layer))
    if n_kv == 1:
        return tuple(rights.tolist())
    keys = _read_keys(run, call, layer) if told.used_keys is None else told.used_keys
    keys = keys if keys.ndim == 3 else keys[-1]
    products = np.einsum("hd,ksd->hks", told.queries[:, -1], keys) / np.sqrt(keys.shape[-1])
    off_by = np.abs(products - told.scores[:, -1][:, None]).max(axis=-1, initial=0.0)  # [Hq, Hkv]
    near = _NEAR * max(1.0, float(np.abs(told.scores[:, -1]).max(initial=0.0)))
    is_another = off_by[np.arange(n_heads), rights] > off_by.min(axis=1) + near
    is_near = off_by.min(axis=1) <= near * _NUMBER_TYPES
    return tuple(np.where(is_another & is_near, off_by.argmin(axis=1), rights).tolist())


def _interleaved(call: Call, layer: int) -> tuple[int, ...]:
    n_rep = _n_rep(call, layer)
    return tuple(head // n_rep for head in range(len(call.record.layers[layer].queries)))


def _tiled(call: Call, layer: int) -> Answer:
    told = call.record.layers[layer]
    return tuple(head % len(told.new_keys) for head in range(len(told.queries)))


def _heads_words(run: Run, call: Call, layer: int) -> str:
    right, found = _interleaved(call, layer), _heads_of(run, call, layer)
    odd = next((h for h in range(len(right)) if found[h] != right[h]), 0)
    return (
        f"in layer {layer} the scores of query head {odd} are its products with key head "
        f"{found[odd]}; expected key head {right[odd]}"
    )


HEADS = Aspect(
    field="scores",
    neutral="query heads are scored against other key heads than their own",
    is_per_layer=True,
    observed=_heads_read,
    right=by_own_layer(_interleaved),
    hypotheses=(Hypothesis("gqa-tile", by_own_layer(_tiled)),),
    evidence=_heads_words,
)
