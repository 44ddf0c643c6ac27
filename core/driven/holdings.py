"""What the caches are taken to hold after a call: inferred from what can be read of them."""

from collections.abc import Sequence

import numpy as np

from core.arrays import FloatArray
from core.contract.plan import Plan
from core.driven.caches import Back, DrivenCaches
from core.driven.records import Books, claims
from core.engine.types import Ledger
from core.record import LiveRows


class Holdings:
    """Looks at the caches, and keeps the books."""

    def __init__(
        self,
        plan: Plan,
        books: Books,
        caches: DrivenCaches,
        sinks: int,
        shape: tuple[int, int, int],
    ) -> None:
        """Takes the caches, and the model's layers, key heads and head size."""
        self._plan, self._books, self._caches, self._sinks = plan, books, caches, sinks
        n_layers, n_heads, size = shape
        none: FloatArray = np.zeros((2, n_heads, 0, size))
        self._rows: list[FloatArray] = [none] * n_layers
        """[2, Hkv, m, D] of each layer, as they were read last."""

    def settle(self, backs: Sequence[Back]) -> None:
        """Rows were added: as many are taken to be held as can be read now, else as is right."""
        books, plan, first = self._books, self._plan, backs[0]
        if plan.is_whole:
            return  # the buffer is as long as ever
        n = len(books.order)
        if first.held is not None:
            n = first.held[0].shape[1]
        elif plan.policy == "window":
            n = min(n, books.capacity)
        books.keep_only(claims(books.order, n, self._sinks).tolist())

    def taken(self, backs: Sequence[Back] = ()) -> tuple[Ledger, tuple[LiveRows, ...]]:
        """What they are said to hold, and what is found in each counted slot.

        Without what the last call gave `back`, the caches are read once more, where they can be.
        """
        books = self._books
        if not backs and self._plan.offers("read_before"):
            backs = [self._caches.look(layer) for layer in range(len(self._rows))]
        for layer, back in enumerate(backs):
            self._rows[layer] = self._held(back, self._rows[layer])
        ledger = books.ledger(self._length(backs[0] if backs else None))
        books.take_stock(ledger, self._rows, self._sinks)
        return ledger, books.live

    def _held(self, back: Back, before: FloatArray) -> FloatArray:
        """[2, Hkv, m, D] rows after a call; as before where nothing can be read."""
        books = self._books
        if back.held is not None:
            rows = np.stack(back.held)
            return rows[:, :, : len(books.order)] if self._plan.is_whole else rows
        if back.attended is None:
            return before
        rows = np.stack(back.attended)
        keys = claims(books.order, rows.shape[2], self._sinks)
        return rows[:, :, [key in books.slot_of for key in keys.tolist()]]

    def _length(self, first: Back | None) -> int:
        """Rows that the cache says it holds; where it says something else, those that are read."""
        plan = self._plan
        is_of_rows = not (plan.counts_seen or plan.leaves_room)
        if first is not None and first.length is not None and is_of_rows:
            return first.length
        if first is not None and first.held is not None and not plan.is_whole:
            return first.held[0].shape[1]
        return len(self._books.slot_of)
