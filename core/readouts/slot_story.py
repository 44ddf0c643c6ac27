"""What became of a slot: who was put there, who read it, what was found, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.arrays import ABSENT, IntArray, known
from core.blank_rows import is_blank
from core.readouts.history import computed_tokens, newest_query
from core.readouts.slot_table import NOT_READ, SlotTable
from core.readouts.words import plural, ranges
from core.record import StepRecord

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

_HOW_ENDED = {"rollback": "taken back", "new_prompt": "forgotten"}


@dataclass(slots=True)
class _Stay:
    """One token's time in a slot, as the ledger tells it; token None: a row of no token.

    Attributes:
        token: its token index.
        token_id: which token.
        position: its position id.
        row: the row that it was to be written to.
        is_outside: whether that row is outside the buffer.
        is_lost: whether another row than its own, or none, was there once it was put there.
        first: the step that put it there; None: the slot was never given to anybody.
        reads: what reads found (None: no token), and in which steps.
        empty: row and version of a read that found no token.
        last: the step that ended the stay; None: it goes on.
        how: how it ended.
    """

    token: int | None
    token_id: int | None
    position: int | None
    row: int | None
    first: int | None
    is_outside: bool = False
    is_lost: bool = False
    reads: dict[int | None, list[int]] = field(default_factory=dict[int | None, list[int]])
    empty: tuple[int, int] | None = None
    last: int | None = None
    how: str = ""


def looked_at_slot(view: RunView) -> int | None:
    """The selected slot, else that of the selected token, else that of the newest query."""
    selection, record = view.selection, view.records[view.selection.step]
    if selection.slot is not None:
        return selection.slot
    if selection.token_index is not None:
        return _slot_of(view, selection.token_index)
    if len(record.slots):
        return int(record.slots[newest_query(record)])
    counted = record.ledger.counted_slots
    return int(counted[-1]) if len(counted) else None


def slot_story(view: RunView) -> str:
    """The story of the slot looked at, in the layer looked at, over all steps so far."""
    slot = looked_at_slot(view)
    if slot is None:
        token = view.selection.token_index
        return "" if token is None else f"token {token}: no slot held it by this step"
    return _Teller(view, slot).story()


def _slot_of(view: RunView, token: int) -> int | None:
    ledger = view.records[view.selection.step].ledger
    places = np.flatnonzero(ledger.token_index == token)
    if len(places):
        return int(ledger.slot[places[0]])
    which = view.records[view.selection.step].request
    for record in reversed(view.records[: view.selection.step + 1]):
        tokens = computed_tokens(record)
        if token in tokens and record.request == which:
            return int(record.slots[tokens.index(token)])
    return None


class _Teller:
    """Follows a slot through the records of a run."""

    def __init__(self, view: RunView, slot: int) -> None:
        self._view, self._slot = view, slot
        self._layer = view.selection.layer
        self._stays: list[_Stay] = []
        self._unheld = _Stay(None, None, None, None, None)
        self._n = len(view.records)
        self._which = view.records[view.selection.step].request
        table = view.history.slot_table(self._layer, self._which)
        self._settle(table)
        self._note_reads(table.found(slot)[: self._n])

    def story(self) -> str:
        """The stay at the step looked at, and what was before and after it."""
        selection = self._view.selection
        step = selection.step
        begun = [stay for stay in self._stays if stay.first is not None and stay.first <= step]
        if selection.slot is None and selection.token_index is not None:
            begun = _until_last_of(selection.token_index, begun)
        later = self._stays[len(begun) :]
        parts = list(self._of_stay(begun[-1]) if begun else self._of_no_one())
        if len(begun) > 1:
            earlier = [stay.token for stay in begun[:-1] if stay.token is not None]
            parts.append(f"held before: {_named(earlier)}")
        if later:
            parts.append(f"given to {_name(later[0].token)} in step {later[0].first}")
        return f"slot {self._slot}: {'; '.join(parts)}"

    def _settle(self, table: SlotTable) -> None:
        """The stays, one after the other: from a write or a probe to the next or to the end."""
        is_held = table.is_held(self._slot)[: self._n]
        writes: list[tuple[int, int | None]] = [*table.writes(self._slot)]
        events = writes + [(step, None) for step in (*table.probes, *table.reorders)]
        for step, place in sorted(events, key=lambda event: event[0]):
            if step >= self._n:
                break
            self._leave(is_held, step)
            if step in table.reorders:
                self._replace(step)
            elif place is not None:
                self._end(step, "overwritten")
                self._stays.append(self._written(step, place))
            elif is_held[step] and not self._is_open:
                is_outside = self._is_outside(step)
                self._stays.append(_Stay(None, None, None, None, step, is_outside))
        self._leave(is_held, self._n)

    def _replace(self, step: int) -> None:
        """The sequence goes on from another one's text: its token of the same place is here now."""
        if not self._is_open:
            return
        old = self._stays[-1]
        self._end(step, "replaced in the reorder")
        parent = self._view.records[step].parents[self._which]
        token_id = self._token_id_of(parent, old.token, step)
        self._stays.append(_Stay(old.token, token_id, old.position, old.row, step))

    def _token_id_of(self, which: int, token: int | None, step: int) -> int | None:
        """The token that another sequence had read at a place when a step began."""
        for at in range(step - 1, -1, -1):
            record = self._view.records[at]
            if record.parents:
                which = record.parents[which]
            elif record.request == which and token in record.token_index:
                return record.token_ids[record.token_index.index(token)]
        return None

    def _written(self, step: int, place: int) -> _Stay:
        record = self._view.records[step]
        plan, token = record.layers[self._layer].plan, computed_tokens(record)[place]
        row = int(plan.write_rows[place])
        position, live = int(plan.position_ids[place]), record.live[self._layer]
        is_here, is_outside = live.slot == self._slot, self._is_outside(step)
        is_lost = bool((live.token_index[is_here] != token).any())
        token_id = self._id_of(record, token)
        return _Stay(token, token_id, position, row, record.step, is_outside, is_lost)

    def _is_outside(self, step: int) -> bool:
        """Whether the slot has no row in the buffer once a step is over."""
        live = self._view.records[step].live[self._layer]
        return bool((live.row[live.slot == self._slot] == ABSENT).any())

    def _id_of(self, record: StepRecord, token: int) -> int | None:
        if token in record.token_index:
            return record.token_ids[record.token_index.index(token)]
        return self._view.history.numbers(record.step)(token)[1]

    @property
    def _is_open(self) -> bool:
        return bool(self._stays) and self._stays[-1].last is None

    def _leave(self, is_held: NDArray[np.bool_], before: int) -> None:
        """End the open stay with the first step that let it go, if that came before a step."""
        first = self._stays[-1].first if self._is_open else None
        if first is None:
            return
        gone = np.flatnonzero(~is_held[first:before])
        if len(gone):
            step = first + int(gone[0])
            self._end(step, _HOW_ENDED.get(self._view.records[step].phase, "let go"))

    def _end(self, step: int, how: str) -> None:
        if self._is_open:
            self._stays[-1].last, self._stays[-1].how = step, how

    def _note_reads(self, found: NDArray[np.int32]) -> None:
        """Each read belongs to the stay of its step; one of an overwritten row to the next."""
        is_other = np.ones(self._n, dtype=np.bool_)
        for stay in self._stays:
            first = 0 if stay.first is None else stay.first
            is_gone = stay.how in ("overwritten", "replaced in the reorder")
            stop = self._n if stay.last is None else stay.last + (not is_gone)
            self._note(stay, found[first:stop], np.arange(first, stop))
            is_other[first:stop] = False
        steps = np.flatnonzero(is_other)
        self._note(self._unheld, found[: self._n][steps], steps)

    def _note(self, stay: _Stay, found: NDArray[np.int32], steps: IntArray) -> None:
        is_read = found != NOT_READ
        tokens, steps = found[is_read], steps[is_read]
        values, firsts = np.unique(tokens, return_index=True)
        for value in values[np.argsort(firsts)].tolist():
            stay.reads[known(value)] = steps[tokens == value].tolist()
        empty = stay.reads.get(None)
        if empty:
            told = self._view.records[empty[-1]].layers[self._layer]
            place = int(np.flatnonzero(told.plan.view_slots == self._slot)[0])
            stay.empty = int(told.plan.read_rows[place]), int(told.row_version[place])

    def _of_stay(self, stay: _Stay) -> Iterator[str]:
        if stay.token is None:
            if stay.is_outside:
                yield f"counted from step {stay.first} on; never written: it is outside the buffer"
            else:
                yield f"a row of no token, from step {stay.first} on"
        else:
            text = "" if stay.token_id is None else f" ‘{self._view.token_text(stay.token_id)}’"
            yield f"token {stay.token}{text}, position id {stay.position}, row {stay.row}"
            was_found = stay.token in stay.reads or not (stay.reads or stay.is_lost)
            yield f"{'written' if was_found else 'given the slot'} in step {stay.first}"
            if stay.is_outside:
                yield f"never written: row {stay.row} is outside the buffer"
        yield from self._reads(stay)
        if stay.last is not None:
            yield f"{stay.how} in step {stay.last}"

    def _of_no_one(self) -> Iterator[str]:
        if not self._unheld.reads:
            yield "not used by this step"
            return
        yield "given to no token"
        yield from self._reads(self._unheld)

    def _reads(self, stay: _Stay) -> Iterator[str]:
        """What reads found: the token itself, nothing, or others."""
        if not stay.reads:
            yield "not read yet"
        others: dict[int, int] = {}
        for found, steps in stay.reads.items():
            if found is None:
                yield f"read in {_steps(steps)}, {self._emptiness(stay)}"
            elif found == stay.token:
                yield f"read in {_steps(steps)}"
            else:
                others.update(dict.fromkeys(steps, found))
        if others:
            tokens = [*dict.fromkeys(others[step] for step in sorted(others))]
            noun = "row of token" if len(tokens) == 1 else "rows of tokens"
            yield f"found there in {_steps(sorted(others))}: {noun} {ranges(tokens)}"

    def _emptiness(self, stay: _Stay) -> str:
        row = stay.empty
        if row is None or row[0] == ABSENT or is_blank(self._view.records, self._layer, *row):
            return "never written"
        return "a row of no token was there"


def _until_last_of(token: int, stays: list[_Stay]) -> list[_Stay]:
    places = [place for place, stay in enumerate(stays) if stay.token == token]
    return stays[: places[-1] + 1] if places else stays


def _steps(steps: Sequence[int]) -> str:
    return f"{'step' if len(steps) == 1 else 'steps'} {ranges(steps)}"


def _name(token: int | None) -> str:
    return "a row of no token" if token is None else f"token {token}"


def _named(tokens: Sequence[int]) -> str:
    if len(tokens) > 1:
        return f"{plural(len(tokens), 'token')}, the last one token {tokens[-1]}"
    return _name(tokens[0] if tokens else None)
