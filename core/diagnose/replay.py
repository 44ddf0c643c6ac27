"""What would be found in the rows if each step wrote by a wrong rule: it takes the steps before.

A rule can be wrong in some steps only, and what it did then stays in the rows. The steps are not
told, so they are looked for: from where the rows first are not what they should be, to the last
step that wrote as the wrong rule does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from core.arrays import ABSENT, IntArray
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Answers, Predict

EMPTY = -9
"""In place of the token whose row is there: nothing was ever written."""


@dataclass(slots=True)
class Written:
    """What the rows of a sequence hold.

    Attributes:
        token: row to the token whose row is there; ABSENT: one that the text has no more.
        borrowed: rows that show the newest single token.
    """

    token: dict[int, int] = field(default_factory=dict[int, int])
    borrowed: set[int] = field(default_factory=set[int])


class Write(Protocol):
    """What a step writes, by the wrong rule where it is on."""

    def __call__(self, call: Call, written: Written, *, is_on: bool) -> None:
        """Take the rows of a step down."""
        ...


Found = Callable[[IntArray, Call, int], Answer]
"""An answer, from the token that is found at each row read by a layer."""


@dataclass(frozen=True, slots=True)
class _Replay:
    """A run, written again.

    Attributes:
        answers: what is found, for each step in focus.
        acted: the steps in which the wrong rule wrote something else than the right one would.
    """

    answers: list[Answers]
    acted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """A rule that writes all layers alike, in the steps that fit it best."""

    write: Write
    observed: Predict
    right: Predict
    found: Found

    def predicts(self, run: Run) -> list[Answers]:
        """What is found in the rows."""
        return self._best(run).answers

    def acted(self, run: Run) -> tuple[int, int] | None:
        """The first and the last step that wrote by the rule; None: it did so to the end."""
        acted = self._best(run).acted
        last = max((call.record.step for call in run.calls if call.record.layers), default=0)
        return (acted[0], acted[-1]) if acted and acted[-1] < last else None

    def _best(self, run: Run) -> _Replay:
        now, should_be = self.observed(run), self.right(run)
        odd = [
            (place, layer)
            for place, (a, b) in enumerate(zip(now, should_be, strict=True))
            for layer in range(len(a or ()))
            if a and b and a[layer] != b[layer]
        ]
        every = self._written(run, 0, None)
        if not odd:
            return every
        layers = sorted({layer for _, layer in odd})
        if _first_miss(self._written(run, 0, -1).answers, now, layers) is None:
            return _Replay(list(should_be), ())  # right writes to these rows leave the very same
        first_odd = run.focus[odd[0][0]].record.step
        for first in (0, max(0, first_odd - 1), first_odd):
            tried = self._written(run, first, None)
            miss = _first_miss(tried.answers, now, layers)
            if miss is None:
                return tried
            stop = run.focus[miss].record.step
            for last in (stop - 1, stop - 2):  # what is written wrong can show a step later
                tried = self._written(run, first, last)
                if _first_miss(tried.answers, now, layers) is None:
                    return tried
        return every

    def _written(self, run: Run, first: int, last: int | None) -> _Replay:
        """What is found if the steps from `first` to `last` write by the wrong rule."""
        held: dict[int, Written] = {}
        focus = {id(call) for call in run.focus}
        every: list[Answers] = []
        acted: list[int] = []
        for call in run.calls:
            record = call.record
            if record.parents:
                copies = [_copy(held.get(parent, Written())) for parent in record.parents]
                held = dict(enumerate(copies))
            written = held.setdefault(record.request, Written())
            _forget(call, written)
            if record.layers and first <= record.step and (last is None or record.step <= last):
                right = _copy(written)
                self.write(call, right, is_on=False)
                self.write(call, written, is_on=True)
                acted += [record.step] if written != right else []
            elif record.layers:
                self.write(call, written, is_on=False)
            if id(call) in focus:
                every.append(_found_in(call, written, self.found))
            if record.n_rejected:
                _drop_from(written, record.token_index[-1] + 1 - record.n_rejected)
        return _Replay(every, tuple(acted))


def _first_miss(
    predicted: Sequence[Answers], observed: Sequence[Answers], layers: Sequence[int]
) -> int | None:
    """The first place at which something else was found in one of the layers."""
    for place, (a, b) in enumerate(zip(predicted, observed, strict=True)):
        if a and b and any(a[layer] != b[layer] for layer in layers):
            return place
    return None


def _copy(written: Written) -> Written:
    return replace(written, token=dict(written.token), borrowed=set(written.borrowed))


def _forget(call: Call, written: Written) -> None:
    record = call.record
    if record.phase == "new_prompt" and record.token_index:
        _drop_from(written, record.token_index[0])
    elif record.phase == "rollback" and call.is_accepted:
        _drop_from(written, call.start.seen - record.n_rolled_back)


def _drop_from(written: Written, token: int) -> None:
    for row, held in written.token.items():
        if held >= token:
            written.token[row] = ABSENT


def _found_in(call: Call, written: Written, found: Found) -> Answers:
    if not call.record.layers:
        return None
    every: list[Answer] = []
    for layer, told in enumerate(call.record.layers):
        rows = told.plan.read_rows.tolist()
        tokens = np.array([written.token.get(row, EMPTY) for row in rows], dtype=np.int64)
        every.append(found(tokens, call, layer))
    return tuple(every)


# What a step writes.


def _rows_and_tokens(call: Call) -> list[tuple[int, int]]:
    rows: list[int] = call.record.layers[0].plan.write_rows.tolist()
    tokens: list[int] = call.tokens.tolist()
    return [pair for pair in zip(rows, tokens, strict=True) if pair[0] != ABSENT]


def nothing(call: Call, written: Written, *, is_on: bool) -> None:
    """New rows are lost."""
    if not is_on:
        written.token.update(_rows_and_tokens(call))


def from_row_zero(call: Call, written: Written, *, is_on: bool) -> None:
    """New rows are written from row 0 on."""
    tokens: list[int] = call.tokens.tolist()
    written.token.update(enumerate(tokens) if is_on else _rows_and_tokens(call))


def by_reference(call: Call, written: Written, *, is_on: bool) -> None:
    """Single tokens are computed in the same memory, and their rows are that memory."""
    new = _rows_and_tokens(call)
    rows = {row for row, _ in new}
    written.borrowed -= rows
    written.token.update(new)
    if len(call.record.slots) > 1:
        return
    written.borrowed |= rows if is_on else set()
    newest = int(call.tokens[0])
    written.token.update(dict.fromkeys(written.borrowed, newest))
