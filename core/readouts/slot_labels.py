"""The numbers of each slot, and how a cache reads in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, known
from core.policy_oracle import Expected
from core.readouts.history import token_numbers
from core.readouts.slot_states import LayerRow, Leaver, SlotState
from core.readouts.words import ranges
from core.record import StepRecord

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

_MOST_COMPLAINTS = 3
_SLOT_COMPLAINTS = {
    SlotState.UNWRITTEN: "counted, but never written",
    SlotState.STRAY: "counted, but holding a row of no token",
}


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
        """Whether the position id is not the one that the ledger claims."""
        return self.is_counted and self.position_id != self.claimed_position_id


def slot_labels(
    view: RunView, shown: LayerRow, leaving: dict[int, Leaver], expected: Expected | None
) -> tuple[SlotLabel, ...]:
    """One label per slot for the layer that is looked at."""
    maker = _LabelMaker(view, leaving, expected)
    return tuple(maker.label(slot, found) for slot, found in enumerate(shown.token_index))


class _LabelMaker:
    """Looks up what is said of a slot."""

    def __init__(
        self, view: RunView, leaving: dict[int, Leaver], expected: Expected | None
    ) -> None:
        record = view.records[view.selection.step]
        live, ledger = record.live[view.selection.layer], record.ledger
        tokens, positions = ledger.claims_for(live.slot)
        claims = zip(live.row.tolist(), tokens.tolist(), positions.tolist(), strict=True)
        self._claims = dict(zip(live.slot.tolist(), claims, strict=True))
        self._leaving = leaving
        self._n_sinks = view.spec.sinks
        self._right = None if expected is None else dict(expected.live)
        self._numbers = token_numbers(view.records, record.step)
        self._token_text = view.token_text

    def label(self, slot: int, found: int | None) -> SlotLabel:
        """The label of a slot in which `found` was found."""
        leaver = self._leaving.get(slot)
        if leaver is not None:
            return self._left(slot, leaver)
        row, claimed, claimed_position = map(known, self._claims.get(slot, (ABSENT,) * 3))
        position, token_id = self._numbers(found)
        right = self._right or {}
        expected = None if found is None else right.get(found)
        is_wrong = found != claimed
        if self._right is not None and found is not None:
            is_wrong = is_wrong or found not in right
        return SlotLabel(
            slot=slot,
            row=row,
            token_index=found,
            claimed_token_index=claimed,
            position_id=position,
            claimed_position_id=claimed_position,
            expected_position_id=expected,
            text=self._shown(token_id),
            is_counted=slot in self._claims,
            is_sink=claimed is not None and claimed < self._n_sinks,
            has_left=False,
            is_token_wrong=slot in self._claims and is_wrong,
            is_position_wrong=expected not in (None, position),
        )

    def _left(self, slot: int, leaver: Leaver) -> SlotLabel:
        token_id = leaver.token_id
        if token_id is None:
            _, token_id = self._numbers(leaver.token_index)
        return SlotLabel(
            slot=slot,
            row=None,
            token_index=leaver.token_index,
            claimed_token_index=None,
            position_id=leaver.position_id,
            claimed_position_id=None,
            expected_position_id=None,
            text=self._shown(token_id),
            is_counted=False,
            is_sink=False,
            has_left=True,
            is_token_wrong=False,
            is_position_wrong=False,
        )

    def _shown(self, token_id: int | None) -> str | None:
        return None if token_id is None else self._token_text(token_id)


@dataclass(frozen=True, slots=True)
class CacheWords:
    """Makes the sentence under the cache."""

    record: StepRecord
    expected: Expected | None
    missing: tuple[int, ...]
    left: tuple[int, ...]

    def sentence(self, labels: Sequence[SlotLabel], shown: LayerRow) -> str:
        """What is held, what left, and what is wrong."""
        parts = [f"holds {self.record.reported_length} of {self.record.ledger.capacity}"]
        if self.left:
            parts.append(f"{_tokens(self.left)} left")
        complaints = list(self._complaints(labels, shown))
        if len(complaints) > _MOST_COMPLAINTS:
            n_more = len(complaints) - _MOST_COMPLAINTS
            complaints = [*complaints[:_MOST_COMPLAINTS], f"{n_more} more"]
        return "; ".join([*parts, *complaints])

    def _complaints(self, labels: Sequence[SlotLabel], shown: LayerRow) -> Iterator[str]:
        yield from self._counts()
        for state, words in _SLOT_COMPLAINTS.items():
            slots = np.flatnonzero(shown.state == state).tolist()
            if slots:
                yield f"{_slots(slots)} {words}"
        yield from (
            _token_complaint(label)
            for label in labels
            if label.is_token_wrong and label.token_index is not None
        )
        # Two slots may hold the row of one token.
        yield from dict.fromkeys(
            f"token {label.token_index} has position {label.position_id}, "
            f"should have {label.expected_position_id}"
            for label in labels
            if label.is_position_wrong
        )
        if self.missing:
            yield f"{_tokens(self.missing)} should be held"

    def _counts(self) -> Iterator[str]:
        expected, record = self.expected, self.record
        if expected is None:
            return
        if expected.length != record.reported_length:
            yield f"length is {record.reported_length}, should be {expected.length}"
        if expected.seen != record.ledger.seen:
            yield f"seen is {record.ledger.seen}, should be {expected.seen}"


def _token_complaint(label: SlotLabel) -> str:
    claimed = label.claimed_token_index
    if claimed == label.token_index:
        return f"token {claimed} in slot {label.slot} should not be held"
    wanted = "no token" if claimed is None else f"token {claimed}"
    return f"slot {label.slot} holds token {label.token_index}, not {wanted}"


def _tokens(tokens: Iterable[int]) -> str:
    tokens = tuple(tokens)
    return f"{'token' if len(tokens) == 1 else 'tokens'} {ranges(tokens)}"


def _slots(slots: Iterable[int]) -> str:
    slots = tuple(slots)
    return f"{'slot' if len(slots) == 1 else 'slots'} {ranges(slots)}"
