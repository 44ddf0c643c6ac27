"""How the columns of an attention image are arranged: by token, or by slot.

Columns come and go from step to step. Each stands for a place, a token or a slot, that is the same
in all of them, so that what a query saw there is worked out once.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from core.arrays import ABSENT, IntArray, frozen
from core.readouts.attention_image import Code, Codes, ReadSpan, Take
from core.readouts.history import SlotHistory

PLACES_MORE = 256
"""Places for tokens grow by so many at once; a power of two."""

_NEVER = np.uint8(Code.NEVER_WRITTEN)


class Order(Protocol):
    """Arranges the columns of an image."""

    @property
    def n_columns(self) -> int:
        """Columns of the image."""
        ...

    @property
    def slots(self) -> IntArray:
        """[n_columns] the slot that a column always stands for; ABSENT: none."""
        ...

    @property
    def tokens(self) -> IntArray:
        """[n_columns] the token that a column always stands for; ABSENT: none."""
        ...

    @property
    def sizes(self) -> tuple[int, int]:
        """Places for tokens, and after them for slots."""
        ...

    @property
    def places(self) -> IntArray:
        """[n_columns] the place that a column stands for, ascending."""
        ...

    def columns(self, span: ReadSpan) -> slice | IntArray:
        """[S] column of each row that a plan read."""
        ...

    def places_read(self, span: ReadSpan) -> slice | IntArray:
        """[S] place of each row that a plan read."""
        ...

    def unread(self, take: Take) -> Codes:
        """[places] what a place is for a step that did not read it."""
        ...


class SlotOrder:
    """One column per slot."""

    def __init__(self, history: SlotHistory) -> None:
        """The slots of a run."""
        self._history = history
        self.n_columns = history.n_slots
        self.sizes = (0, history.n_slots)
        self.slots = self.places = frozen(np.arange(history.n_slots))
        self.tokens = frozen(np.full(history.n_slots, ABSENT, dtype=np.int64))

    def columns(self, span: ReadSpan) -> slice | IntArray:
        """See `Order`."""
        return span.slots

    def places_read(self, span: ReadSpan) -> slice | IntArray:
        """See `Order`."""
        return span.slots

    def unread(self, take: Take) -> Codes:
        """See `Order`."""
        return _unused(self._history, take)


class TokenOrder:
    """One column per token that the ledger claimed in a step shown, then one per slot without."""

    def __init__(self, spans: Sequence[ReadSpan], history: SlotHistory) -> None:
        """The tokens and slots that are read by the plans of these spans."""
        self._history = history
        has_token = _runs(spans)
        is_loose = np.zeros(history.n_slots, dtype=np.bool_)
        for span in spans:
            if not span.is_run:
                claimed = span.plan.view_token_index
                has_token[claimed[claimed != ABSENT]] = True
                is_loose[span.loose] = True
        tokens, slots = np.flatnonzero(has_token), np.flatnonzero(is_loose)
        self.n_columns = len(tokens) + len(slots)
        self.tokens = frozen(np.concatenate([tokens, np.full(len(slots), ABSENT)]))
        self.slots = frozen(np.concatenate([np.full(len(tokens), ABSENT), slots]))
        width = -(-len(has_token) // PLACES_MORE) * PLACES_MORE
        self.sizes = (width, history.n_slots if len(slots) else 0)
        self.places = frozen(np.concatenate([tokens, width + slots]))

    def columns(self, span: ReadSpan) -> slice | IntArray:
        """See `Order`."""
        if not span.is_run:
            return np.searchsorted(self.places, self._places_of(span))
        first = int(np.searchsorted(self.places, span.first))
        return slice(first, first + span.stop - span.first)

    def places_read(self, span: ReadSpan) -> slice | IntArray:
        """See `Order`."""
        return slice(span.first, span.stop) if span.is_run else self._places_of(span)

    def _places_of(self, span: ReadSpan) -> IntArray:
        claimed, slots = span.plan.view_token_index, span.plan.view_slots
        return np.where(claimed == ABSENT, self.sizes[0] + slots, claimed)

    def unread(self, take: Take) -> Codes:
        """See `Order`."""
        is_later = np.arange(self.sizes[0]) > take.record.token_index[-1]
        if not self.sizes[1]:
            return is_later * _NEVER
        return np.concatenate([is_later * _NEVER, _unused(self._history, take)])


def _runs(spans: Sequence[ReadSpan]) -> np.ndarray:
    """[tokens] whether a token is read by a plan that reads a run of them."""
    n_tokens = max((span.stop for span in spans), default=0)
    edges = np.zeros(n_tokens + 1, dtype=np.int64)
    for sign, numbers in (
        (1, [span.first for span in spans if span.is_run]),
        (-1, [span.stop for span in spans if span.is_run]),
    ):
        edges += sign * np.bincount(np.array(numbers, dtype=np.int64), minlength=n_tokens + 1)
    return np.cumsum(edges)[:n_tokens] > 0


def _unused(history: SlotHistory, take: Take) -> Codes:
    """[n_slots] NEVER_WRITTEN where a slot was not used by then, else MASKED."""
    return ~history.was_used_by(take.record.step) * _NEVER
