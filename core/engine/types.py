"""What the engine plans with: the ledger, an append, the plan of a layer. Integers only."""

from dataclasses import dataclass, field, replace

import numpy as np

from core.arrays import ABSENT, LATER, MEMORY, BoolArray, IntArray, frozen


def _none() -> IntArray:
    return frozen(np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """What a sequence's cache is said to hold. Seams take one and give another; none changes.

    The last four have one entry per row, in token order; ABSENT stands for the token index,
    position id and token id of a row that holds no token.

    Attributes:
        capacity: slots that the policy grants.
        length: rows counted as held. A correct ledger has one entry for each.
        seen: tokens of the current text read so far, evicted ones included.
        origin: token index whose position is 0; only a re-prefill moves it.
        slot: [n] slots.
        token_index: [n] token indices.
        position_id: [n] position ids.
        token_id: [n] token ids.
        n_pads: of the first entries, how many are padding.
        recent: tokens of the text's last append but one, and of its last. No right rule asks for
            it: it is what a wrong one remembers.
    """

    capacity: int
    length: int = 0
    seen: int = 0
    origin: int = 0
    slot: IntArray = field(default_factory=_none)
    token_index: IntArray = field(default_factory=_none)
    position_id: IntArray = field(default_factory=_none)
    token_id: IntArray = field(default_factory=_none)
    n_pads: int = field(default=0, metadata=LATER)
    recent: tuple[int, int] = field(default=(0, 0), metadata=MEMORY)

    @property
    def counted_slots(self) -> IntArray:
        """[length] slots of the counted rows: those of the entries, then the lowest free ones.

        The second part is empty in a correct ledger: each counted row has an entry.
        """
        missing = self.length - len(self.slot)
        if missing == 0:
            return self.slot
        if missing < 0:
            return self.slot[: self.length]
        return np.concatenate([self.slot, lowest_free(self.slot, missing)])

    def count(self, n_rows: int, n_tokens: int) -> "Ledger":
        """This ledger with so many more rows held and tokens read."""
        return Ledger(
            self.capacity,
            self.length + n_rows,
            self.seen + n_tokens,
            self.origin,
            self.slot,
            self.token_index,
            self.position_id,
            self.token_id,
            self.n_pads,
            (self.recent[1], n_tokens) if n_tokens > 0 else self.recent,
        )

    def with_rows(
        self, slots: IntArray, token_index: IntArray, position_ids: IntArray, token_ids: IntArray
    ) -> "Ledger":
        """This ledger with entries for new rows; counting them is `count`'s part."""
        return Ledger(
            self.capacity,
            self.length,
            self.seen,
            self.origin,
            frozen(np.concatenate((self.slot, slots))),
            frozen(np.concatenate((self.token_index, token_index))),
            frozen(np.concatenate((self.position_id, position_ids))),
            frozen(np.concatenate((self.token_id, token_ids))),
            self.n_pads,
            self.recent,
        )

    def only(self, keep: BoolArray) -> "Ledger":
        """This ledger with only the entries where `keep` [n] is true, counted back."""
        slots = frozen(self.slot[keep])
        return replace(
            self,
            length=self.length - (len(self.slot) - len(slots)),
            slot=slots,
            token_index=frozen(self.token_index[keep]),
            position_id=frozen(self.position_id[keep]),
            token_id=frozen(self.token_id[keep]),
        )

    def is_pad(self, slots: IntArray) -> BoolArray:
        """[S] whether each of `slots` holds padding."""
        return np.isin(slots, self.slot[: self.n_pads])

    def claims_for(self, slots: IntArray) -> tuple[IntArray, IntArray]:
        """[S] token index and [S] position id that the ledger claims for `slots`."""
        if slots is self.slot:
            return self.token_index, self.position_id
        size = 1 + int(max(slots.max(initial=-1), self.slot.max(initial=-1)))
        table = np.full((2, size), ABSENT, dtype=np.int64)
        table[0, self.slot] = self.token_index
        table[1, self.slot] = self.position_id
        found = frozen(table[:, slots])
        return found[0], found[1]


def are_same(numbers: IntArray, others: IntArray) -> bool:
    """Whether two lists of integers are equal; for short ones much faster than numpy's test."""
    if numbers is others:
        return True
    return numbers.dtype == others.dtype and numbers.tobytes() == others.tobytes()


def are_all(truths: BoolArray) -> bool:
    """Whether all of an array of any shape are true; faster than numpy's `all`."""
    return bool(np.count_nonzero(truths) == truths.size)


def highest(numbers: IntArray) -> int:
    """The largest of numbers from 0 on; -1 where there are none. Faster than numpy's `max`."""
    return int(numbers[numbers.argmax()]) if len(numbers) else -1


def lowest_free(taken: IntArray, n: int) -> IntArray:
    """[n] the lowest slots that are not in `taken`, ascending."""
    n_taken = len(taken)
    if highest(taken) == n_taken - 1:  # distinct: 0 to n_taken − 1, or none
        return np.arange(n_taken, n_taken + n)
    size = n_taken + n
    is_free = np.ones(size, dtype=bool)
    is_free[taken[taken < size]] = False
    return np.flatnonzero(is_free)[:n]


@dataclass(frozen=True, slots=True)
class Append:
    """Rows that a step wants to add.

    Attributes:
        n_keys: key rows.
        n_values: value rows.
        n_tokens: tokens they stand for; 0 for a probe.
        n_lacking: rows for which the policy can make no room.
    """

    n_keys: int
    n_values: int
    n_tokens: int
    n_lacking: int


@dataclass(frozen=True, slots=True, eq=False)
class LayerPlan:
    """What one layer is told before any tensor is touched. T new tokens, S rows read.

    Attributes:
        position_ids: [T] position id of each new token.
        write_rows: [T] physical rows that the new keys and values go to.
        view_slots: [S] slots read, in this order.
        read_rows: [S] physical rows read.
        view_token_index: [S] token index that the ledger claims for each; ABSENT: no token.
        view_position_ids: [S] position id that the ledger claims for each.
        mask: [T, S] true where the query may see the row.
        write_position_ids: [T] where new keys are rotated; None: stored unrotated.
        read_position_ids: [T, S] where keys are rotated as each query reads them; None: not again.
        query_position_ids: [T] where queries are rotated; None: at `position_ids`.
    """

    position_ids: IntArray
    write_rows: IntArray
    view_slots: IntArray
    read_rows: IntArray
    view_token_index: IntArray
    view_position_ids: IntArray
    mask: BoolArray
    write_position_ids: IntArray | None
    read_position_ids: IntArray | None
    query_position_ids: IntArray | None = field(default=None, metadata=LATER)

    @property
    def queries_at(self) -> IntArray:
        """[T] where queries are rotated."""
        return self.position_ids if self.query_position_ids is None else self.query_position_ids
