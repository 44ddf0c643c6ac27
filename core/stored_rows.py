"""Which rows of the buffers hold something else than the reference computes for their tokens.

A row is compared once for each version of its bytes, in the step that first reads them; until
they change they stay what they are.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray
from core.record import LayerRecord, StepRecord
from core.reference import ReferenceRun
from core.rounding import Rounding
from core.stages import PlacedStep
from core.tolerance import beyond, gap, row_bands
from core.verdict import OffRows


class StoredRows:
    """Follows a run, step by step."""

    def __init__(self, dtype: str) -> None:
        """Nothing is stored yet. `dtype`: number type of the engine."""
        self._dtype = dtype
        self._is_off: dict[tuple[int, int], BoolArray] = {}
        self._latest: dict[int, OffRows] = {}

    def follow(
        self,
        records: Iterable[StepRecord],
        placed: Sequence[PlacedStep],
        run: Callable[[int], ReferenceRun],
        rounding: Rounding,
    ) -> dict[int, OffRows]:
        """By step, the rows read in it that are off: see `core.verdict.StepVerdict`.

        Args:
            records: the next steps of the run.
            placed: those of them that stand in a passage of the reference.
            run: number to a run over that passage.
            rounding: what it may do at each step.
        """
        bands: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}
        places = {step.record.step: step for step in placed}
        found: dict[int, OffRows] = {}
        for record in records:
            if record.parents:
                self._reorder(record.parents)
            place = places.get(record.step)
            tokens = [] if place is None else _tokens_first_read(record)
            for layer, told in enumerate(record.layers):
                table = (record.request, layer)
                if place is None:
                    self._note(table, told.first_read.row, None)
                    continue
                known = run(place.passage_id)
                key = (place.passage_id, layer)
                if key not in bands:
                    keys = row_bands(self._dtype, known.stored_keys[layer])
                    bands[key] = (keys, row_bands(self._dtype, known.values[layer]))
                off = _rows_off(place, layer, tokens[layer], known, bands[key], rounding)
                self._note(table, told.first_read.row, off)
            if record.layers:
                self._latest[record.request] = self._read_by(record)
            found[record.step] = self._latest.get(record.request, ())
        return found

    def _reorder(self, parents: Sequence[int]) -> None:
        """Each sequence has copies of its parent's rows, the damaged ones too."""
        self._is_off = {
            (mine, layer): table.copy()
            for (owner, layer), table in self._is_off.items()
            for mine, parent in enumerate(parents)
            if parent == owner
        }
        latest = self._latest
        self._latest = {mine: latest[p] for mine, p in enumerate(parents) if p in latest}

    def _note(self, key: tuple[int, int], rows: IntArray, is_off: BoolArray | None) -> None:
        """Rows of a request and layer have new bytes; None: nothing is known of them."""
        table = self._is_off.get(key, np.zeros(0, dtype=np.bool_))
        size = int(rows.max(initial=-1)) + 1
        if size > len(table):
            grown = np.zeros(max(size, 2 * len(table)), dtype=np.bool_)
            grown[: len(table)] = table
            table = grown
        self._is_off[key] = table
        table[rows] = False if is_off is None else is_off

    def _read_by(self, record: StepRecord) -> OffRows:
        tables = [self._is_off[record.request, layer] for layer in range(len(record.layers))]
        if not any(table.any() for table in tables):
            return ()
        told = tuple(map(_ranges, tables, record.layers))
        return told if any(told) else ()


def _ranges(table: BoolArray, told: LayerRecord) -> tuple[tuple[int, int], ...]:
    """Runs of rows that were read and are off."""
    read = np.unique(told.plan.read_rows)
    read = read[(read != ABSENT) & (read < len(table))]
    rows = read[table[read]]
    if not len(rows):
        return ()
    ends = np.flatnonzero(np.diff(rows) != 1)
    firsts = rows[np.concatenate(([0], ends + 1))].tolist()
    lasts = rows[np.concatenate((ends, [len(rows) - 1]))].tolist()
    return tuple(zip(firsts, (last + 1 for last in lasts), strict=True))


def _rows_off(
    step: PlacedStep,
    layer: int,
    tokens: IntArray,
    run: ReferenceRun,
    bands: tuple[FloatArray, FloatArray],
    rounding: Rounding,
) -> BoolArray:
    """[n] whether each row first read in a step is beyond the band; not where it has no token."""
    first = step.record.layers[layer].first_read
    start = step.record.token_index[-1] - step.row
    keys, values = run.stored_keys[layer], run.values[layer]
    place = tokens - start
    is_known = (place >= 0) & (place < keys.shape[1])
    is_off = np.zeros(len(first.row), dtype=np.bool_)
    at = place[is_known]
    parts = zip(("keys", "values"), first.kv, (keys, values), bands, strict=True)
    for name, mine, right, band in parts:
        off_by = gap(mine[:, is_known], right[:, at]).max(axis=(0, 2))
        limits = rounding.limits(step.record.step, name, layer, band[at], off_by)
        is_off[is_known] |= beyond(off_by, limits)
    return is_off


def _tokens_first_read(record: StepRecord) -> list[IntArray]:
    """By layer, the tokens of the rows first read; looked up once for layers that agree."""
    found: dict[tuple[int, int, int], IntArray] = {}
    keys = [(id(t.plan), id(t.row_token), id(t.first_read.row)) for t in record.layers]
    for key, told in zip(keys, record.layers, strict=True):
        if key not in found:
            found[key] = _tokens_of(told)
    return [found[key] for key in keys]


def _tokens_of(told: LayerRecord) -> IntArray:
    """[n] the token really in each row first read; far below 0: none."""
    read, rows = told.plan.read_rows, told.first_read.row
    none = np.iinfo(np.int64).min // 2
    table = np.full(1 + max(int(read.max(initial=-1)), int(rows.max(initial=-1))) + 1, none)
    table[read] = np.where(told.row_token == ABSENT, none, told.row_token)
    return table[rows]
