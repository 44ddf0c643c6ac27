"""Where attention goes, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import FloatArray
from core.readouts.attention_keys import KeyLabel
from core.readouts.history import newest_query, newest_token, rejected_tokens
from core.readouts.words import numbered
from core.record import StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.attention import HeadGrid

_MOST_KEYS = 3
_LEAST_WEIGHT, _NEARLY_ALL = 0.005, 0.995
ALL_FROM = 0.9995
"""From here a weight reads 1.000."""


def attention_sentence(
    record: StepRecord,
    grid: HeadGrid,
    selection: Selection,
    text: Mapping[int, str],
) -> str:
    """What the newest query looks at, first where all heads agree, then in the head looked at."""
    if not record.is_computed:
        earlier = "; what is shown was computed before" if grid.n_rows else ""
        return f"nothing was computed in this step{earlier}"
    said = [*_all_heads(record), _one_head(record, grid, selection, text)]
    return "; ".join([*said, *_repeats(grid), *_not_shown(record)])


def slot_of_all_heads(record: StepRecord) -> int | None:
    """The slot to which every head of every layer gives all weight of the newest query; or None.

    None also where that query could read one row only: it has no choice.
    """
    slots: set[int] = set()
    for told in record.layers:
        newest = told.weights[:, newest_query(record)]
        if newest.shape[-1] < 2 or not (newest.max(axis=-1) >= ALL_FROM).all():
            return None
        slots.update(told.plan.view_slots[newest.argmax(axis=-1)].tolist())
        if len(slots) > 1:
            return None
    return slots.pop() if slots else None


def _all_heads(record: StepRecord) -> Iterator[str]:
    slot = slot_of_all_heads(record)
    if slot is not None:
        n_heads = sum(len(told.weights) for told in record.layers)
        yield f"all {n_heads} heads: 1.000 on slot {slot}"


def _one_head(
    record: StepRecord, grid: HeadGrid, selection: Selection, text: Mapping[int, str]
) -> str:
    where = f"head {selection.head} of layer {selection.layer}"
    token = newest_token(record)
    kept = ", the last one kept" if record.n_rejected else ""
    query = f"‘{text[token]}’ (token {token}{kept})"
    weights = grid.newest_weights
    if np.isnan(weights).any():
        return f"{where}: weights of {query} that are not a number"
    first, *others = _largest(weights)
    words = [f"{_key_words(grid.key(-1, first))} gets {_number(weights[first])} from {query}"]
    words.extend(
        f"{_key_words(grid.key(-1, column))} {_number(weights[column])}"
        for column in others
        if weights[column] >= _LEAST_WEIGHT
    )
    return f"{where}: {', '.join(words)}"


def _repeats(grid: HeadGrid) -> Iterator[str]:
    """Whose rows the newest query read more than once, and how they are shown."""
    keys = [grid.key(-1, int(column)) for column in np.flatnonzero(grid.keys[-1].n_read > 1)]
    if not keys:
        return
    tokens = [key.claimed_token_index for key in keys if key.claimed_token_index is not None]
    slots = [key.slot for key in keys if key.claimed_token_index is None and key.slot is not None]
    named = (("token", tokens), ("slot", slots))
    names = [numbered(noun, numbers) for noun, numbers in named if numbers]
    yield f"{' and '.join(names)} read more than once, the weights added"


def _not_shown(record: StepRecord) -> Iterator[str]:
    """Which queries of the step were rejected, and so are not among those shown."""
    rejected = rejected_tokens(record)
    if rejected:
        yield f"rejected and not shown: {numbered('token', rejected)}"


def _largest(weights: FloatArray) -> list[int]:
    """Places of the largest weights, of equal ones the first."""
    left, places = weights.copy(), list[int]()
    for _ in range(min(_MOST_KEYS, len(weights))):
        places.append(int(left.argmax()))
        left[places[-1]] = -np.inf
    return places


def _key_words(key: KeyLabel) -> str:
    if key.token_index is not None:
        return f"‘{key.text}’ (token {key.token_index}, slot {key.slot}{_n_rows(key)})"
    what = "never written" if key.is_unwritten else "a row of no token"
    return f"slot {key.slot} ({what}{_n_rows(key)})"


def _n_rows(key: KeyLabel) -> str:
    return f", {key.n_read} rows" if key.n_read > 1 else ""


def _number(weight: float) -> str:
    """A weight with two digits, or three decimals where two would round it up to 1."""
    return f"{weight:.3f}" if weight >= _NEARLY_ALL else f"{weight:.2g}"
