"""When a row of a layer was last read before a step, found without a walk over the run."""

from collections.abc import Sequence

import numpy as np

from core.arrays import ABSENT
from core.record import StepRecord

_BLOCK = 64


class RowsRead:
    """Remembers, for each block of steps that is complete, which rows were read in it.

    Only layers that are asked about are remembered.
    """

    def __init__(self, records: Sequence[StepRecord]) -> None:
        """Takes the records; more may be appended to them, none may change."""
        self._records = records
        self._blocks: dict[tuple[int, int], np.ndarray] = {}

    def version(self, step: int, layer: int, row: int) -> int | None:
        """The version of a row when it was last read up to `step`; None: it never was.

        Each of several sequences has rows of its own: asked is the one that the step was of.
        """
        if row == ABSENT:
            return None
        at, which = step, self._records[step].request
        while at >= 0:
            block, place = divmod(at, _BLOCK)
            if place == _BLOCK - 1 and not self._was_read_in(block, layer, row):
                at -= _BLOCK
                continue
            of_same = self._records[at].request == which
            version = self._version_in(at, layer, row) if of_same else None
            if version is not None:
                return version
            at -= 1
        return None

    def _version_in(self, step: int, layer: int, row: int) -> int | None:
        layers = self._records[step].layers
        if not layers:
            return None
        places = np.flatnonzero(layers[layer].plan.read_rows == row)
        return int(layers[layer].row_version[places[0]]) if len(places) else None

    def _was_read_in(self, block: int, layer: int, row: int) -> bool:
        was_read = self._blocks.get((block, layer))
        if was_read is None:
            records = self._records[block * _BLOCK : (block + 1) * _BLOCK]
            rows = [record.layers[layer].plan.read_rows for record in records if record.layers]
            every = np.concatenate([np.empty(0, dtype=np.int64), *rows])
            was_read = np.zeros(int(every.max(initial=-1)) + 1, dtype=np.bool_)
            was_read[every[every != ABSENT]] = True
            self._blocks[block, layer] = was_read
        return row < len(was_read) and bool(was_read[row])
