"""What each step should have done, from the specification alone: never from engine state.

The oracle is told the policy's numbers, the requests, and whether the engine accepted each; it
answers with the outcome, lengths, position ids and readable tokens that were right, and with the
passages from which the reference computes the right logits. More than 300 lines: one method for
each kind of request, and what they share; the policies' own rules are in `policy_rules`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.arrays import FloatArray
from core.errors import SpecError
from core.outcome import OK, Outcome, PositionLimit, Refused
from core.policy_numbers import SharedNumbers
from core.policy_rules import (
    Band,
    LooseCount,
    Reprefill,
    Rule,
    TextState,
    n_common,
    n_tokens,
)
from core.reference_passage import LooseRows, Passage
from core.spec import PolicyName


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """The numbers that decide what is right.

    Attributes:
        policy: what happens when there is no room.
        capacity: slots there are; under window and sinks also the window, counting the query.
        sinks: first tokens that never leave (policy sinks only).
        reassign_positions: whether tokens are numbered by rank (policy sinks only).
        position_limit: position ids that the model has; None: no end.

    Raises:
        SpecError: no slot, or none left beside the sinks.
    """

    policy: PolicyName
    capacity: int
    sinks: int = 0
    reassign_positions: bool = False
    position_limit: int | None = None

    def __post_init__(self) -> None:
        if self.capacity < 1:
            raise SpecError(f"capacity is {self.capacity}; it must be at least 1")
        if not 0 <= self.sinks < self.capacity:
            raise SpecError(
                f"{self.sinks} sinks do not fit a capacity of {self.capacity}; "
                f"choose 0 to {self.capacity - 1}"
            )


@dataclass(frozen=True, slots=True)
class Expected:
    """What was right in one step.

    Attributes:
        outcome: how it should have ended.
        length: rows that are to be held after commit, those without a token included.
        seen: tokens of the text that are to be read by then.
        position_ids: of each new token; None: it fell out before it was computed. Empty if the
            step was to read nothing.
        readable: token indices, ascending, that each new token may read.
        live: (token index, position id) of the tokens held after commit, in token order.
        recomputed: tokens read before that this step reads again.
        passage_id: the newest passage after this step.
        row: the row of that passage which holds the last token that the engine read in this
            step; None: it read none, or one that has no right position.
        n_pads: of the rows held, those of padding, which no token may read.
    """

    outcome: Outcome
    length: int
    seen: int
    position_ids: tuple[int | None, ...]
    readable: tuple[tuple[int, ...], ...]
    live: tuple[tuple[int, int], ...]
    recomputed: int
    passage_id: int
    row: int | None
    n_pads: int = 0

    @property
    def n_loose(self) -> int:
        """Rows held without a token that every query reads."""
        return self.length - len(self.live) - self.n_pads


@dataclass(slots=True)
class _OpenPassage:
    """A part of a text: the tokens from `start` on, up to `stop` or as far as the text was read.

    A text only ever grows; a rollback makes a new one.
    """

    text: list[int]
    start: int
    stop: int | None = None
    loose: list[LooseRows] = field(default_factory=list[LooseRows])


Fork = tuple[TextState, tuple[int, ...], int]
"""A state, the text that led to it, and where its passage starts."""


class PolicyOracle:
    """Follows a run step by step.

    Where the engine disagrees, the reference goes on with what the engine did: tokens that it
    refused count as never read; tokens that it took without room count as held and read from
    the next step on.
    """

    def __init__(self, rules: PolicyRules) -> None:
        """Start with an empty cache."""
        self._rules = rules
        self._rule = _rule(rules)
        self._numbers = SharedNumbers()
        self._passages: list[_OpenPassage] = []
        self.new_prompt()

    def new_prompt(self) -> None:
        """The text is forgotten; the new one's tokens follow by `append`."""
        self._state = TextState()
        self._open([], 0)

    def reuse(self, prompt_ids: Sequence[int]) -> tuple[int, ...]:
        """A new text of which the rows of what it shares with the old one stay.

        Returns:
            The tokens that are still to be read; they follow by `append`. At least the last one.
        """
        old = self._passages[-1].text
        n_kept = 0
        while n_kept < min(len(old), len(prompt_ids) - 1) and old[n_kept] == prompt_ids[n_kept]:
            n_kept += 1
        loose = self._passages[-1].loose
        self._state = self._rule.cut(self._state, n_kept)
        self._open(old[:n_kept], 0)
        self._passages[-1].loose.extend(rows for rows in loose if rows.first_reader <= n_kept)
        return tuple(prompt_ids[n_kept:])

    def verify(
        self, token_ids: Sequence[int], n_rejected: int, *, engine_accepted: bool
    ) -> Expected:
        """The next token and some drafts, of which the last `n_rejected` are taken back.

        The passage named is the one that holds the drafts too; the row, that of the last token
        that is kept.
        """
        read = self._rule.appended(self._state, len(token_ids))
        kept = self._rule.cut(read, read.seen - n_rejected)
        expected = self.append(token_ids, engine_accepted=engine_accepted)
        if expected.outcome == OK:
            held = self._held(kept)
            expected = replace(expected, length=held.length, seen=held.seen, live=held.live)
        if not engine_accepted or n_rejected == 0:
            return expected
        newest = self._passages[-1]
        self._state = kept
        self._open(newest.text[: kept.seen], newest.start)
        self._passages[-1].loose.extend(newest.loose)
        row = None if expected.row is None else expected.row - n_rejected
        return replace(expected, row=row)

    def append(
        self, token_ids: Sequence[int], *, engine_accepted: bool, n_pads: int = 0
    ) -> Expected:
        """A chunk of a prompt, or the one token of a decode.

        Args:
            token_ids: the tokens that the engine was given.
            engine_accepted: whether it read them.
            n_pads: rows of padding that come with them.
        """
        before, n_new = self._state, len(token_ids)
        padded = replace(before, n_pads=n_pads) if n_pads else before
        after = self._rule.appended(padded, n_new)
        position_ids = tuple(
            self._rule.position_id(after, token) for token in range(before.seen, after.seen)
        )
        outcome = self._append_outcome(n_new + n_pads, position_ids)
        if outcome == OK:
            expected = replace(
                self._held(after),
                position_ids=position_ids,
                readable=tuple(
                    self._numbers.of(self._rule.readable(after, token))
                    for token in range(before.seen, after.seen)
                ),
                recomputed=self._recomputed(before, after),
            )
        else:
            expected = replace(self._held(before), outcome=outcome)
        if not engine_accepted:
            return expected
        self._read(token_ids, after)
        has_row = n_new > 0 and not self._is_past_limit(position_ids[-1])
        row = after.seen - 1 - self._passages[-1].start if has_row else None
        return replace(expected, passage_id=self._newest_id, row=row)

    def rollback(self, n: int, *, engine_accepted: bool) -> Expected:
        """The newest `n` tokens are taken back."""
        before = self._state
        target = max(0, before.seen - n)
        after = self._rule.cut(before, target)
        outcome = self._rollback_outcome(n)
        expected = self._held(after) if outcome == OK else self._held(before)
        if engine_accepted:
            loose = self._passages[-1].loose
            self._state = after
            self._open(self._passages[-1].text[:target], self._rule.passage_start(after))
            self._passages[-1].loose.extend(rows for rows in loose if rows.first_reader <= target)
        return replace(expected, outcome=outcome, passage_id=self._newest_id)

    def fork(self, parent: "Fork") -> Expected:
        """The sequence goes on from the text of another one."""
        self._state, text, start = parent
        self._open(list(text), start)
        return self._held(self._state)

    def forked(self) -> "Fork":
        """What another sequence needs in order to go on from this one's text."""
        newest = self._passages[-1]
        return self._state, tuple(newest.text), newest.start

    def probe(
        self,
        n_k: int,
        n_v: int,
        *,
        engine_accepted: bool,
        keys: FloatArray | None = None,
        values: FloatArray | None = None,
    ) -> Expected:
        """A cache call without a model pass: rows that hold no token.

        Args:
            n_k: key rows.
            n_v: value rows.
            engine_accepted: whether the engine took them.
            keys: [L, Hkv, n, D] the rows, for the reference; None: it is not asked.
            values: [L, Hkv, n, D] likewise.

        Raises:
            SpecError: the policy is not refuse.
        """
        if self._rules.policy != "refuse":
            raise SpecError(f"a probe needs the policy refuse, not {self._rules.policy}")
        before = self._state
        after = replace(before, loose=(*before.loose, LooseCount(n_k, before.seen)))
        n_rows = max(n_k, n_v)
        if n_k == n_v and not self._rule.lacks_room(before, n_rows):
            expected = self._held(after)
        else:
            expected = replace(self._held(before), outcome=Refused(n_rows, self._free))
        if engine_accepted and n_k == n_v:
            self._state = after
            if keys is not None and values is not None:
                self._passages[-1].loose.append(LooseRows(keys, values, before.seen))
        return expected

    def passage(self, passage_id: int) -> Passage:
        """The tokens of a passage as far as they were read, with positions and readable sets.

        It ends before the first token that has no right position.
        """
        part = self._passages[passage_id]
        token_ids = np.array(part.text[part.start : part.stop], dtype=np.int64)
        position_ids = self._rule.position_ids(len(token_ids))
        if self._rules.position_limit is not None:
            position_ids = position_ids[position_ids < self._rules.position_limit]
        n = len(position_ids)
        return Passage(
            token_ids=token_ids[:n],
            position_ids=position_ids,
            key_position_ids=self._rule.key_position_ids(n),
            readable=self._rule.readable_matrix(n),
            loose=tuple(part.loose),
        )

    @property
    def _newest_id(self) -> int:
        return len(self._passages) - 1

    @property
    def _free(self) -> int:
        held = n_tokens(self._rule.held(self._state)) + self._state.n_loose
        return max(0, self._rules.capacity - held)

    def _open(self, text: list[int], start: int) -> None:
        self._passages.append(_OpenPassage(text, start))

    def _recomputed(self, before: TextState, after: TextState) -> int:
        """Tokens that the append between the two reads again."""
        start = self._rule.passage_start(after)
        return max(0, before.seen - start) if start > self._rule.passage_start(before) else 0

    def _read(self, token_ids: Sequence[int], after: TextState) -> None:
        """The engine has read the tokens."""
        newest, start = self._passages[-1], self._rule.passage_start(after)
        if start > newest.start:
            newest.stop = len(newest.text)
            self._open(newest.text, start)
        newest.text.extend(token_ids)
        self._state = after

    def _is_past_limit(self, position_id: int | None) -> bool:
        limit = self._rules.position_limit
        return position_id is not None and limit is not None and position_id >= limit

    def _append_outcome(self, n_new: int, position_ids: tuple[int | None, ...]) -> Outcome:
        """Room is looked at first, then the end of the position table."""
        if self._rule.lacks_room(self._state, n_new):
            return Refused(n_new, self._free)
        limit = self._rules.position_limit
        if limit is not None and any(map(self._is_past_limit, position_ids)):
            return PositionLimit(limit)
        return OK

    def _rollback_outcome(self, n: int) -> Outcome:
        """Right if all that the next token could read is still held."""
        state = self._state
        if n > state.seen:
            return Refused(n, state.seen)
        needed = self._rule.rollback_needs(state, state.seen - n)
        n_needed, n_held = n_tokens(needed), n_common(needed, self._rule.held(state))
        return OK if n_held == n_needed else Refused(n_needed, n_held)

    def _held(self, state: TextState) -> Expected:
        """A step that ends in the state and reads nothing."""
        held = self._rule.held(state)
        return Expected(
            outcome=OK,
            length=n_tokens(held) + state.n_loose,
            seen=state.seen,
            position_ids=(),
            readable=(),
            live=self._numbers.pairs(held, self._rule.held_position_ids(state)),
            recomputed=0,
            passage_id=self._newest_id,
            row=None,
            n_pads=state.n_pads,
        )


def _rule(rules: PolicyRules) -> Rule:
    """The rule of a policy."""
    capacity, sinks = rules.capacity, rules.sinks
    last_rank = capacity - 1 if rules.reassign_positions else None
    by_policy: dict[PolicyName, Rule] = {
        "refuse": Band(capacity, sinks=0, recent=None, last_rank=None),
        "window": Band(capacity, sinks=0, recent=capacity, last_rank=None),
        "sinks": Band(capacity, sinks, capacity - sinks, last_rank),
        "reprefill": Reprefill(capacity),
    }
    return by_policy[rules.policy]
