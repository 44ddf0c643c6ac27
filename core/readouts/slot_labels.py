"""The numbers of each slot.

More than 300 lines: token index, position id, row and word of a slot are found side by side, in one
way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, BoolArray, IntArray, known
from core.policy_oracle import Expected
from core.readouts.lazily import Lazily
from core.readouts.slot_states import LayerRow, Leaver
from core.record import StepRecord

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class SlotLabel:
    """The numbers of a slot, in the layer that is looked at.

    Attributes:
        slot: which slot.
        row: its physical row; None: outside the buffer, or not counted.
        token_index: token whose row is really there (or just left); None: none.
        claimed_token_index: token that the ledger claims; None: none.
        position_id: position id of the token really there (or just left); None: none.
        claimed_position_id: position id that the ledger claims; None: none.
        expected_position_id: what the policy demands for the token really there; None: nothing,
            or not judged yet.
        text: text of the token; None: none.
        is_counted: whether the ledger counts the slot.
        is_sink: whether the claimed token is one that the policy never lets go.
        has_left: whether the token left in this step.
        is_token_wrong: whether another token is there than claimed, or one that should not be
            held.
        is_position_wrong: whether the position id is not the expected one.
    """

    slot: int
    row: int | None
    token_index: int | None
    claimed_token_index: int | None
    position_id: int | None
    claimed_position_id: int | None
    expected_position_id: int | None
    text: str | None
    is_counted: bool
    is_sink: bool
    has_left: bool
    is_token_wrong: bool
    is_position_wrong: bool

    @property
    def is_position_foreign(self) -> bool:
        """Whether the position id is not the one that the ledger claims; padding has none."""
        has_token = (self.token_index, self.claimed_token_index) != (None, None)
        return self.is_counted and has_token and self.position_id != self.claimed_position_id


@dataclass(frozen=True, slots=True, eq=False)
class NumbersShown:
    """What is drawn of some slots, as `SlotLabel` has it: a list of each, in their order.

    Attributes:
        slot: which slots.
        token_index: None: none.
        position_id: None: none.
        is_counted: whether the ledger counts the slot.
        has_left: whether the token left in this step.
        is_token_wrong: whether the token index is not as it should be.
        is_position_wrong: whether the position id is not the expected one, or is foreign.
    """

    slot: list[int]
    token_index: list[int | None]
    position_id: list[int | None]
    is_counted: list[bool]
    has_left: list[bool]
    is_token_wrong: list[bool]
    is_position_wrong: list[bool]

    @property
    def has_wrong(self) -> bool:
        """Whether any number is not the right one."""
        return any(self.is_token_wrong) or any(self.is_position_wrong)


def slot_labels(
    view: RunView, shown: LayerRow, leaving: dict[int, Leaver], expected: Expected | None
) -> SlotLabels:
    """One label per slot for the layer that is looked at."""
    numbers = _Numbers.of(view, shown, leaving, expected)
    find = view.history.numbers(view.selection.step)
    return SlotLabels(_Maker(numbers, leaving, view.spec.sinks, find, view.token_text))


class SlotLabels(Lazily[SlotLabel]):
    """The labels of all slots. What is asked of all of them at once needs none to be made."""

    def __init__(self, maker: _Maker) -> None:
        """Takes what makes a label."""
        super().__init__(len(maker.numbers.found), maker.label)
        self._numbers, self._leaving, self._n_sinks = maker.numbers, maker.leaving, maker.n_sinks

    @property
    def has_equal_numbers(self) -> bool:
        """Whether token index and position id are equal wherever there is a position id."""
        n = self._numbers
        return not (n.has_position & (n.position != n.found)).any()

    def numbers_of(self, slots: IntArray) -> NumbersShown:
        """The numbers of some slots; no label is made for that."""
        n, leaving = self._numbers, self._leaving
        positions = zip(n.position[slots].tolist(), n.has_position[slots].tolist(), strict=True)
        is_wrong = n.is_position_wrong[slots] | n.is_position_foreign[slots]
        shown: list[int] = slots.tolist()
        return NumbersShown(
            slot=shown,
            token_index=[known(token) for token in n.found[slots].tolist()],
            position_id=[position if has_one else None for position, has_one in positions],
            is_counted=n.is_counted[slots].tolist(),
            has_left=[slot in leaving for slot in shown],
            is_token_wrong=n.is_token_wrong[slots].tolist(),
            is_position_wrong=is_wrong.tolist(),
        )

    def sinks_in(self, slots: IntArray) -> BoolArray:
        """Which of the slots are claimed for a token that the policy never lets go."""
        claimed = self._numbers.claimed[slots]
        return (claimed != ABSENT) & (claimed < self._n_sinks)

    @property
    def with_wrong_token(self) -> list[SlotLabel]:
        """Those in which a token is that should not be there."""
        n = self._numbers
        places: list[int] = np.flatnonzero(n.is_token_wrong & (n.found != ABSENT)).tolist()
        return [self[slot] for slot in places]

    @property
    def with_wrong_position(self) -> list[SlotLabel]:
        """Those whose position id is not the expected one."""
        places: list[int] = np.flatnonzero(self._numbers.is_position_wrong).tolist()
        return [self[slot] for slot in places]

    @property
    def lacking(self) -> IntArray:
        """Tokens that should be held and whose rows are in no counted slot."""
        n = self._numbers
        held = n.found[n.is_counted & (n.found != ABSENT)]
        size = 1 + max(int(held.max(initial=-1)), int(n.demanded.max(initial=-1)))
        is_held = np.zeros(size, dtype=np.bool_)
        is_held[held] = True
        return n.demanded[~is_held[n.demanded]]

    @property
    def claimed(self) -> set[int]:
        """Tokens that the ledger claims for counted slots."""
        n = self._numbers
        return set(n.claimed[n.is_counted & (n.claimed != ABSENT)].tolist())

    def slots_of(self, token_index: int) -> list[int]:
        """Counted slots in which a token's row is."""
        n = self._numbers
        return np.flatnonzero(n.is_counted & (n.found == token_index)).tolist()


@dataclass(frozen=True, slots=True, eq=False)
class _Maker:
    """Makes the label of a slot.

    Attributes:
        numbers: of all slots.
        leaving: slots whose row left in this step.
        n_sinks: first tokens that the policy never lets go.
        find: position id and token id of a token index.
        token_text: what a token id shows as.
    """

    numbers: _Numbers
    leaving: dict[int, Leaver]
    n_sinks: int
    find: Callable[[int | None], tuple[int | None, int | None]]
    token_text: Callable[[int], str]

    def label(self, slot: int) -> SlotLabel:
        n, leaver = self.numbers, self.leaving.get(slot)
        found, claimed = known(int(n.found[slot])), known(int(n.claimed[slot]))
        token_id = known(int(n.token_id[slot])) if leaver is None else leaver.token_id
        if token_id is None:
            _, token_id = self.find(found)
        return SlotLabel(
            slot=slot,
            row=known(int(n.row[slot])),
            token_index=found,
            claimed_token_index=claimed,
            position_id=int(n.position[slot]) if n.has_position[slot] else None,
            claimed_position_id=known(int(n.claimed_position[slot])),
            expected_position_id=known(int(n.expected_position[slot])),
            text=None if token_id is None else self.token_text(token_id),
            is_counted=bool(n.is_counted[slot]),
            is_sink=claimed is not None and claimed < self.n_sinks,
            has_left=leaver is not None,
            is_token_wrong=bool(n.is_token_wrong[slot]),
            is_position_wrong=bool(n.is_position_wrong[slot]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """[n_slots] each, as `SlotLabel` has them; ABSENT: none."""

    found: IntArray
    token_id: IntArray
    """As the ledger has it for the token found; ABSENT: it does not hold that token."""
    row: IntArray
    claimed: IntArray
    claimed_position: IntArray
    position: IntArray
    has_position: BoolArray
    expected_position: IntArray
    is_counted: BoolArray
    is_token_wrong: BoolArray
    is_position_wrong: BoolArray
    demanded: IntArray
    """[n] tokens that the policy demands to be held, as many as it does."""

    @property
    def is_position_foreign(self) -> BoolArray:
        """As `SlotLabel` says it."""
        has_token = (self.found != ABSENT) | (self.claimed != ABSENT)
        is_claimed = self.claimed_position != ABSENT
        is_other = self.has_position & (self.position != self.claimed_position)
        return self.is_counted & has_token & ((self.has_position != is_claimed) | is_other)

    @classmethod
    def of(
        cls, view: RunView, shown: LayerRow, leaving: dict[int, Leaver], expected: Expected | None
    ) -> _Numbers:
        step, found = view.selection.step, shown.token_index
        record = view.records[step]
        live = record.live[view.selection.layer]
        row, claimed, claimed_position = (np.full(len(found), ABSENT) for _ in range(3))
        is_counted, has_left = (np.zeros(len(found), dtype=np.bool_) for _ in range(2))
        is_counted[live.slot], has_left[list(leaving)] = True, True
        is_counted &= ~has_left
        row[live.slot] = live.row
        claimed[live.slot], claimed_position[live.slot] = record.ledger.claims_for(live.slot)
        position, token_id, has_position = _positions(view, record, found, leaving)
        live = () if expected is None else expected.live
        demanded, positions = view.history.demanded.of(live)
        expected_position, is_right = _rights(demanded, positions, found, has_left)
        is_token_wrong = is_counted & (found != claimed)
        if expected is not None:
            is_token_wrong |= is_counted & (found != ABSENT) & ~is_right
        is_off = (position != expected_position) | ~has_position
        return cls(
            found=found,
            token_id=token_id,
            row=row,
            claimed=claimed,
            claimed_position=claimed_position,
            position=position,
            has_position=has_position,
            expected_position=expected_position,
            is_counted=is_counted,
            is_token_wrong=is_token_wrong,
            is_position_wrong=(expected_position != ABSENT) & is_off,
            demanded=demanded,
        )


def _positions(
    view: RunView, record: StepRecord, found: IntArray, leaving: dict[int, Leaver]
) -> tuple[IntArray, IntArray, BoolArray]:
    """Position ids of the tokens found: as held, else as last read; token ids as held.

    At last, whether there is a position id.
    """
    ledger = record.ledger
    size = 1 + max(int(found.max(initial=-1)), int(ledger.token_index.max(initial=-1)))
    places = np.full(size + 1, ABSENT)
    places[ledger.token_index] = np.arange(len(ledger.token_index))
    places[ABSENT] = ABSENT  # the last place is that of no token
    place = places[found]
    has_position = place != ABSENT
    position, token_id = np.full(len(found), ABSENT), np.full(len(found), ABSENT)
    if len(ledger.token_index):
        position = np.where(has_position, ledger.position_id[place], ABSENT)
        token_id = np.where(has_position, ledger.token_id[place], ABSENT)
    find = view.history.numbers(record.step)
    others: list[int] = np.flatnonzero((found != ABSENT) & ~has_position).tolist()
    for slot in (*others, *leaving):
        leaver = leaving.get(slot)
        number = find(int(found[slot]))[0] if leaver is None else leaver.position_id
        has_position[slot] = number is not None
        position[slot] = ABSENT if number is None else number
    return position, token_id, has_position


def _rights(
    tokens: IntArray, positions: IntArray, found: IntArray, has_left: BoolArray
) -> tuple[IntArray, BoolArray]:
    """Position id that the policy demands of each token found, and whether it should be held."""
    if not len(tokens):
        return np.full(len(found), ABSENT), np.zeros(len(found), dtype=np.bool_)
    size = 1 + max(int(found.max(initial=-1)), int(tokens.max()))
    table = np.full(size + 1, ABSENT)
    table[tokens] = positions
    right = table[found]
    is_right = right != ABSENT
    return np.where(has_left, ABSENT, right), is_right
