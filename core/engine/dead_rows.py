"""What becomes of rows that count no longer, and of memory that nothing was written to yet.

Nothing, in plain runs. In a poisoned one they are filled with what no right run can read without
its numbers telling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from core.arrays import IntArray
from core.blank_rows import POISON_KEY, POISON_VALUE

if TYPE_CHECKING:
    from core.engine.rows import LayerRows
    from core.engine.seams import Seams
    from core.engine.types import Ledger


class DeadRows(Protocol):
    """Told of rows that hold nothing that counts."""

    def begun(self, rows: LayerRows, first_row: int) -> None:
        """The memory of `rows` from `first_row` on was just made."""
        ...

    def let_go(self, layers: Sequence[LayerRows], ledger: Ledger, seams: Sequence[Seams]) -> None:
        """A step is about to begin, and only the rows that this ledger counts are to be read."""
        ...


class LeftAlone:
    """They stay as they are."""

    def begun(self, rows: LayerRows, first_row: int) -> None:
        """See `DeadRows`."""

    def let_go(self, layers: Sequence[LayerRows], ledger: Ledger, seams: Sequence[Seams]) -> None:
        """See `DeadRows`."""


class Poisoned:
    """They are filled with poison: keys that are no number, values that are large but finite.

    A row that a query sees makes all of its scores no number, and so its logits. One that is read
    and hidden leaves no trace: its score is replaced before the softmax, and its value is counted
    zero times, which a value that is no number would not survive. So reading a whole buffer and
    hiding what is dead in it counts as right, as it should. Where only the value of a row is dead,
    what attention gives is huge, and the norm after it keeps the logits finite, but wrong.
    """

    def begun(self, rows: LayerRows, first_row: int) -> None:
        """See `DeadRows`."""
        rows.fill(np.arange(first_row, rows.n_allocated), POISON_KEY, POISON_VALUE)

    def let_go(self, layers: Sequence[LayerRows], ledger: Ledger, seams: Sequence[Seams]) -> None:
        """See `DeadRows`."""
        slots = ledger.counted_slots
        for rows, table in zip(layers, seams, strict=True):
            kept: IntArray = table.slot_mapping(slots)
            is_dead = np.ones(rows.n_allocated, dtype=np.bool_)
            is_dead[kept[kept < rows.n_allocated]] = False
            rows.fill(np.flatnonzero(is_dead), POISON_KEY, POISON_VALUE)
