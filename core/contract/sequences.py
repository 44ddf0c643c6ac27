"""What the sequences of calls of the rules are made of."""

from dataclasses import replace

from core.contract.calls import Append, Ask, Call, Rows, Sizes
from core.contract.plan import Plan, rows_of

READ = Ask("read")
LENGTH = Ask("length")


def in_blocks(sizes: Sizes, blocks: tuple[int, ...], layer: int = 0) -> list[Append]:
    """Tokens 0, 1, 2, … in blocks of these lengths."""
    starts = [sum(blocks[:i]) for i in range(len(blocks))]
    return [
        rows_of(sizes, range(start, start + n), layer)
        for start, n in zip(starts, blocks, strict=True)
    ]


def changed(append: Append, **changes: object) -> Append:
    """The same append with something else about its keys and its values."""

    def odd(rows: Rows) -> Rows:
        return replace(rows, **changes)

    return replace(append, k=odd(append.k), v=odd(append.v))


def with_length(plan: Plan, *calls: Call) -> tuple[Call, ...]:
    """The calls, and the length where it can be asked."""
    return (*calls, LENGTH) if plan.offers("length") else calls


def numbers(plan: Plan) -> tuple[Ask, ...]:
    """All numbers that can be asked."""
    return tuple(Ask(name) for name in ("length", "seen") if plan.offers(name))


def looks(plan: Plan) -> tuple[Call, ...]:
    """All that can be seen of a cache of one layer."""
    return (*numbers(plan), READ) if plan.offers("read_before") else numbers(plan)
