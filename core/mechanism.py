"""What the engine said it would do: the passages of its own plans, and the rows that it read.

Built from records alone. The mechanism oracle is the reference, fed with these passages instead
of those that the specification demands.
"""

from dataclasses import dataclass, field

import numpy as np

from core.arrays import ABSENT, IntArray, as_ids
from core.outcome import Ok
from core.record import StepRecord
from core.reference_passage import LooseRows, Passage


@dataclass(slots=True)
class OwnPassage:
    """Tokens that the engine read as one text, with the numbers it gave them.

    Attributes:
        start: token index of the first row.
        token_ids: [N].
        position_ids: [N].
        readable: for each token, the token indices that it was to read.
        key_positions: for each token, (token indices, position ids) of the keys as it read them;
            None where keys have one position of their own.
        loose: rows without a token.
        spoiled: rows whose key or value is not what the reference computes for the token.
        parent: the passage whose first `n_inherited` rows these are.
        n_inherited: rows that were computed for the parent, and are judged there.
    """

    start: int
    token_ids: list[int] = field(default_factory=list[int])
    position_ids: list[int] = field(default_factory=list[int])
    readable: list[IntArray] = field(default_factory=list[IntArray])
    key_positions: list[tuple[IntArray, IntArray] | None] = field(
        default_factory=list[tuple[IntArray, IntArray] | None]
    )
    loose: list[LooseRows] = field(default_factory=list[LooseRows])
    spoiled: set[int] = field(default_factory=set[int])
    parent: "OwnPassage | None" = None
    n_inherited: int = 0

    def spoiled_rows(self) -> set[int]:
        """All rows that are not what they should be, inherited ones included."""
        if self.parent is None:
            return self.spoiled
        inherited = {row for row in self.parent.spoiled_rows() if row < self.n_inherited}
        return self.spoiled | inherited

    def cut(self, n_rows: int) -> "OwnPassage":
        """A copy of the first `n_rows` rows, for a text that goes on differently."""
        return OwnPassage(
            self.start,
            self.token_ids[:n_rows],
            self.position_ids[:n_rows],
            self.readable[:n_rows],
            self.key_positions[:n_rows],
            [rows for rows in self.loose if rows.first_reader <= n_rows],
            parent=self,
            n_inherited=n_rows,
        )

    def passage(self) -> Passage:
        """The same as the reference takes it."""
        n = len(self.token_ids)
        readable = np.zeros((n, n), dtype=bool)
        for row, tokens in enumerate(self.readable):
            columns = tokens - self.start
            readable[row, columns[(columns >= 0) & (columns < n)]] = True
        return Passage(
            as_ids(self.token_ids),
            as_ids(self.position_ids),
            self._key_position_ids(n),
            readable,
            tuple(self.loose),
        )

    def _key_position_ids(self, n: int) -> IntArray | None:
        if not any(given is not None for given in self.key_positions):
            return None
        matrix = np.zeros((n, n), dtype=np.int64)
        for row, given in enumerate(self.key_positions):
            if given is not None:
                columns = given[0] - self.start
                is_inside = (columns >= 0) & (columns < n)
                matrix[row, columns[is_inside]] = given[1][is_inside]
        return matrix


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """Where a step's computed tokens stand.

    Attributes:
        passage_id: which passage.
        first_row: row of the first of the T computed tokens.
        n_rows: T.
    """

    passage_id: int
    first_row: int
    n_rows: int


class OwnText:
    """Follows the engine's own account, step by step."""

    def __init__(self) -> None:
        """Start without a text."""
        self.passages: list[OwnPassage] = [OwnPassage(0)]

    def follow(self, record: StepRecord, loose: LooseRows | None) -> OwnPlace | None:
        """Take a step into account; where its computed tokens stand, None if there are none.

        Args:
            record: the step.
            loose: the rows of an accepted, even probe; its `first_reader` counts tokens.
        """
        self._turn_page(record)
        newest = self.passages[-1]
        if loose is not None:
            reader = loose.first_reader - newest.start
            newest.loose.append(LooseRows(loose.keys, loose.values, reader))
        if not record.is_computed:
            return None
        first = record.token_index[0] + record.n_skipped - record.n_recomputed
        n = len(record.readable) - record.n_padding
        is_refilled = record.ledger.origin == first and first > newest.start
        stop = newest.start + len(newest.token_ids)
        if is_refilled or not newest.start <= first <= stop:
            self.passages.append(OwnPassage(first))
        elif first < stop:
            self.passages.append(newest.cut(first - newest.start))
        place = OwnPlace(len(self.passages) - 1, first - self.passages[-1].start, n)
        self._extend(self.passages[-1], record, n, _between(newest, first, record))
        if record.n_rejected:  # whatever is read next, the drafts that were taken back do not read
            n_kept = max(0, record.ledger.seen - self.passages[-1].start)
            self.passages.append(self.passages[-1].cut(n_kept))
        return place

    def fork(self, parent: OwnPassage) -> None:
        """The sequence goes on from another one's newest passage."""
        self.passages.append(parent.cut(len(parent.token_ids)))

    def _turn_page(self, record: StepRecord) -> None:
        """A new prompt begins a passage of its own, a rollback one that shares the first rows."""
        if record.phase == "new_prompt" and record.prompt_ids:
            newest = self.passages[-1]
            self.passages.append(newest.cut(max(0, record.token_index[0] - newest.start)))
        elif record.phase == "new_prompt":
            self.passages.append(OwnPassage(0))
        elif record.phase == "rollback" and isinstance(record.outcome, Ok):
            n_rows = record.ledger.seen - self.passages[-1].start
            is_kept = n_rows >= 0
            self.passages.append(
                self.passages[-1].cut(n_rows) if is_kept else OwnPassage(record.ledger.origin)
            )

    def _extend(
        self, passage: OwnPassage, record: StepRecord, n: int, read_before: list[int]
    ) -> None:
        plan = record.layers[0].plan
        passage.token_ids.extend(_computed_ids(record, n, read_before))
        passage.position_ids.extend(plan.position_ids[record.n_padding :].tolist())
        passage.readable.extend(record.readable[record.n_padding :])
        for i in range(record.n_padding, record.n_padding + n):
            read_at = plan.read_position_ids
            passage.key_positions.append(
                None if read_at is None else (plan.view_token_index, read_at[i])
            )


def _between(newest: OwnPassage, first: int, record: StepRecord) -> list[int]:
    """Ids of the tokens from `first` on that were read before the step."""
    at = first - newest.start
    return newest.token_ids[at : at + record.n_recomputed] if at >= 0 else []


def _computed_ids(record: StepRecord, n: int, read_before: list[int]) -> list[int]:
    """[T] ids of the computed tokens.

    The re-read ones stand in the ledger, unless a wrong one lost them: then they are those that
    were read before.
    """
    new = list(record.token_ids[record.n_skipped :])
    n_old = n - len(new)
    if n_old == 0:
        return new
    held = record.ledger.token_id[:n_old].tolist()
    return [*(held if len(held) == n_old else read_before), *new]


def reads_what_it_names(record: StepRecord, passage: OwnPassage, n_loose: int) -> bool:
    """Whether every row read is that of the token that the view names, and good if it was seen."""
    spoiled = passage.spoiled_rows()
    seen: set[tuple[int, int]] = set()
    for layer in record.layers:
        named, found = layer.plan.view_token_index, layer.row_token
        if (id(named), id(found)) in seen:
            continue
        seen.add((id(named), id(found)))
        n_without = n_loose + record.ledger.n_pads
        if not np.array_equal(named, found) or int((found == ABSENT).sum()) != n_without:
            return False
        seen_by_any = found[layer.plan.mask.any(axis=0)]
        if spoiled and not spoiled.isdisjoint((seen_by_any - passage.start).tolist()):
            return False
    return True


def sees_what_it_may(record: StepRecord, n_loose: int) -> bool:
    """Whether each query's mask lets through the tokens that it may read, and no others.

    Of the rows that hold no token a query sees those of a probe; padding sees only padding.
    """
    seen: set[tuple[int, int]] = set()
    for layer in record.layers:
        key = (id(layer.plan), id(layer.row_token))
        if key in seen:
            continue
        seen.add(key)
        queries = zip(layer.plan.mask, record.readable, strict=True)
        for query, (mask, readable) in enumerate(queries):
            seen_rows = layer.row_token[mask]
            tokens = seen_rows[seen_rows != ABSENT]
            if not np.array_equal(tokens, readable):
                return False
            if query >= record.n_padding and len(seen_rows) - len(tokens) != n_loose:
                return False
    return True
