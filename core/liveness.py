"""Does a change of a row change the logits? Of a live row it must, of a dead one it must not.

A row is changed as attention cannot help noticing: its key becomes three times the query, per
layer and head, and its value is moved. (Zeroing a live row often changes nothing.) The step is
then made again, on a copy of the torch state; one layer at a time, so that the layer is known.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.arrays import FloatArray, IntArray
from core.engine.rehearsal import Rehearsal
from core.engine.rows import RowStore
from core.policy_oracle import Expected
from core.record import LayerRecord, StepRecord
from core.sanitizer import RowState, Shadow

MOST_LIVE = 16
"""Live rows of each layer that are tried in one step. Of more, the first, the last and a sample
drawn by the seed."""
_STRENGTHS = (3.0, -3.0, 30.0, -30.0, 300.0)
"""Times the query. The first does nearly always; a far row under ALiBi, or 16 bits, can take more,
and a row counts as blind only if nothing did. A query that points away hides what it multiplies, so
the sign is tried too."""
_DEAD_STRENGTHS = (3.0, 30.0)


@dataclass(frozen=True, slots=True)
class Blind:
    """A token that the query is to read, whose row can be changed without a change of the logits.

    Attributes:
        layer: the layer.
        token_index: the token; None: a row of no token, a probe's.
        row: its physical row; None: it has none any more.
    """

    layer: int
    token_index: int | None
    row: int | None


@dataclass(frozen=True, slots=True)
class Leak:
    """A row that is not to be read, which changes the logits.

    Attributes:
        layer: the layer.
        row: the physical row.
        state: what it is.
    """

    layer: int
    row: int
    state: RowState


@dataclass(frozen=True, slots=True)
class Liveness:
    """What changing rows did in a step.

    Attributes:
        step: the step.
        n_live: rows of each layer that the newest query is to read, its own left out.
        n_tried: those of them that were changed, in each layer.
        n_dead: the other rows of each buffer; all of them were changed, together.
        blind: live rows without an effect, by layer, then token.
        leaks: dead rows with one, by layer, then row.
        n_forwards: how often the step was made again.
        seconds: processor time that it took.
        skipped: why nothing could be tried; None: it could.
    """

    step: int
    n_live: int = 0
    n_tried: int = 0
    n_dead: int = 0
    blind: tuple[Blind, ...] = ()
    leaks: tuple[Leak, ...] = ()
    n_forwards: int = 0
    seconds: float = 0.0
    skipped: str | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether anything was found."""
        return bool(self.blind or self.leaks)


def is_tried(record: StepRecord, every: int) -> bool:
    """Whether a step is one whose rows are changed: every so many steps, if it is a decode."""
    return record.step % every == 0 and record.phase == "decode" and record.is_computed


def liveness_of(
    rehearsal: Rehearsal, record: StepRecord, expected: Expected, shadow: Shadow, seed: int
) -> Liveness:
    """Change rows of a decode step, one after the other, and say what that did.

    Args:
        rehearsal: made before the step.
        record: of the step.
        expected: what is right for it.
        shadow: of its sequence, before the step.
        seed: with the step, decides which rows are tried where there are many.
    """
    logits = record.logits
    if logits is None or not np.isfinite(logits).all():
        return Liveness(record.step, skipped="its logits are no numbers")
    if not expected.readable:
        return Liveness(record.step, skipped="the cache should have refused it")
    began_s = time.thread_time()
    trial = _Trial(rehearsal, record, logits)
    live = _live_tokens(expected)
    blind: list[Blind] = []
    leaks: list[Leak] = []
    n_rows = rehearsal.engine.store.n_allocated
    n_live = n_tried = n_dead = 0
    for layer in range(len(record.layers)):
        rows = _Rows.of(shadow, layer, live, n_rows, with_loose=expected.n_loose > 0)
        chosen = _sample(rows.live, random.Random(f"{seed}/{record.step}"))
        blind.extend(Blind(layer, token, None) for token in rows.missing)
        blind.extend(
            Blind(layer, token, row)
            for token, row in chosen
            if not trial.does_change(layer, [row], _STRENGTHS)
        )
        leaks.extend(Leak(layer, row, rows.state_of(row)) for row in trial.leaks(layer, rows.dead))
        n_live, n_tried, n_dead = len(rows.live), len(chosen), len(rows.dead)
    took_s = time.thread_time() - began_s
    found = tuple(blind), tuple(leaks)
    return Liveness(record.step, n_live, n_tried, n_dead, *found, trial.n_forwards, took_s)


def _live_tokens(expected: Expected) -> IntArray:
    """Tokens that the newest query reads and that were computed before this step, ascending."""
    first_computed = expected.seen - 1 - expected.recomputed
    readable = np.array(expected.readable[-1], dtype=np.int64)
    return readable[readable < first_computed]


def _sample(
    live: Sequence[tuple[int | None, int]], rng: random.Random
) -> list[tuple[int | None, int]]:
    """At most so many of them, in their order; the first and the last, where most goes wrong."""
    if len(live) <= MOST_LIVE:
        return list(live)
    between = rng.sample(range(1, len(live) - 1), MOST_LIVE - 2)
    return [live[i] for i in (0, *sorted(between), len(live) - 1)]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of a layer before a step.

    Attributes:
        live: (token, row) of what the newest query reads.
        missing: tokens that it is to read, but that have no row.
        dead: all other rows of the buffer.
        state: [R] of the rows in the shadow account.
    """

    live: tuple[tuple[int | None, int], ...]
    missing: tuple[int, ...]
    dead: tuple[int, ...]
    state: IntArray

    @classmethod
    def of(
        cls, shadow: Shadow, layer: int, tokens: IntArray, n_rows: int, *, with_loose: bool
    ) -> "_Rows":
        state, token = shadow.rows_of(layer)
        of_token = np.flatnonzero(state == RowState.LIVE).tolist()
        row_of = {int(token[row]): row for row in of_token if row < n_rows}
        live: list[tuple[int | None, int]] = [
            (t, row_of[t]) for t in tokens.tolist() if t in row_of
        ]
        if with_loose:
            live.extend((None, row) for row in np.flatnonzero(state == RowState.LOOSE).tolist())
        taken = {row for _, row in live}
        return cls(
            tuple(live),
            tuple(t for t in tokens.tolist() if t not in row_of),
            tuple(row for row in range(n_rows) if row not in taken),
            state,
        )

    def state_of(self, row: int) -> RowState:
        return RowState(self.state[row]) if row < len(self.state) else RowState.NEVER_WRITTEN


class _Trial:
    """Makes the step again with changed rows, and compares."""

    def __init__(self, rehearsal: Rehearsal, record: StepRecord, logits: FloatArray) -> None:
        self._rehearsal = rehearsal
        self._record = record
        self._logits = logits
        self.n_forwards = 0

    def leaks(self, layer: int, rows: Sequence[int]) -> list[int]:
        """The rows that have an effect; only if they have one together is each asked."""
        if not rows or not self.does_change(layer, rows, _DEAD_STRENGTHS):
            return []
        return [row for row in rows if self.does_change(layer, [row], _DEAD_STRENGTHS)]

    def does_change(self, layer: int, rows: Sequence[int], strengths: Sequence[float]) -> bool:
        """Whether any of the changes to these rows of a layer changes a bit of the logits."""
        return any(self._does(layer, rows, strength) for strength in strengths)

    def _does(self, layer: int, rows: Sequence[int], strength: float) -> bool:
        self.n_forwards += 1
        change = _change(self._record.layers[layer], layer, rows, strength)
        logits = self._rehearsal.logits(change)
        return logits is None or not np.array_equal(logits, self._logits, equal_nan=True)


def _change(
    told: LayerRecord, layer: int, rows: Sequence[int], strength: float
) -> Callable[[RowStore], None]:
    """Makes the keys of rows of a layer so many times the newest query, and moves their values."""
    n_rep = len(told.queries) // len(told.new_keys)
    keys = strength * told.queries[::n_rep, -1].astype(np.float64)
    largest = float(np.abs(told.new_values[np.isfinite(told.new_values)]).max(initial=1.0))
    by = abs(strength) / 3.0 * largest
    at = np.array(rows, dtype=np.int64)

    def change(store: RowStore) -> None:
        buffer = store.layers[layer]
        most = torch.finfo(buffer.kv.dtype).max
        new_keys = torch.tensor(keys).clamp(-most, most).to(buffer.kv)
        values = buffer.kv[1, :, at].nan_to_num(0.0).double().add(by).clamp(-most, most)
        buffer.write(at, new_keys[:, None].expand(-1, len(at), -1), values.to(buffer.kv))

    return change
