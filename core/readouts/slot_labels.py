"""The numbers of each slot, and how a cache reads in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT
from core.policy_oracle import Expected
from core.readouts.history import text_after
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
        position_id: position id that the ledger claims; None: none.
        expected_position_id: what the policy demands for the claimed token; None: nothing, or
            not judged yet.
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
    expected_position_id: int | None
    text: str | None
    is_counted: bool
    is_sink: bool
    has_left: bool
    is_token_wrong: bool
    is_position_wrong: bool


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
        self._text = {
            t: token.token_id for t, token in text_after(view.records, record.step).items()
        }
        self._token_text = view.token_text

    def label(self, slot: int, found: int | None) -> SlotLabel:
        """The label of a slot in which `found` was found."""
        leaver = self._leaving.get(slot)
        if leaver is not None:
            return self._left(slot, leaver)
        row, claimed, position = self._claims.get(slot, (ABSENT, ABSENT, ABSENT))
        right = self._right or {}
        is_wrong = found != _known(claimed)
        if self._right is not None and found is not None:
            is_wrong = is_wrong or found not in right
        return SlotLabel(
            slot=slot,
            row=_known(row),
            token_index=found,
            claimed_token_index=_known(claimed),
            position_id=_known(position),
            expected_position_id=right.get(claimed),
            text=self._shown(self._text.get(found)) if found is not None else None,
            is_counted=slot in self._claims,
            is_sink=0 <= claimed < self._n_sinks,
            has_left=False,
            is_token_wrong=slot in self._claims and is_wrong,
            is_position_wrong=claimed in right and right[claimed] != position,
        )

    def _left(self, slot: int, leaver: Leaver) -> SlotLabel:
        token_id = leaver.token_id
        if token_id == ABSENT:
            token_id = self._text.get(leaver.token_index)
        return SlotLabel(
            slot=slot,
            row=None,
            token_index=_known(leaver.token_index),
            claimed_token_index=None,
            position_id=_known(leaver.position_id),
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


def _known(number: int) -> int | None:
    return None if number == ABSENT else number


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
        for label in labels:
            if label.is_position_wrong:
                yield (
                    f"token {label.claimed_token_index} has position {label.position_id}, "
                    f"should have {label.expected_position_id}"
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
