"""How a cache reads in words: what is wrong first, then what it holds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from core.outcome import Ok
from core.policy_oracle import Expected
from core.readouts.slot_labels import SlotLabels
from core.readouts.slot_states import LayerRow, SlotState
from core.readouts.words import compared_outcome, ranges
from core.record import StepRecord

_MOST_COMPLAINTS = 4
_SLOT_COMPLAINTS = {
    SlotState.UNWRITTEN: "counted, never written",
    SlotState.STRAY: "counted, but holding a row of no token",
}


@dataclass(frozen=True, slots=True)
class CacheWords:
    """Makes the sentence under the cache.

    Attributes:
        record: the step.
        before: the step before it; None: it is the first.
        expected: what the policy demands; None: not judged yet.
        missing: tokens that should be held and are not.
        left: tokens that the ledger let go in this step.
    """

    record: StepRecord
    before: StepRecord | None
    expected: Expected | None
    missing: tuple[int, ...]
    left: tuple[int, ...]

    def sentence(self, labels: SlotLabels, shown: LayerRow) -> str:
        """What is wrong, what is held, what left."""
        complaints = list(self._complaints(labels, shown))
        if len(complaints) > _MOST_COMPLAINTS:
            n_more = len(complaints) - _MOST_COMPLAINTS
            complaints = [*complaints[:_MOST_COMPLAINTS], f"{n_more} more"]
        return "; ".join([*self._outcome(), *complaints, *self._held()])

    def _outcome(self) -> Iterator[str]:
        """How a step ended that did not go on, or should not have."""
        record, capacity = self.record, self.record.ledger.capacity
        right = None if self.expected is None else self.expected.outcome
        if isinstance(record.outcome, Ok) and right in (None, record.outcome):
            return
        words = compared_outcome(record.outcome, right, record.phase, capacity)
        if right != record.outcome:
            yield words
        elif self._has_moved:
            what, numbers = words.split(": ", 1)
            yield f"{what}, as it should be; but {self._moved}"
            yield numbers
        else:
            yield words.replace(": ", ", as it should be: ", 1)

    @property
    def _has_moved(self) -> bool:
        """Whether a step that read nothing changed the length that is told."""
        before, record = self.before, self.record
        return before is not None and before.reported_length != record.reported_length

    @property
    def _moved(self) -> str:
        old = 0 if self.before is None else self.before.reported_length
        return f"length {old} → {self.record.reported_length} of {self.record.ledger.capacity}"

    def _held(self) -> Iterator[str]:
        yield f"holds {self.record.reported_length} of {self.record.ledger.capacity}"
        if self.left:
            yield f"{_tokens(self.left)} left"

    def _complaints(self, labels: SlotLabels, shown: LayerRow) -> Iterator[str]:
        yield from _foreign(labels)
        claimed = labels.claimed if self.missing else set[int]()
        gone = tuple(token for token in self.missing if token in claimed)
        if gone:
            yield f"{_tokens(gone)} gone"
        for state, words in _SLOT_COMPLAINTS.items():
            slots = np.flatnonzero(shown.state == state).tolist()
            if slots:
                yield f"{_slots(slots)} {words}"
        yield from _positions(labels)
        yield from self._counts()
        never = tuple(token for token in self.missing if token not in claimed)
        if never:
            yield f"{_tokens(never)} should be held"

    def _counts(self) -> Iterator[str]:
        expected, record = self.expected, self.record
        if expected is None or expected.outcome != record.outcome:
            return  # what follows from a wrong outcome says nothing more
        if expected.length != record.reported_length:
            is_told = record.outcome == expected.outcome and not isinstance(record.outcome, Ok)
            if not (is_told and self._has_moved):
                yield f"length is {record.reported_length}, should be {expected.length}"
        if expected.seen != record.ledger.seen:
            yield f"seen is {record.ledger.seen}, should be {expected.seen}"


def _foreign(labels: SlotLabels) -> Iterator[str]:
    """Slots with another token than claimed, or with one that should not be held."""
    for label in labels.with_wrong_token:
        if label.claimed_token_index == label.token_index:
            yield f"token {label.token_index} in slot {label.slot} should not be held"
        else:
            yield f"slot {label.slot} holds token {label.token_index}"


def _positions(labels: SlotLabels) -> Iterator[str]:
    """Position ids that the policy does not demand; two slots may hold the row of one token."""
    slots_of: dict[tuple[int | None, int | None], list[int]] = {}
    for label in labels.with_wrong_position:
        numbers = (label.position_id, label.expected_position_id)
        slots_of.setdefault(numbers, []).append(label.slot)
    for (found, expected), slots in slots_of.items():
        yield f"position of {_slots(slots)} is {found}, expected {expected}"


def _tokens(tokens: Iterable[int]) -> str:
    tokens = tuple(tokens)
    return f"{'token' if len(tokens) == 1 else 'tokens'} {ranges(tokens)}"


def _slots(slots: Iterable[int]) -> str:
    slots = tuple(slots)
    return f"{'slot' if len(slots) == 1 else 'slots'} {ranges(slots)}"
