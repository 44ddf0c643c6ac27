"""The numbers themselves: rows as they are handed over, keys as they are used, heads that are read.

Where the integers are right, what is left to compare are the tensors that the record holds.
"""

import numpy as np

from core.arrays import FloatArray
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Answers, Aspect, Hypothesis, by_own_layer, each, once
from core.trace import rows_as_read

# How new rows look: 8-bit rows that lost their scale.

VALUES, ZEROS, WHOLE, STEPS = "values", "zeros", "whole numbers", "steps up to 127"
_MOST_STEPS = range(125, 130)
"""The largest step is 127; in bfloat16, which has eight digits, it can come out one or two off."""


def _kind(call: Call, layer: int) -> Answer:
    told = call.record.layers[layer]
    rows = np.stack((told.new_keys, told.new_values))[:, :, call.record.n_padding :]
    if not rows.any():
        return ZEROS
    if not np.isfinite(rows).all() or (rows != np.round(rows)).any():
        return VALUES
    most = np.abs(rows).max(axis=-1)
    return STEPS if np.isin(most, [0, *_MOST_STEPS]).all() else WHOLE


def _as_values(call: Call, layer: int) -> Answer:
    return VALUES


def _as_zeros(call: Call, layer: int) -> Answer:
    return ZEROS


def _as_steps(call: Call, layer: int) -> Answer:
    return STEPS


def _whole_or_small(run: Run) -> list[Answers]:
    """Whole numbers, of which small rows leave zeros."""
    found = each(_kinds)
    return [
        None if kinds is None else tuple(kind if kind != STEPS else WHOLE for kind in kinds)
        for kinds in found(run)
    ]


def _kinds(call: Call) -> Answers:
    return tuple(_kind(call, layer) for layer in range(len(call.record.layers))) or None


def _kind_words(call: Call, layer: int) -> str:
    told = call.record.layers[layer]
    kind = _kind(call, layer)
    most = float(np.abs(told.new_keys).max())
    return (
        f"every key and value that layer {layer} stored for token {call.tokens[-1]} is "
        f"{'zero' if kind == ZEROS else 'a whole number'}; the largest key is {most:g}"
    )


KINDS = Aspect(
    field="keys",
    is_per_layer=True,
    observed=by_own_layer(_kind),
    right=by_own_layer(_as_values),
    hypotheses=(
        Hypothesis("quant-zero-scale", by_own_layer(_as_zeros)),
        Hypothesis("quant-no-descale", by_own_layer(_as_steps)),
        Hypothesis("quant-floor", _whole_or_small),
    ),
    evidence=_kind_words,
)

# Keys as they are used, against keys as they were read.


def _read_keys(run: Run, call: Call, layer: int) -> FloatArray:
    return rows_as_read(run.records, call.record.step, layer)[0]


def _changed(run: Run) -> list[Answers]:
    """Of each layer, whether keys of earlier calls and keys of this call were changed."""
    every: list[Answers] = []
    for call in run.focus:
        layers = range(len(call.record.layers))
        every.append(tuple(_change(run, call, layer) for layer in layers) or None)
    return every


def _change(run: Run, call: Call, layer: int) -> Answer:
    used = call.record.layers[layer].used_keys
    if used is None:
        return False, False
    if used.ndim > 3:  # each query turns keys as it reads them: ask the oracle
        first = call.verdict.first_difference
        is_off = first is not None and first.field == "rotated_keys"
        return is_off, False
    is_other = (used != _read_keys(run, call, layer)).any(axis=(0, 2))
    n_old = max(0, len(is_other) - len(call.record.slots))
    return bool(is_other[:n_old].any()), bool(is_other[n_old:].any())


def _unchanged(call: Call, layer: int) -> Answer:
    return False, False


def _n_old(call: Call, layer: int) -> int:
    n_read = len(call.record.layers[layer].plan.read_rows)
    return max(0, n_read - len(call.record.slots))


def _old_turned(call: Call, layer: int) -> Answer:
    plan = call.record.layers[layer].plan
    return bool(plan.view_position_ids[: _n_old(call, layer)].any()), False


def _new_raw(call: Call, layer: int) -> Answer:
    plan = call.record.layers[layer].plan
    is_turned = plan.write_position_ids is not None and bool(plan.write_position_ids.any())
    return False, is_turned


def _change_words(call: Call, layer: int) -> str:
    first = call.verdict.first_difference
    by = "" if first is None or first.error is None else f", by up to {first.error:.3g}"
    n_read = len(call.record.layers[layer].plan.read_rows)
    return (
        f"layer {layer} used keys that are not those it read back: {n_read} rows were read, "
        f"the last {len(call.record.slots)} of them are this call's own{by}"
    )


CHANGED_KEYS = Aspect(
    field="rotated_keys",
    is_per_layer=True,
    observed=_changed,
    right=by_own_layer(_unchanged),
    hypotheses=(
        Hypothesis("rope-on-read", by_own_layer(_old_turned)),
        Hypothesis("rope-writeback-lost", by_own_layer(_new_raw)),
    ),
    evidence=_change_words,
)

# What a token brings in at the bottom.


def _enters_wrong(call: Call) -> Answer:
    """Whether a single token's key is wrong in layer 0, though its row is where it should be."""
    record, first = call.record, call.verdict.first_difference
    if len(record.slots) != 1:
        return None
    told = record.layers[0]
    is_placed = np.array_equal(told.row_token, told.plan.view_token_index)
    is_read_as_stored = told.used_keys is None or told.used_keys.ndim > 3
    is_off = first is not None and (first.layer, first.field) == (0, "keys")
    return bool(is_off and is_placed and is_read_as_stored and _kind(call, 0) == VALUES)


def _enters_right(call: Call) -> Answer:
    return None if len(call.record.slots) != 1 else False


def _without_position(call: Call) -> Answer:
    return None if len(call.record.slots) != 1 else True


def _entry_words(call: Call, layer: int) -> str:
    first = call.verdict.first_difference
    by = "off" if first is None or first.error is None else f"off by {first.error:.3g}"
    return (
        f"token {call.tokens[0]} came alone: its position id is right and its row is in its place, "
        f"but keys of layer 0 are {by}"
    )


ENTRY = Aspect(
    field="keys",
    is_per_layer=False,
    observed=once(_enters_wrong),
    right=once(_enters_right),
    hypotheses=(Hypothesis("pos-skip-single", once(_without_position)),),
    evidence=_entry_words,
    is_last_resort=True,
)

# Which key head each query head reads.

_NEAR = 1e-3
"""A score is that of a key head if it is off by less than this share of the largest score."""


def _n_rep(call: Call, layer: int) -> int:
    told = call.record.layers[layer]
    return len(told.queries) // len(told.new_keys)


def _heads_read(run: Run) -> list[Answers]:
    return [
        tuple(_heads_of(run, call, layer) for layer in range(len(call.record.layers))) or None
        for call in run.focus
    ]


def _heads_of(run: Run, call: Call, layer: int) -> Answer:
    told = call.record.layers[layer]
    n_heads, n_kv = len(told.queries), len(told.new_keys)
    right = _interleaved(call, layer)
    if n_kv in (1, n_heads):
        return right
    keys = _read_keys(run, call, layer) if told.used_keys is None else told.used_keys
    keys = keys if keys.ndim == 3 else keys[-1]
    products = np.einsum("hd,ksd->hks", told.queries[:, -1], keys) / np.sqrt(keys.shape[-1])
    off_by = np.abs(products - told.scores[:, -1][:, None]).max(axis=-1, initial=0.0)  # [Hq, Hkv]
    near = _NEAR * max(1.0, float(np.abs(told.scores[:, -1]).max(initial=0.0)))
    rights = np.array(right)
    is_right = off_by[np.arange(n_heads), rights] <= off_by.min(axis=1) + near
    return tuple(np.where(is_right, rights, off_by.argmin(axis=1)).tolist())


def _interleaved(call: Call, layer: int) -> tuple[int, ...]:
    n_rep = _n_rep(call, layer)
    return tuple(head // n_rep for head in range(len(call.record.layers[layer].queries)))


def _tiled(call: Call, layer: int) -> Answer:
    told = call.record.layers[layer]
    return tuple(head % len(told.new_keys) for head in range(len(told.queries)))


def _heads_words(call: Call, layer: int) -> str:
    told = call.record.layers[layer]
    n_kv = len(told.new_keys)
    right = _interleaved(call, layer)
    odd = next((h for h in range(len(right)) if h % n_kv != right[h]), 0)
    return (
        f"in layer {layer} the scores of query head {odd} are its products with key head "
        f"{odd % n_kv}; expected key head {right[odd]}"
    )


HEADS = Aspect(
    field="scores",
    is_per_layer=True,
    observed=_heads_read,
    right=by_own_layer(_interleaved),
    hypotheses=(Hypothesis("gqa-tile", by_own_layer(_tiled)),),
    evidence=_heads_words,
)
