"""Rows of which the key or the value alone is not the token's own."""

import numpy as np

from core.arrays import FloatArray
from core.diagnose.account import Call, Run
from core.trace import rows_as_read


def half_words(run: Run, call: Call, layer: int, column: int) -> str | None:
    """Which half of a row that was read is its token's own, and how far off the other one is.

    Compared with what was handed to the store for that token; None: neither half is, or the rows
    came from another sequence.
    """
    stored = None if call.reordered_at is not None else _stored(run, call, layer, column)
    if stored is None:
        return None
    read = rows_as_read(run.records, call.record.step, layer)[:, :, column]
    is_own = [np.array_equal(a, b, equal_nan=True) for a, b in zip(read, stored, strict=True)]
    if is_own[0] == is_own[1]:
        return None
    own, other = ("key", "value") if is_own[0] else ("value", "key")
    part = int(is_own[0])
    off = float(np.abs(read[part].astype(np.float64) - stored[part]).max())
    by = f"off by up to {off:.3g}" if np.isfinite(off) else "not finite"
    return f"its own {own} with another {other}, {by}"


def _stored(run: Run, call: Call, layer: int, column: int) -> FloatArray | None:
    """[2, Hkv, D] the key and value that the claimed token was last given."""
    token = int(call.record.layers[layer].plan.view_token_index[column])
    for earlier in reversed(run.calls[: run.calls.index(call) + 1]):
        record = earlier.record
        if record.request != call.record.request or not record.layers:
            continue
        places = np.flatnonzero(earlier.tokens == token)
        if len(places):
            told, place = record.layers[layer], int(places[-1])
            return np.stack((told.new_keys[:, place], told.new_values[:, place]))
    return None
