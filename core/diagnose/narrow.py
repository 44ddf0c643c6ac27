"""How new rows look: 8-bit rows that lost their scale."""

import numpy as np

from core.arrays import FloatArray
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Answers, Aspect, Hypothesis, by_own_layer, each

VALUES, ZEROS, WHOLE, STEPS = "values", "zeros", "whole numbers", "steps up to 127"
_MOST_STEPS = range(125, 130)
"""The largest step is 127; in bfloat16, which has eight digits, it can come out one or two off."""
_MEAN_OFF = 0.12
"""By how much rows are off whole steps on average where they are kept in steps; others: by 1/4."""


def _rows(call: Call, layer: int) -> FloatArray:
    told = call.record.layers[layer]
    return np.stack((told.new_keys, told.new_values))[:, :, call.record.n_padding :]


def kind_of(call: Call, layer: int) -> Answer:
    """How the new rows of a layer look."""
    rows = _rows(call, layer)
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
    """Whole numbers, which are the nearest ones, and of which small rows leave zeros."""
    every = each(_kinds)(run)
    if not any(kind in (WHOLE, STEPS) for kinds in every for kind in kinds or ()):
        return [None] * len(every)  # zeros alone say nothing of a scale
    return [
        None if kinds is None or not _is_nearest(call) else tuple(_no_steps(k) for k in kinds)
        for call, kinds in zip(run.focus, every, strict=True)
    ]


def _no_steps(kind: Answer) -> Answer:
    return WHOLE if kind == STEPS else kind


def _is_nearest(call: Call) -> bool:
    """Whether stored rows of layer 0, which nothing before can spoil, are off by no more than half.

    Half a step of the row that was expected comes to it, and what the number type rounds.
    """
    first = call.verdict.first_difference
    if first is None or (first.layer, first.field) not in ((0, "keys"), (0, "values")):
        return True
    most = float(np.abs(_rows(call, 0)).max(initial=0.0))
    return first.error is None or first.error <= 0.5 + (most + 1) / 254 + most / 64


def _kinds(call: Call) -> Answers:
    return tuple(kind_of(call, layer) for layer in range(len(call.record.layers))) or None


def _kind_words(run: Run, call: Call, layer: int) -> str:
    told = call.record.layers[layer]
    kind = kind_of(call, layer)
    most = float(np.abs(told.new_keys).max())
    return (
        f"every key and value that layer {layer} stored for token {call.tokens[-1]} is "
        f"{'zero' if kind == ZEROS else 'a whole number'}; the largest key is {most:g}"
    )


def is_narrow(call: Call) -> bool:
    """Whether the rows of layer 0 are kept in few steps, or have lost their scale."""
    if kind_of(call, 0) != VALUES:
        return True
    rows = np.abs(_rows(call, 0))
    most = rows.max(axis=-1, keepdims=True)
    steps = (rows / np.where(most > 0, most, 1) * 127)[np.isfinite(rows)]
    return bool(np.abs(steps - np.round(steps)).mean() < _MEAN_OFF)


KINDS = Aspect(
    field="keys",
    neutral="rows are narrowed to whole numbers or zeros",
    is_per_layer=True,
    observed=by_own_layer(kind_of),
    right=by_own_layer(_as_values),
    hypotheses=(
        Hypothesis("quant-zero-scale", by_own_layer(_as_zeros)),
        Hypothesis("quant-no-descale", by_own_layer(_as_steps)),
        Hypothesis("quant-floor", _whole_or_small),
    ),
    evidence=_kind_words,
)
