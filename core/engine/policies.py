"""What happens when there is no room: who may be read, and which rows leave.

One frozen class per policy, and one per way of numbering the kept tokens. All take token
indices; none knows slots, rows or tensors.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from core.arrays import BoolArray, IntArray, frozen
from core.engine.seams import evict, in_window
from core.engine.types import Ledger

Reaches = Callable[[IntArray, IntArray, int, int], BoolArray]
"""The seam `in_window`."""
Evict = Callable[[Ledger, int, int], Ledger]
"""The seam `evict`."""


class Room(NamedTuple):
    """What a policy makes of an append.

    Attributes:
        ledger: the ledger that the tokens are added to.
        token_ids: the tokens to compute, re-read ones first.
        n_lacking: rows for which there is no room; above 0 the append is to be refused.
        n_recomputed: how many of `token_ids` were read before.
        n_skipped: new tokens that fall out before they are computed.
    """

    ledger: Ledger
    token_ids: IntArray
    n_lacking: int = 0
    n_recomputed: int = 0
    n_skipped: int = 0


class Policy(Protocol):
    """The decisions that differ from policy to policy."""

    @property
    def evicts_at_commit(self) -> bool:
        """Whether rows leave after the step, so that its tokens need room beside the old ones."""
        ...

    def make_room(self, ledger: Ledger, token_ids: IntArray, n_short: int) -> Room:
        """What to compute, on which ledger, when an append is `n_short` rows too long."""
        ...

    def allows(self, query: IntArray, key: IntArray, reaches: Reaches = in_window) -> BoolArray:
        """Whether token `query` may read token `key`; the two broadcast.

        `reaches` is the rule of a window, for a policy that has one.
        """
        ...

    def evict(self, ledger: Ledger, n_short: int, let_go: Evict = evict) -> Ledger:
        """The ledger without the rows that leave at commit, by the rule `let_go`."""
        ...

    def rollback_needs(self, ledger: Ledger, target: int) -> IntArray:
        """Token indices that a query at token `target` reads, itself left out."""
        ...


@dataclass(frozen=True, slots=True)
class Refuse:
    """A full cache takes nothing more; every earlier token may be read."""

    evicts_at_commit = False

    def make_room(self, ledger: Ledger, token_ids: IntArray, n_short: int) -> Room:
        """Nothing can be done: the rows are lacking."""
        return Room(ledger, token_ids, n_lacking=n_short)

    def allows(self, query: IntArray, key: IntArray, reaches: Reaches = in_window) -> BoolArray:
        """Not later than the query."""
        return key <= query

    def evict(self, ledger: Ledger, n_short: int, let_go: Evict = evict) -> Ledger:
        """Nothing leaves."""
        return ledger

    def rollback_needs(self, ledger: Ledger, target: int) -> IntArray:
        """All tokens before it."""
        return np.arange(target)


@dataclass(frozen=True, slots=True)
class Reprefill:
    """A full cache starts again with the last `capacity` tokens, at positions from 0.

    The way of nanoGPT's `generate`: crop the text, recompute it.
    """

    capacity: int
    evicts_at_commit = False

    def make_room(self, ledger: Ledger, token_ids: IntArray, n_short: int) -> Room:
        """Short of room: an empty ledger and the last `capacity` tokens, held ones included."""
        if n_short == 0:
            return Room(ledger, token_ids)
        kept = np.concatenate([ledger.token_id, token_ids])[-self.capacity :]
        # A ledger that a fault made count too little has no token before the first one.
        start = max(0, ledger.seen + len(token_ids) - len(kept))
        return Room(
            Ledger(ledger.capacity, seen=start, origin=start),
            kept,
            n_recomputed=max(0, ledger.seen - start),
            n_skipped=max(0, start - ledger.seen),
        )

    def allows(self, query: IntArray, key: IntArray, reaches: Reaches = in_window) -> BoolArray:
        """Not later than the query; what fell out is not held at all."""
        return key <= query

    def evict(self, ledger: Ledger, n_short: int, let_go: Evict = evict) -> Ledger:
        """Nothing leaves at commit: it left before the step."""
        return ledger

    def rollback_needs(self, ledger: Ledger, target: int) -> IntArray:
        """The tokens from the first held one on; where all of those go, those before it."""
        if target > ledger.origin:
            return np.arange(ledger.origin, target)
        return np.arange(max(0, target - self.capacity + 1), target)


@dataclass(frozen=True, slots=True)
class Window:
    """The oldest rows leave, the first `sinks` tokens excepted (Xiao et al. 2023, StreamingLLM).

    A query at token i reads j ≤ i with j < sinks or j > i − (capacity − sinks): at most
    `capacity` tokens, itself counted. Rows leave at commit, so that the first tokens of a chunk
    can still read what the last ones may not.
    """

    capacity: int
    sinks: int = 0
    evicts_at_commit = True

    def make_room(self, ledger: Ledger, token_ids: IntArray, n_short: int) -> Room:
        """Room is made at commit."""
        return Room(ledger, token_ids)

    def allows(self, query: IntArray, key: IntArray, reaches: Reaches = in_window) -> BoolArray:
        """Not later than the query, and a sink or within the window."""
        return reaches(query, key, self.capacity - self.sinks, self.sinks)

    def evict(self, ledger: Ledger, n_short: int, let_go: Evict = evict) -> Ledger:
        """The `n_short` oldest entries leave, sinks stay."""
        return let_go(ledger, n_short, self.sinks)

    def rollback_needs(self, ledger: Ledger, target: int) -> IntArray:
        """The sinks and the window before it."""
        earlier = np.arange(target)
        return earlier[self.allows(np.array(target), earlier)]


class Numbering(Protocol):
    """Which position ids tokens get and keep."""

    def query_position_ids(self, position_ids: IntArray) -> IntArray:
        """[T] numbers of the new tokens, from those that count on in the text."""
        ...

    def write_position_ids(self, position_ids: IntArray) -> IntArray | None:
        """[T] positions at which new keys are rotated before they are stored; None: not."""
        ...

    def read_position_ids(self, query: IntArray, key: IntArray) -> IntArray | None:
        """[T, S] position that each query gives each key as it reads; None: the stored one."""
        ...

    def renumber(self, ledger: Ledger) -> Ledger:
        """The ledger after commit, with the numbers that its tokens have now."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A token keeps the number that it was read with."""

    def query_position_ids(self, position_ids: IntArray) -> IntArray:
        """As they are."""
        return position_ids

    def write_position_ids(self, position_ids: IntArray) -> IntArray | None:
        """Keys are stored rotated."""
        return position_ids

    def read_position_ids(self, query: IntArray, key: IntArray) -> IntArray | None:
        """As stored."""
        return None

    def renumber(self, ledger: Ledger) -> Ledger:
        """As it is."""
        return ledger


@dataclass(frozen=True, slots=True)
class ByRank:
    """A token's number is its rank among the tokens that the query reads (StreamingLLM).

    Keys are stored unrotated, since their number changes from query to query.
    """

    capacity: int
    sinks: int

    def query_position_ids(self, position_ids: IntArray) -> IntArray:
        """A query is the last of the tokens it reads: at most capacity − 1."""
        return np.minimum(position_ids, self.capacity - 1)

    def write_position_ids(self, position_ids: IntArray) -> IntArray | None:
        """Keys are stored unrotated."""
        return None

    def read_position_ids(self, query: IntArray, key: IntArray) -> IntArray | None:
        """Sinks keep their own number, the others move down by what has left."""
        n_left = np.maximum(0, query[:, None] - self.capacity + 1)
        return np.where(key < self.sinks, key, key - n_left)

    def renumber(self, ledger: Ledger) -> Ledger:
        """Ranks from 0."""
        return replace(ledger, position_id=frozen(np.arange(len(ledger.slot))))
