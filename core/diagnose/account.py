"""A step together with what stood when it began, by the engine's own account.

A rule is judged by what it was asked with: a wrong answer early in a run is not held against the
rules that were asked later, and worked with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.arrays import ABSENT, IntArray
from core.engine.types import Ledger
from core.outcome import Ok
from core.record import StepRecord
from core.verdict import StepVerdict

APPENDS = ("prefill", "decode", "verify", "new_prompt")


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A step.

    Attributes:
        record: what happened.
        verdict: what should have happened.
        before: what the sequence's cache was said to hold before the step.
        start: the same once what the request forgets is gone: what new tokens are added to.
        recent: tokens of the text's last append but one, and of its last.
        n_common: tokens that a new prompt shares with the text before, where rows are used again;
            None: they are not.
        parent: the sequence whose text this one went on from in the last reorder.
        reordered_at: the step of that reorder; None: there was none.
        twins: token to the first one whose key and value in layer 0 are the same, byte by byte:
            where positions are not in the rows, equal tokens have equal ones.
    """

    record: StepRecord
    verdict: StepVerdict
    before: Ledger
    start: Ledger
    recent: tuple[int, int]
    n_common: int | None
    parent: int
    reordered_at: int | None
    twins: Mapping[int, int]

    @property
    def n_rows(self) -> int:
        """Rows that the step wants to add."""
        record = self.record
        if record.phase == "probe":
            return max(record.n_probed)
        return record.n_padding + len(record.token_ids)

    @property
    def is_refilled(self) -> bool:
        """Whether the cache was filled anew from the tokens of the text."""
        record = self.record
        is_later = bool(record.layers) and record.ledger.origin > self.start.origin
        return record.n_recomputed > 0 or record.n_skipped > 0 or is_later

    @property
    def is_accepted(self) -> bool:
        """Whether the step was carried out."""
        return isinstance(self.record.outcome, Ok)

    @property
    def tokens(self) -> IntArray:
        """[T] token index of each computed token; ABSENT: padding."""
        record = self.record
        n = len(record.slots) - record.n_padding
        first = record.token_index[0] + record.n_skipped - record.n_recomputed
        return np.concatenate((np.full(record.n_padding, ABSENT), np.arange(first, first + n)))

    @property
    def base(self) -> Ledger:
        """What the computed tokens are added to: `start`, or nothing where it is filled anew."""
        if not self.is_refilled:
            return self.start
        origin = int(self.tokens[0])
        return Ledger(self.start.capacity, seen=origin, origin=origin)

    def entered(self) -> Ledger:
        """What is held with the new rows, before anything leaves."""
        record, base, tokens = self.record, self.base, self.tokens
        n = len(tokens)
        n_ahead = _n_ahead(base, record.past_len or 0)
        counted = base.count(n_ahead + n, n - record.n_padding)
        given = record.layers[0].plan.position_ids
        entered = counted.with_rows(record.slots, tokens, given, np.zeros_like(tokens))
        return replace(entered, n_pads=record.n_padding or base.n_pads)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The judged part of a run.

    Attributes:
        records: all of them, by step.
        calls: all steps up to the last one that is looked at.
        focus: those of them that are looked at.
        n_sinks: tokens that never leave, as far as the verdicts tell.
    """

    records: Sequence[StepRecord]
    calls: tuple[Call, ...]
    focus: tuple[Call, ...]
    n_sinks: int


def _n_ahead(base: Ledger, past_len: int) -> int:
    """Rows counted as held though nobody wrote them: more was read, it is said, than there was."""
    n_unread = past_len - max(base.seen - base.origin, len(base.slot))
    return max(0, len(base.slot) + n_unread - base.length) if n_unread > 0 else 0


def run_of(
    records: Sequence[StepRecord], verdicts: Mapping[int, StepVerdict], first: int, stop: int
) -> Run:
    """The steps before `stop`, of which those from `first` on are looked at."""
    follower = _Follower(records[0].ledger.capacity)
    calls = tuple(follower.call(record, verdicts[record.step]) for record in records[:stop])
    return Run(records, calls, calls[first:], _n_sinks(calls[first:]))


@dataclass(frozen=True, slots=True)
class _Sequence:
    """What is known of one sequence."""

    ledger: Ledger
    text: tuple[int, ...] = ()
    recent: tuple[int, int] = (0, 0)
    parent: int = 0
    reordered_at: int | None = None
    rows: Mapping[bytes, int] = field(default_factory=dict[bytes, int])
    twins: Mapping[int, int] = field(default_factory=dict[int, int])


class _Follower:
    """Follows all sequences of a run."""

    def __init__(self, capacity: int) -> None:
        self._fresh = _Sequence(Ledger(capacity))
        self._known: dict[int, _Sequence] = {}

    def call(self, record: StepRecord, verdict: StepVerdict) -> Call:
        which = record.request
        state = self._known.get(which, self._fresh)
        n_common = _n_common(state.text, record.prompt_ids) if record.prompt_ids else None
        start, recent = state.ledger, state.recent
        if record.phase == "new_prompt":
            first = record.token_index[0] if record.token_index else 0
            start = cropped(start, start.seen - first) if record.prompt_ids else self._fresh.ledger
            recent = recent if record.prompt_ids else (0, 0)
        call = Call(
            record,
            verdict,
            state.ledger,
            start,
            recent,
            n_common,
            state.parent,
            state.reordered_at,
            state.twins,
        )
        if record.layers:
            state = _with_rows(call, state)
            call = replace(call, twins=state.twins)
        if record.phase == "reorder":
            self._reorder(record)
        else:
            self._known[which] = self._after(call, state)
        return call

    def _reorder(self, record: StepRecord) -> None:
        states = [self._known.get(parent, self._fresh) for parent in record.parents]
        for which, (parent, state) in enumerate(zip(record.parents, states, strict=True)):
            self._known[which] = replace(state, parent=parent, reordered_at=record.step)

    def _after(self, call: Call, state: _Sequence) -> _Sequence:
        record = call.record
        state = replace(state, ledger=record.ledger)
        if not call.is_accepted or record.phase == "probe":
            return state
        if record.phase == "rollback":
            return replace(state, text=state.text[: record.ledger.seen])
        if not record.token_index:
            return state
        text = (*state.text[: record.token_index[0]], *record.token_ids)
        kept = text[: len(text) - record.n_rejected]
        n = len(record.slots) - record.n_padding
        last = 0 if call.is_refilled else call.recent[1]
        return replace(state, text=kept, recent=(last, n))


def _with_rows(call: Call, state: _Sequence) -> _Sequence:
    """What is known once the new rows of layer 0 were looked at."""
    layer = call.record.layers[0]
    rows, twins = dict(state.rows), dict(state.twins)
    if call.record.phase == "new_prompt":
        rows, twins = {}, {}
    for place, token in enumerate(call.tokens.tolist()):
        key, value = layer.new_keys[:, place], layer.new_values[:, place]
        first = rows.setdefault(key.tobytes() + value.tobytes(), token)
        twins.pop(token, None)
        if first != token:
            twins[token] = first
    return replace(state, rows=rows, twins=twins)


def _n_common(text: Sequence[int], prompt: Sequence[int]) -> int:
    n = 0
    while n < min(len(text), len(prompt)) and text[n] == prompt[n]:
        n += 1
    return n


def cropped(ledger: Ledger, n: int) -> Ledger:
    """The ledger without the rows of its newest n tokens."""
    if n <= 0:
        return ledger
    target = ledger.seen - n
    is_dropped = np.maximum.accumulate(ledger.token_index >= target)
    kept = ledger.only(~is_dropped).count(0, -n)
    return replace(kept, origin=min(kept.origin, target))


def _n_sinks(calls: Sequence[Call]) -> int:
    """Tokens at the start that are held although later ones have left, where there are any."""
    for call in calls:
        live = [token for token, _ in call.verdict.expected.live]
        for place, token in enumerate(live):
            if token != place:
                return place
    return 0
