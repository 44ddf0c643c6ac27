"""How a row looks that nothing was written to: zeros, or poison where a run asks for it."""

from collections.abc import Sequence

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray
from core.record import LayerRecord, StepRecord

POISON_KEY = float("nan")
POISON_VALUE = 2.0**15
"""Large beside the values of any model, and exact and finite in every number type."""


def holds_nothing(row: FloatArray) -> bool:
    """Whether a key and a value [2, Hkv, D] are what a buffer holds before any write."""
    return not row.any() or is_poison(row)


def is_poison(row: FloatArray) -> bool:
    """Whether they are what a poisoned run fills dead rows with."""
    return bool((row[1] == POISON_VALUE).all() and np.isnan(row[0]).all())


def is_blank(records: Sequence[StepRecord], layer: int, row: int, version: int) -> bool:
    """Whether a row as first read in step `version` held what a buffer holds before any write.

    `version` ABSENT: never written nor found changed.
    """
    if version == ABSENT:
        return True
    first = records[version].layers[layer].first_read
    places = np.flatnonzero(first.row == row)
    return bool(len(places)) and holds_nothing(first.kv[:, :, places[0]])


def rows_unwritten(records: Sequence[StepRecord], layer: int, told: LayerRecord) -> BoolArray:
    """[S] whether a row that was read held no token because it was never written."""
    found = np.zeros(len(told.row_token), dtype=np.bool_)
    for place in np.flatnonzero(told.row_token == ABSENT).tolist():
        row, version = int(told.plan.read_rows[place]), int(told.row_version[place])
        found[place] = row != ABSENT and is_blank(records, layer, row, version)
    return found
