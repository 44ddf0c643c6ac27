"""How a cache reads in words: what is wrong first, then what it holds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import BoolArray
from core.outcome import Ok
from core.policy_oracle import Expected
from core.readouts.slot_labels import SlotLabels
from core.readouts.slot_states import LayerRow, SlotState
from core.readouts.words import compared_outcome, outcome_name, ranges
from core.record import StepRecord

_MOST_COMPLAINTS = 4
_SLOT_COMPLAINTS = {
    SlotState.UNWRITTEN: "counted, never written",
    SlotState.STRAY: "counted, but holding a row of no token",
    SlotState.NAN: "holding what is not a number",
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

    def sentence(self, labels: SlotLabels, shown: LayerRow, rows: Sequence[LayerRow]) -> str:
        """What is wrong, what is held, what left, which rows are not as they should be."""
        complaints = list(self._complaints(labels, shown))
        if len(complaints) > _MOST_COMPLAINTS:
            n_more = len(complaints) - _MOST_COMPLAINTS
            complaints = [*complaints[:_MOST_COMPLAINTS], f"{n_more} more"]
        return "; ".join([*self._outcome(), *complaints, *self._held(shown), *_off(rows)])

    def _outcome(self) -> Iterator[str]:
        """How a step ended that did not go on, or should not have."""
        record = self.record
        right = None if self.expected is None else self.expected.outcome
        if isinstance(record.outcome, Ok) and right in (None, record.outcome):
            return
        words = compared_outcome(record, right)
        if right != record.outcome:
            yield words
        elif self._has_moved:
            yield f"{outcome_name(record.outcome)}, as it should be; but {self._moved}"
            yield words.split(": ", 1)[1]
        else:  # the line of the step has the numbers
            yield f"{outcome_name(record.outcome)}, as it should be"

    @property
    def _has_moved(self) -> bool:
        """Whether a step that read nothing changed the length that is told."""
        before, record = self.before, self.record
        return before is not None and before.reported_length != record.reported_length

    @property
    def _moved(self) -> str:
        old = 0 if self.before is None else self.before.reported_length
        return f"length {old} → {self.record.reported_length} of {self.record.ledger.capacity}"

    def _held(self, shown: LayerRow) -> Iterator[str]:
        """Rows that are really there, each once, whatever length is told."""
        ledger = self.record.ledger
        n_unwritten = int((shown.state == SlotState.UNWRITTEN).sum())
        n_counted = int(np.count_nonzero(np.bincount(ledger.counted_slots)))
        yield f"holds {n_counted - n_unwritten} of {ledger.capacity}"
        if self.left:
            yield f"{_tokens(self.left)} left"
        yield from self._past_capacity(len(shown.state))

    def _past_capacity(self, n_slots: int) -> Iterator[str]:
        """What slots past the capacity are for, where none of them is counted wrongly."""
        expected, record, capacity = self.expected, self.record, self.record.ledger.capacity
        is_odd = expected is not None and expected.length != record.reported_length
        if n_slots <= capacity or record.reported_length > capacity or is_odd:
            return
        past = range(capacity, n_slots)
        use = "takes a step's row before an old one leaves"
        if len(past) > 1:
            use = "take a step's rows before old ones leave"
        yield f"{_slots(past)}, past the capacity of {capacity}, {use}"

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


def _off(rows: Sequence[LayerRow]) -> Iterator[str]:
    """Slots whose rows are not the reference's in some layer, and those layers.

    A slot that holds another token's row has been told before.
    """
    if not any(row.is_off.any() for row in rows):
        return
    is_off = {layer: off for row in rows for layer, off in _off_by_layer(row)}
    layers = sorted(layer for layer, off in is_off.items() if off.any())
    if not layers:
        return
    slots = np.flatnonzero(np.any([*is_off.values()], axis=0)).tolist()
    noun, verb = ("row", "differs") if len(slots) == 1 else ("rows", "differ")
    where = "every layer" if len(layers) == len(is_off) else _named("layer", layers)
    yield f"{noun} in {_slots(slots)} {verb} from the reference's in {where}"


def _off_by_layer(row: LayerRow) -> Iterator[tuple[int, BoolArray]]:
    is_told = row.state == SlotState.FOREIGN
    return ((n, off & ~is_told) for n, off in zip(row.layers, row.is_off, strict=True))


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
    return _named("token", tokens)


def _slots(slots: Iterable[int]) -> str:
    return _named("slot", slots)


def _named(noun: str, numbers: Iterable[int]) -> str:
    numbers = tuple(numbers)
    return f"{noun if len(numbers) == 1 else f'{noun}s'} {ranges(numbers)}"
