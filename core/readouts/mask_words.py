"""What a query should see, and what it sees in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray, frozen
from core.policy_oracle import Expected
from core.readouts.history import computed_tokens, newest_query
from core.readouts.words import places, plural, ranges
from core.record import LayerRecord, StepRecord

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


_LEAST_SHARE = 1e-5
_TIMES = {2: "twice", 3: "three times", 4: "four times", 5: "five times", 6: "six times"}


@dataclass(frozen=True, slots=True)
class RightToSee:
    """What the policy lets each of the T computed tokens see; None: not judged."""

    readable: tuple[tuple[int, ...] | None, ...]
    has_loose_rows: bool

    @classmethod
    def of(cls, record: StepRecord, expected: Expected | None) -> RightToSee:
        """What is expected of a step; None: there is no verdict yet."""
        n = len(record.slots)
        if expected is None or not expected.readable:
            return cls((None,) * n, has_loose_rows=False)
        judged = expected.readable[-(n - record.n_recomputed) :]
        unjudged = (None,) * (n - len(judged))
        return cls((*unjudged, *judged), expected.n_loose > 0)

    def matrix(self, claimed: IntArray) -> tuple[BoolArray, BoolArray]:
        """[T, S] whether each query should see each claimed token, and [T] whether that is said."""
        is_judged = np.array([readable is not None for readable in self.readable], dtype=np.bool_)
        firsts, lasts = self._runs
        right = (claimed >= firsts[:, None]) & (claimed <= lasts[:, None])
        size = 1 + max(int(claimed.max(initial=0)), *(r[-1] for r in self.readable if r), 0)
        for i, readable in self._gapped:
            table = np.zeros(size, dtype=np.bool_)
            table[list(readable)] = True
            right[i] = table[claimed]
        is_loose = claimed == ABSENT
        if is_loose.any():
            right[:, is_loose] = self.has_loose_rows & is_judged[:, None]
        return frozen(right), frozen(is_judged)

    def is_not_read(self, claimed: IntArray) -> BoolArray:
        """[T] whether a query should see a token that is not among those claimed."""
        top = max((right[-1] for right in self.readable if right), default=ABSENT)
        is_there = np.zeros(top + 2, dtype=np.bool_)
        is_there[claimed[(claimed != ABSENT) & (claimed <= top)]] = True
        n_gone = np.concatenate(([0], np.cumsum(~is_there[: top + 1])))
        firsts, lasts = self._runs
        found = n_gone[lasts + 1] > n_gone[firsts]
        for i, readable in self._gapped:
            found[i] = not is_there[list(readable)].all()
        return found

    @property
    def _runs(self) -> tuple[IntArray, IntArray]:
        """[T] the first and the last token of those that are a run; of others 0 and -1."""
        ends = [(r[0], r[-1]) if r and _is_run(r) else (0, -1) for r in self.readable]
        firsts, lasts = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        return firsts, lasts

    @property
    def _gapped(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(query, tokens) of those that are not a run."""
        return ((i, r) for i, r in enumerate(self.readable) if r and not _is_run(r))


def _is_run(ascending: tuple[int, ...]) -> bool:
    """Whether different numbers are neighbours, each of the next."""
    return ascending[-1] - ascending[0] == len(ascending) - 1


class Speaker:
    """Says in words what the query looked at sees."""

    def __init__(
        self,
        view: RunView,
        told: LayerRecord,
        is_unwritten: BoolArray,
        readable: tuple[int, ...] | None,
        query: int,
    ) -> None:
        self._readable = readable
        self._is_pending = view.selection.step not in view.verdicts
        self._subject = _subject(view.records[view.selection.step], query)
        self._mask, self._row_token = told.plan.mask[query], told.row_token
        self._noun = "position" if _are_positions(view) else "token"
        self._shares = _Shares(view, told, query)
        self._is_unwritten = is_unwritten

    def sentence(
        self, used_row: int | None, right_row: int | None, others_wrong: Sequence[int]
    ) -> str:
        """Rows without a token first, then tokens, then the rows of the causal triangle.

        `others_wrong`: tokens of the step that see wrong rows, where the one spoken of does not.
        """
        odd = [*self._rows_without_token(), *self._repeats()]
        rows = [] if odd else _row_words(used_row, right_row)
        others = _other_words([token for token in others_wrong if token >= 0])
        return "; ".join([*odd, *self._sees(), *rows, *others])

    def _rows_without_token(self) -> Iterator[str]:
        unwritten = self._mask & self._is_unwritten
        if unwritten.any():
            n_rows, n_written = len(self._mask), int((~self._is_unwritten).sum())
            yield f"reads {n_rows} rows, {n_written} written"
            yield self._shares.words(unwritten, "on rows never written")
        loose = self._mask & (self._row_token == ABSENT) & ~self._is_unwritten
        if loose.any():
            yield f"reads {plural(int(loose.sum()), 'row')} without a token"
            yield self._shares.words(loose, "there")

    def _repeats(self) -> Iterator[str]:
        """How many rows are seen, where some of them are of one token."""
        found = self._row_token[self._mask]
        n_rows_of = np.bincount(found[found != ABSENT])
        if n_rows_of.max(initial=0) < 2:
            return
        times = [
            f"{'token' if (n_rows_of == n).sum() == 1 else 'tokens'} {places(n_rows_of == n)} "
            f"{_TIMES.get(n, f'{n} times')}"
            for n in np.unique(n_rows_of[n_rows_of > 1])[::-1].tolist()
        ]
        once = "" if self._readable is None else ", expected each once"
        yield f"{self._subject}sees {len(found)} rows, {', '.join(times)}{once}"

    def _sees(self) -> Iterator[str]:
        found = self._row_token[self._mask]
        right = self._readable
        size = 1 + max(int(found.max(initial=0)), right[-1] if right else 0)
        is_seen, is_right = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
        is_seen[found[found != ABSENT]] = True
        if right is None:
            yield f"{self._subject}sees {self._named(is_seen)}"
            yield "not judged yet" if self._is_pending else "not judged"
            return
        is_right[list(right)] = True
        seen, blind, leaks = is_seen & is_right, is_right & ~is_seen, is_seen & ~is_right
        yield f"{self._subject}sees {int(seen.sum())} of {len(right)}: {self._named(seen)}"
        if blind.any():
            yield f"blind to {places(blind)}"
        if leaks.any():
            yield f"also sees {places(leaks)}, which it should not"
        read = found[found != ABSENT].tolist()
        if sorted(read) == list(right) != read:
            yield f"rows read out of token order: {ranges(read)}"

    def _named(self, is_told: BoolArray) -> str:
        n = int(is_told.sum())
        return f"{self._noun if n == 1 else f'{self._noun}s'} {places(is_told)}" if n else "nothing"


class _Shares:
    """How much of the weight of a query goes to some of the rows, in the heads of all layers."""

    def __init__(self, view: RunView, told: LayerRecord, query: int) -> None:
        self._layers = view.records[view.selection.step].layers
        self._told, self._query = told, query
        self._layer, self._head = view.selection.layer, view.selection.head

    def words(self, rows: BoolArray, where: str) -> str:
        """Least and most over the heads, then the head looked at."""
        here = self._of(self._told, rows)[self._head]
        alike = [told for told in self._layers if _reads_the_same(told, self._told)]
        all_shares = np.concatenate([self._of(told, rows) for told in alike])
        least, most = _per_cent(all_shares.min()), _per_cent(all_shares.max())
        span = most if least == most else f"{least}–{most}"
        one = f"{_per_cent(here)} % in layer {self._layer}, head {self._head}"
        return f"{span} % of the weight {where} over {len(all_shares)} heads, {one}"

    def _of(self, told: LayerRecord, rows: BoolArray) -> FloatArray:
        """[H] the share of each head of a layer."""
        return told.weights[:, self._query, rows].sum(axis=-1, dtype=np.float64)


def _reads_the_same(one: LayerRecord, other: LayerRecord) -> bool:
    """Whether the columns of two layers are the same rows."""
    return one.plan is other.plan and np.array_equal(one.row_token, other.row_token)


def _per_cent(share: float) -> str:
    """Three digits."""
    return f"{100 * share:.3g}" if share == 0 or share >= _LEAST_SHARE else "<0.001"


def _are_positions(view: RunView) -> bool:
    """Whether the position id of each token computed so far is its token index.

    Only then is a token index also called a position: both words are true. Under a policy that
    gives other numbers it is called a token from the start, so that one word stands for it.
    """
    if view.spec.policy == "reprefill" or view.spec.reassign_positions:
        return False
    return view.history.numbering.is_by_token(view.selection.step)


def _subject(record: StepRecord, query: int) -> str:
    """Which token sees, where the step computes several; padding is none."""
    computed = computed_tokens(record)
    if len(computed) == 1:
        return ""
    if computed[query] < 0:
        return "padding "
    is_last_kept = record.n_rejected and query == newest_query(record)
    return f"token {computed[query]}{', the last one kept,' if is_last_kept else ''} "


def _other_words(tokens: Sequence[int]) -> list[str]:
    """Which other tokens of the step see the wrong rows."""
    if not tokens:
        return []
    return [f"wrong for {'token' if len(tokens) == 1 else 'tokens'} {ranges(tokens)} of this step"]


def _row_words(used: int | None, right: int | None) -> list[str]:
    """Which row of a causal triangle the mask is, where another one is right."""
    if used is None or right is None or used == right:
        return []
    return [f"this is causal row {used}, row {right} is right"]
