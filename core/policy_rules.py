"""What each policy promises, as ranges of token indices. From the specification alone.

A `TextState` is what a correct cache holds of the text; a rule says what it may hold next, who
may be read and under which position id. Nothing here knows the engine.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.arrays import BoolArray, IntArray

Ranges = tuple[range, range]
"""Token indices in ascending order: the sinks among them, then the others."""


@dataclass(frozen=True, slots=True)
class LooseCount:
    """Rows without a token.

    Attributes:
        n_rows: how many.
        first_reader: token index of the first query that reads them.
    """

    n_rows: int
    first_reader: int


@dataclass(frozen=True, slots=True)
class TextState:
    """How far a text was read, and which of it is held.

    Attributes:
        seen: tokens read.
        first: first token held, sinks left aside; `seen` if there is none.
        loose: rows that hold no token, oldest first.
        n_pads: rows of padding.
    """

    seen: int = 0
    first: int = 0
    loose: tuple[LooseCount, ...] = ()
    n_pads: int = 0

    @property
    def n_loose(self) -> int:
        """Rows that hold no token, padding included."""
        return self.n_pads + sum(rows.n_rows for rows in self.loose)


class Rule(Protocol):
    """One policy."""

    def lacks_room(self, state: TextState, n_new: int) -> bool:
        """Whether an append of so many rows is to be refused."""
        ...

    def appended(self, state: TextState, n_new: int) -> TextState:
        """The state after so many more tokens."""
        ...

    def passage_start(self, state: TextState) -> int:
        """First token of the forward pass that gives the rows held."""
        ...

    def held(self, state: TextState) -> Ranges:
        """Tokens that have a row."""
        ...

    def held_position_ids(self, state: TextState) -> Ranges:
        """Their numbers after commit, in the same order."""
        ...

    def readable(self, after: TextState, token: int) -> Ranges:
        """Tokens that `token` reads, itself included, if its append led to the state."""
        ...

    def position_id(self, after: TextState, token: int) -> int | None:
        """Its number as a query; None: it fell out before it was computed."""
        ...

    def rollback_needs(self, state: TextState, target: int) -> Ranges:
        """Tokens that a query at token `target` could read, itself left out."""
        ...

    def cut(self, state: TextState, target: int) -> TextState:
        """The state after the cut, allowed or not: what `target` could read counts as held."""
        ...

    def position_ids(self, n_tokens: int) -> IntArray:
        """[N] of the first tokens of a forward pass."""
        ...

    def key_position_ids(self, n_tokens: int) -> IntArray | None:
        """[N, N] query x key of a forward pass; None: each key's own position id."""
        ...

    def readable_matrix(self, n_tokens: int) -> BoolArray:
        """[N, N] query x key of a forward pass."""
        ...


@dataclass(frozen=True, slots=True)
class Band:
    """Token i reads j ≤ i with j < sinks or j > i - recent; one forward pass over the text.

    Attributes:
        capacity: rows that may be held.
        sinks: first tokens that never leave.
        recent: newest tokens that may be read, the query counted; None: all of them, and a full
            cache refuses.
        last_rank: where tokens are numbered by their rank among those read, the highest rank;
            None: a token is numbered by its place in the text.
    """

    capacity: int
    sinks: int
    recent: int | None
    last_rank: int | None

    def lacks_room(self, state: TextState, n_new: int) -> bool:
        """Never where the oldest leave."""
        n_held = n_tokens(self.held(state)) + state.n_loose
        return self.recent is None and n_held + n_new > self.capacity

    def appended(self, state: TextState, n_new: int) -> TextState:
        """The newest stay."""
        seen = state.seen + n_new
        first = state.first if self.recent is None else max(state.first, seen - self.recent)
        return TextState(seen, first, state.loose, state.n_pads)

    def passage_start(self, state: TextState) -> int:
        """The text's first: rows still carry what has left."""
        return 0

    def held(self, state: TextState) -> Ranges:
        """The sinks and the newest."""
        return range(min(self.sinks, state.first)), range(state.first, state.seen)

    def held_position_ids(self, state: TextState) -> Ranges:
        """Places in the text, or ranks from 0."""
        sinks, others = self.held(state)
        if self.last_rank is None:
            return sinks, others
        return sinks, range(len(sinks), len(sinks) + len(others))

    def readable(self, after: TextState, token: int) -> Ranges:
        """Whatever is held after the step: rows leave only when all its tokens have read."""
        first = self._first_recent(token)
        return range(min(self.sinks, first)), range(first, token + 1)

    def position_id(self, after: TextState, token: int) -> int | None:
        """Its place in the text, or its rank: it is the last of those it reads."""
        return token if self.last_rank is None else min(token, self.last_rank)

    def rollback_needs(self, state: TextState, target: int) -> Ranges:
        """The sinks and the window before it."""
        first = self._first_recent(target)
        return range(min(self.sinks, first)), range(first, target)

    def cut(self, state: TextState, target: int) -> TextState:
        """Rows before the target stay, those without a token too."""
        first = min(state.first, self._first_recent(target))
        loose = tuple(rows for rows in state.loose if rows.first_reader <= target)
        return TextState(target, first, loose, state.n_pads)

    def position_ids(self, n_tokens: int) -> IntArray:
        """Places in the text, or ranks."""
        places = np.arange(n_tokens)
        return places if self.last_rank is None else np.minimum(places, self.last_rank)

    def key_position_ids(self, n_tokens: int) -> IntArray | None:
        """Ranks: a sink keeps its own, others move down by as many as have left."""
        if self.last_rank is None:
            return None
        query, key = np.arange(n_tokens)[:, None], np.arange(n_tokens)
        ranks = key - np.maximum(0, query - self.last_rank)
        np.maximum(ranks, 0, out=ranks)
        ranks[:, : self.sinks] = key[: self.sinks]
        return ranks

    def readable_matrix(self, n_tokens: int) -> BoolArray:
        """Not later than the query, and a sink or recent."""
        query, key = np.arange(n_tokens)[:, None], np.arange(n_tokens)
        if self.recent is None:
            return key <= query
        return (key <= query) & ((key < self.sinks) | (key > query - self.recent))

    def _first_recent(self, token: int) -> int:
        return 0 if self.recent is None else max(0, token - self.recent + 1)


@dataclass(frozen=True, slots=True)
class Reprefill:
    """A full cache starts again with the last `capacity` tokens of the text, numbered from 0.

    Attributes:
        capacity: rows that may be held.
    """

    capacity: int

    def lacks_room(self, state: TextState, n_new: int) -> bool:
        """Never."""
        return False

    def appended(self, state: TextState, n_new: int) -> TextState:
        """The tokens held and the new ones, or the last of the text if those are too many."""
        seen = state.seen + n_new
        return TextState(seen, max(state.first, seen - self.capacity))

    def passage_start(self, state: TextState) -> int:
        """The first token held: whenever it moves, all are read again."""
        return state.first

    def held(self, state: TextState) -> Ranges:
        """From the first one on."""
        return range(0), range(state.first, state.seen)

    def held_position_ids(self, state: TextState) -> Ranges:
        """Counted from the first one held."""
        return range(0), range(state.seen - state.first)

    def readable(self, after: TextState, token: int) -> Ranges:
        """Those held up to itself; none for one that fell out."""
        return range(0), range(after.first, token + 1)

    def position_id(self, after: TextState, token: int) -> int | None:
        """Counted from the first one held."""
        return token - after.first if token >= after.first else None

    def rollback_needs(self, state: TextState, target: int) -> Ranges:
        """The tokens from the first one held; where those go too, the last before the target."""
        first = state.first if target > state.first else max(0, target - self.capacity + 1)
        return range(0), range(first, target)

    def cut(self, state: TextState, target: int) -> TextState:
        """The tokens before the target stay, with their numbers."""
        _, needed = self.rollback_needs(state, target)
        return TextState(target, needed.start)

    def position_ids(self, n_tokens: int) -> IntArray:
        """From 0."""
        return np.arange(n_tokens)

    def key_position_ids(self, n_tokens: int) -> IntArray | None:
        """As they are."""
        return None

    def readable_matrix(self, n_tokens: int) -> BoolArray:
        """Not later than the query."""
        return np.arange(n_tokens) <= np.arange(n_tokens)[:, None]


def n_tokens(ranges: Ranges) -> int:
    """How many tokens are in the ranges."""
    return len(ranges[0]) + len(ranges[1])


def n_common(these: Ranges, those: Ranges) -> int:
    """How many tokens are in both."""
    return sum(max(0, min(a.stop, b.stop) - max(a.start, b.start)) for a in these for b in those)
