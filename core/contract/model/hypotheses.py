"""Who sees whom, as each of some rules would have it, against what changing tokens has shown.

Only what comes out of the model is known: a token that is seen by a token that is seen may move the
logits as well, as many times removed as there are layers. One that is seen itself must move them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.contract.model.order import NEW_FIRST, OTHER

Order = tuple[int, ...]
"""The tokens of all rows so far, in the order in which they lie."""


@dataclass(frozen=True, slots=True)
class Query:
    """What moves the logits of one token of a call.

    Attributes:
        token: its index in the text.
        matter: earlier tokens that move its logits without a cache.
        moved, still: tokens that do, and do not, move its cached logits; of others nothing is
            known.
    """

    token: int
    matter: frozenset[int]
    moved: frozenset[int]
    still: frozenset[int]

    @property
    def blind(self) -> list[int]:
        """Tokens on which it must hang, and does not."""
        return sorted(self.matter & self.still)

    @property
    def extra(self) -> list[int]:
        """Earlier tokens on which it hangs with a cache, and not without one."""
        return sorted(token for token in self.moved - self.matter if token < self.token)

    @property
    def leaks(self) -> list[int]:
        """Later tokens on which it hangs."""
        return sorted(token for token in self.moved if token > self.token)


def query_of(told: Mapping[str, Any]) -> Query:
    """From JSON."""
    return Query(told["token"], *(frozenset(told[name]) for name in ("matter", "moved", "still")))


@dataclass(frozen=True, slots=True)
class Probed:
    """A call that was probed.

    Attributes:
        chunks: tokens of each call, up to this one.
        queries: of this one.
    """

    chunks: tuple[int, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A rule of masks and rows.

    Attributes:
        mechanism: what it is called; "": as it must be.
        preset: the fault that works like it; None: none is known.
        words: after "as if".
        joins: the order of all rows, from that before and the new tokens.
        columns: how many of them, in that order, query i of n sees after `past` tokens.
    """

    mechanism: str
    preset: str | None
    words: str
    joins: Callable[[Order, Order], Order]
    columns: Callable[[int, int, int], int]

    def direct(self, chunks: Sequence[int]) -> list[frozenset[int]]:
        """For each token of the text, those that its call shows it."""
        seen: list[frozenset[int]] = []
        order: Order = ()
        for n in chunks:
            past = len(seen)
            order = self.joins(order, tuple(range(past, past + n)))
            seen += [frozenset(order[: self.columns(past, n, i)]) for i in range(n)]
        return seen

    def order(self, chunks: Sequence[int]) -> Order:
        """The tokens of all rows."""
        order: Order = ()
        for n in chunks:
            order = self.joins(order, tuple(range(len(order), len(order) + n)))
        return order

    def fits(self, probed: Sequence[Probed]) -> bool:
        """Whether some number of layers gives all that was seen."""
        deepest = max(sum(one.chunks) for one in probed)
        return any(
            all(_is_met(self.direct(one.chunks), one.queries, n_layers) for one in probed)
            for n_layers in range(1, deepest + 1)
        )


def _is_met(direct: Sequence[frozenset[int]], queries: Sequence[Query], n_layers: int) -> bool:
    reached = [frozenset((token,)) for token in range(len(direct))]
    for _ in range(n_layers):
        reached = [
            reached[token].union(*(reached[other] for other in seen))
            for token, seen in enumerate(direct)
        ]
    for query in queries:
        must = {t for t in direct[query.token] if t in query.matter or t > query.token}
        if query.moved - reached[query.token] or query.still & must:
            return False
    return True


def _behind(before: Order, new: Order) -> Order:
    return (*before, *new)


def _in_front(before: Order, new: Order) -> Order:
    return (*new, *before)


def _newest_first(before: Order, new: Order) -> Order:
    return (*new[::-1], *before) if before else new


def _past_and_own(past: int, n: int, i: int) -> int:
    del n
    return past + i + 1


def _own_row(past: int, n: int, i: int) -> int:
    del past, n
    return i + 1


def _all_of_later_calls(past: int, n: int, i: int) -> int:
    return past + n if past else i + 1


def _all(past: int, n: int, i: int) -> int:
    del i
    return past + n


RIGHT = Hypothesis("", None, "all were as it must be", _behind, _past_and_own)
TOP_LEFT = "the causal mask were aligned top-left"
OPEN = "a call with a cache had no mask"
HYPOTHESES = (
    Hypothesis("", "mask-top-left", TOP_LEFT, _behind, _own_row),
    Hypothesis("", "mask-off-with-cache", OPEN, _behind, _all_of_later_calls),
    Hypothesis("", "mask-off-with-cache", OPEN, _behind, _all),
    Hypothesis(NEW_FIRST, None, "new rows stood before the earlier ones", _in_front, _past_and_own),
    Hypothesis(
        OTHER,
        None,
        "new rows stood before the earlier ones, the newest first",
        _newest_first,
        _past_and_own,
    ),
)


def fitting(
    probed: Sequence[Probed], orders: Sequence[tuple[Sequence[int], Order]]
) -> list[Hypothesis]:
    """The rules that give what was seen, one for each mechanism; none where all is right.

    `orders` are known: tokens of each call, and the tokens of the rows that were kept.
    """
    if RIGHT.fits(probed):
        return []
    found = {
        one.words: one
        for one in HYPOTHESES
        if one.fits(probed) and all(one.order(chunks) == rows for chunks, rows in orders)
    }
    return list(found.values())
