"""Rows that were changed by who read them: what stands there is not what was read there before."""

from typing import NamedTuple

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.diagnose.account import Call, Run
from core.trace import rows_as_read

_TURN_OFF = 0.05
"""A pair of numbers is the turned one if it is off by less than this share of its length."""
_SCALE_OFF = 0.01
"""A number is the scaled one if it is off by less than this share of it."""


class ReadTwice(NamedTuple):
    """Rows of a layer that were read in two calls and not written between, n of them.

    Attributes:
        columns: [n] their places in the later call.
        then: [2, Hkv, n, D] what was read first.
        now: [2, Hkv, n, D] what was read later.
        place: [n] position ids that the first call's ledger claims for them.
        was_new: [n] whether the first call had written them itself.
    """

    columns: IntArray
    then: FloatArray
    now: FloatArray
    place: IntArray
    was_new: BoolArray


def read_twice(run: Run, call: Call, layer: int) -> ReadTwice | None:
    """Rows that the sequence's last call read as well; None: there is no such call, or no row."""
    before = _read_before(run, call)
    if before is None:
        return None
    plan, old = call.record.layers[layer].plan, run.records[before].layers[layer].plan
    place = {row: at for at, row in enumerate(old.read_rows.tolist())}
    written = set(plan.write_rows.tolist())
    pairs = [
        (at, place[row])
        for at, row in enumerate(plan.read_rows.tolist())
        if row in place and row not in written
    ]
    if not pairs:
        return None
    later, first = np.array(pairs).T
    return ReadTwice(
        later,
        rows_as_read(run.records, before, layer)[:, :, first],
        rows_as_read(run.records, call.record.step, layer)[:, :, later],
        old.view_position_ids[first],
        np.isin(old.read_rows[first], old.write_rows),
    )


def _read_before(run: Run, call: Call) -> int | None:
    """The last step in which the call's sequence read rows; None: none since beams were moved."""
    first = -1 if call.reordered_at is None else call.reordered_at
    for step in range(call.record.step - 1, first, -1):
        record = run.records[step]
        if record.request == call.record.request and record.layers:
            return step
    return None


def scaled_columns(run: Run, call: Call, layer: int) -> IntArray:
    """[n] places of rows whose keys were divided by √D since they were last read; values stay."""
    twice = read_twice(run, call, layer)
    if twice is None:
        return np.empty(0, dtype=np.int64)
    wanted = twice.then[0] * twice.then.shape[-1] ** -0.5
    off_by = np.abs(twice.now[0] - wanted).max(axis=(0, 2))
    size = np.abs(wanted).max(axis=(0, 2))
    is_kept = (twice.now[1] == twice.then[1]).all(axis=(0, 2))
    return twice.columns[is_kept & (size > 0) & (off_by <= _SCALE_OFF * size)]


def is_turned(read: FloatArray, used: FloatArray, by: IntArray) -> bool:
    """Whether each pair kept its length, and the first one, which turns by 1 a place, is turned.

    Args:
        read: [Hkv, n, D] keys.
        used: [Hkv, n, D] what became of them.
        by: [n] how many places they would be turned on.
    """
    half = read.shape[-1] // 2
    before = read[..., :half] + 1j * read[..., half:]
    after = used[..., :half] + 1j * used[..., half:]
    size = np.abs(before)
    allowed = _TURN_OFF * size + 1e-3 * size.max(initial=0.0)
    is_kept = np.abs(np.abs(after) - size) <= allowed
    turned = before[..., 0] * np.exp(1j * by)
    return bool(is_kept.all() and (np.abs(after[..., 0] - turned) <= allowed[..., 0]).all())


def is_left_turned(run: Run) -> bool:
    """Whether keys of earlier calls stay turned on where they are, in any layer.

    Calls tell that read rows again which were no longer new when they were read before, and do not
    stand at position 0; without one they are not known to. One that finds them turned is enough:
    in the others the rule may not have acted, or have turned a copy.
    """
    return any(
        _finds_turned(run, call, layer)
        for call in run.focus
        for layer in range(len(call.record.layers))
    )


def _finds_turned(run: Run, call: Call, layer: int) -> bool:
    twice = read_twice(run, call, layer)
    if twice is None:
        return False
    is_old = (twice.place > 0) & ~twice.was_new
    then, now = twice.then[0][:, is_old], twice.now[0][:, is_old]
    return not np.array_equal(now, then) and is_turned(then, now, twice.place[is_old])
