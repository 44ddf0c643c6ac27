"""Softmax weight on rows that are not live, from a shadow account of every row.

The shadow goes by the requests, by what was handed to the store and came back, and by what the
policy oracle says lives. It never asks the ledger what is held: only which rows a right probe took.
More than 300 lines, because the account and what it is kept by, row by row, are read together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray
from core.blank_rows import is_blank
from core.outcome import Ok
from core.policy_oracle import Expected
from core.record import LayerRecord, StepRecord
from core.verdict import StepVerdict


class RowState(IntEnum):
    """What a physical row is in the shadow account."""

    NEVER_WRITTEN = 0
    LIVE = 1
    LOOSE = 2
    """Live, but of no token: a probe's."""
    PADDING = 3
    EVICTED = 4
    STALE = 5
    """Taken back, of an older text, or read again since."""
    FOREIGN = 6
    """Another row than the one that should be there."""

    @property
    def words(self) -> str:
        """The state in words."""
        return self.name.lower().replace("_", " ")


IS_LIVE = (RowState.LIVE, RowState.LOOSE)
_LET_GO = (RowState.EVICTED, RowState.STALE)


@dataclass(frozen=True, slots=True)
class DeadWeight:
    """Weight that the queries of a step put on rows of one state in a layer.

    Attributes:
        layer: the layer.
        state: of the rows; never one of `IS_LIVE`.
        by_head: for each query head the weight of the query that puts most there; padding is no
            query. NaN where weights are no numbers.
        rows: the physical rows, ascending.
    """

    layer: int
    state: RowState
    by_head: tuple[float, ...]
    rows: tuple[int, ...]

    @property
    def head(self) -> int:
        """The head with most, the first of equals; one that is no number comes before all."""
        return int(np.argmax(self.by_head))

    @property
    def amount(self) -> float:
        """The weight in that head."""
        return self.by_head[self.head]

    def is_above(self, other: "DeadWeight") -> bool:
        """Whether there is more of it; what is no number is above every number."""
        return not np.isnan(other.amount) and not self.amount <= other.amount


class _Table:
    """The rows of one layer.

    Attributes:
        state: [R] a `RowState` each.
        token: [R] token whose row it is or was; of a loose row, the first token that reads it.
    """

    def __init__(self) -> None:
        self.state = np.zeros(0, dtype=np.int64)
        self.token = np.zeros(0, dtype=np.int64)

    def copy(self) -> "_Table":
        other = _Table()
        other.state, other.token = self.state.copy(), self.token.copy()
        return other

    def reach(self, rows: IntArray) -> None:
        n_more = int(rows.max(initial=-1)) + 1 - len(self.state)
        if n_more > 0:
            n_more = max(n_more, len(self.state))
            self.state = np.concatenate((self.state, np.zeros(n_more, dtype=np.int64)))
            self.token = np.concatenate((self.token, np.full(n_more, ABSENT)))

    def is_of_token(self) -> BoolArray:
        """[R] whether the row is, or was, a token's of this text."""
        return (self.state == RowState.LIVE) | (self.state == RowState.EVICTED)

    def cut(self, target: int) -> None:
        """The text goes on from token `target`."""
        is_gone = self.is_of_token() & (self.token >= target)
        is_gone |= (self.state == RowState.LOOSE) & (self.token > target)
        self.state[is_gone] = RowState.STALE

    def forget(self) -> None:
        """The text is forgotten."""
        self.state[self.state != RowState.NEVER_WRITTEN] = RowState.STALE

    def wrote(self, rows: IntArray, tokens: IntArray) -> None:
        """Rows of `tokens` were handed to the store for `rows`; ABSENT: padding."""
        self.reach(rows)
        again = tokens[tokens != ABSENT]
        self.state[self.is_of_token() & np.isin(self.token, again)] = RowState.STALE
        self.state[rows] = np.where(tokens == ABSENT, RowState.PADDING, RowState.LIVE)
        self.token[rows] = tokens

    def keep(self, held: BoolArray) -> None:
        """Only tokens where `held` [n] is true live on."""
        is_live = self.state == RowState.LIVE
        self.state[is_live & ~_at(held, self.token)] = RowState.EVICTED


def _at(table: BoolArray, tokens: IntArray) -> BoolArray:
    """[n] the entry of each token; false outside the table."""
    is_inside = (tokens >= 0) & (tokens < len(table))
    found = np.zeros(len(tokens), dtype=np.bool_)
    found[is_inside] = table[tokens[is_inside]]
    return found


_GONE = -2
"""In place of a token: one that the text has no more, though the engine still counts it."""


class Shadow:
    """The rows of one sequence, layer by layer, followed step by step.

    Tokens are counted here anew: an engine that miscounts them gives them other indices.
    """

    def __init__(self, n_layers: int) -> None:
        """Nothing was written yet."""
        self._tables: list[_Table] = [_Table()] * n_layers
        self._seen = 0
        self._true = np.zeros(0, dtype=np.int64)

    def copy(self) -> "Shadow":
        """Another account that goes on from here."""
        other = Shadow(0)
        copies = {id(table): table.copy() for table in self._tables}
        other._tables = [copies[id(table)] for table in self._tables]
        other._seen, other._true = self._seen, self._true.copy()
        return other

    def rows_of(self, layer: int) -> tuple[IntArray, IntArray]:
        """[R] state and [R] token of the rows of a layer, as far as any was used."""
        table = self._tables[layer]
        return table.state.copy(), table.token.copy()

    def follow(self, records: Sequence[StepRecord], expected: Expected) -> tuple[DeadWeight, ...]:
        """Take the last of `records` into account; the weight on dead rows in it."""
        record = records[-1]
        self._begin(record)
        found: tuple[DeadWeight, ...] = ()
        accepted = isinstance(record.outcome, Ok)
        if record.layers and accepted:
            found = self._computed(records, expected)
        elif record.phase == "probe" and accepted and record.n_probed[0] == record.n_probed[1]:
            self._probed(record)
        held = _held(expected, self._seen)
        for table in self._distinct():
            table.keep(held)
        return found

    def _distinct(self) -> list[_Table]:
        return list({id(table): table for table in self._tables}.values())

    def _cut(self, target: int) -> None:
        self._seen = target
        self._true[self._true >= target] = _GONE
        for table in self._distinct():
            table.cut(target)

    def _begin(self, record: StepRecord) -> None:
        """What is asked for itself takes rows away."""
        if record.phase == "new_prompt" and record.prompt_ids:
            self._cut(len(record.prompt_ids) - len(record.token_ids))
        elif record.phase == "new_prompt":
            self._cut(0)
            for table in self._distinct():
                table.forget()
        elif record.phase == "rollback" and isinstance(record.outcome, Ok):
            self._cut(max(0, self._seen - record.n_rolled_back))

    def _computed(
        self, records: Sequence[StepRecord], expected: Expected
    ) -> tuple[DeadWeight, ...]:
        record = records[-1]
        tokens = self._count(record)
        held = _held(expected, self._seen)
        for read in (*expected.readable[:1], *expected.readable[-1:]):
            held[[token for token in read if token < len(held)]] = True
        held[tokens[tokens >= 0]] = True
        known: dict[tuple[int, ...], tuple[_Table, IntArray]] = {}
        weights: list[DeadWeight] = []
        for layer, told in enumerate(record.layers):
            key = (id(self._tables[layer]), id(told.plan), id(told.row_token))
            if key not in known:
                table = self._tables[layer].copy()
                table.wrote(told.plan.write_rows, tokens)
                known[key] = table, self._states(records, layer, table, held)
            self._tables[layer], states = known[key]
            weights.extend(_weights_on(layer, told, states, record.n_padding))
        if record.n_rejected:
            self._cut(self._seen - record.n_rejected)
        return tuple(weights)

    def _count(self, record: StepRecord) -> IntArray:
        """[T] the computed tokens as they are counted here; ABSENT: padding."""
        n = len(record.slots) - record.n_padding
        self._seen += len(record.token_ids)
        true = np.arange(self._seen - n, self._seen)
        stop = record.token_index[-1] + 1
        if stop > len(self._true):
            more = np.full(max(stop - len(self._true), len(self._true)), _GONE)
            self._true = np.concatenate((self._true, more))
        self._true[stop - n : stop] = true
        return np.concatenate((np.full(record.n_padding, ABSENT), true))

    def _states(
        self, records: Sequence[StepRecord], layer: int, table: _Table, held: BoolArray
    ) -> IntArray:
        """[S] state of each row read; the table learns whose rows they really are."""
        told = records[-1].layers[layer]
        rows, found = told.plan.read_rows, told.row_token
        table.reach(rows)
        is_token = found != ABSENT
        true = np.full(len(found), _GONE)
        true[is_token] = self._true[found[is_token]]
        is_held = _at(held, true)
        states = np.full(len(found), RowState.STALE)
        states[true >= 0] = RowState.EVICTED
        states[is_held] = RowState.LIVE
        # A row that was let go may hold the same bytes as the one that its token has now.
        is_other = is_held & (found != told.plan.view_token_index)
        is_let_go = np.isin(table.state[rows], _LET_GO) & is_other
        states[is_let_go] = table.state[rows[is_let_go]]
        states[is_other & ~is_let_go] = RowState.FOREIGN
        known = is_token & ~is_let_go
        table.token[rows[known]] = true[known]
        table.state[rows[known]] = states[known]
        for place in np.flatnonzero(~is_token).tolist():
            row = int(rows[place])
            is_empty = is_blank(records, layer, row, int(told.row_version[place]))
            states[place] = _without_token(RowState(table.state[row]), is_empty=is_empty)
            table.state[row] = states[place]
        return states

    def _probed(self, record: StepRecord) -> None:
        """A probe's rows are those that count now and belonged to nothing before."""
        self._tables = [table.copy() for table in self._tables]
        for table, live in zip(self._tables, record.live, strict=True):
            rows = live.row[np.isin(live.slot, record.ledger.slot) & (live.row != ABSENT)]
            table.reach(rows)
            is_taken = np.isin(table.state[rows], (*IS_LIVE, RowState.PADDING))
            table.state[rows[~is_taken]] = RowState.LOOSE
            table.token[rows[~is_taken]] = self._seen


def _held(expected: Expected, seen: int) -> BoolArray:
    """[n] by token, whether it is to be held after the step."""
    tokens = [token for token, _ in expected.live]
    held = np.zeros(1 + max(seen, max(tokens, default=0)), dtype=np.bool_)
    held[tokens] = True
    if not isinstance(expected.outcome, Ok):
        held[max(tokens, default=-1) + 1 : seen] = True  # taken all the same, and held from then on
    return held


def _without_token(known: RowState, *, is_empty: bool) -> RowState:
    """The state of a row whose bytes are no token's, from what it was known for."""
    is_let_go = known in _LET_GO
    if is_empty:  # a poisoned run fills what was let go
        return known if is_let_go else RowState.NEVER_WRITTEN
    if is_let_go or known in (RowState.LOOSE, RowState.PADDING):
        return known
    return RowState.FOREIGN


def _weights_on(
    layer: int, told: LayerRecord, states: IntArray, n_padding: int
) -> list[DeadWeight]:
    """The weight on dead rows of each state, where there is any."""
    dead = np.flatnonzero(~np.isin(states, IS_LIVE))
    if not len(dead):
        return []
    weights: FloatArray = told.weights[:, n_padding:]
    found: list[DeadWeight] = []
    for state in np.unique(states[dead]).tolist():
        columns = dead[states[dead] == state]
        by_head = weights[:, :, columns].sum(axis=-1, dtype=np.float64).max(axis=1)
        if not (by_head == 0).all():
            rows = tuple(np.unique(told.plan.read_rows[columns]).tolist())
            found.append(DeadWeight(layer, RowState(state), tuple(by_head.tolist()), rows))
    return found


class Sanitizer:
    """Follows a run with its verdicts, all sequences of it.

    Attributes:
        found: by step, the weight on dead rows, in the order of the layers; steps without any are
            left out.
    """

    def __init__(self, n_layers: int, n_sequences: int) -> None:
        """Nothing was run yet."""
        self.found: dict[int, tuple[DeadWeight, ...]] = {}
        self._shadows = [Shadow(n_layers) for _ in range(n_sequences)]

    def shadow(self, which: int) -> Shadow:
        """The account of a sequence as it stands after the steps followed."""
        return self._shadows[which]

    def follow(self, records: Sequence[StepRecord], verdict: StepVerdict) -> tuple[DeadWeight, ...]:
        """Take the next step of the run into account.

        Args:
            records: of the run, at least up to that step.
            verdict: of the step.
        """
        record = records[verdict.step]
        if record.parents:
            self._shadows = [self._shadows[parent].copy() for parent in record.parents]
            return ()
        shadow = self._shadows[record.request]
        found = shadow.follow(records[: verdict.step + 1], verdict.expected)
        if found:
            self.found[verdict.step] = found
        return found
