"""Rules 39 and 40: blocks of a pool. Asked behind an adapter that shows them."""

import itertools
import math
import random
from collections.abc import Iterator, Sequence

from core.contract.calls import Append, Ask, Call, Sizes
from core.contract.plan import Plan, rows_of
from core.contract.rule import Break, Case, Heard, Rule, exactly, one_of, raised_words, refusals
from core.contract.sequences import READ

N_BLOCKS = 6
"""Blocks that hold the capacity of a cache that is asked."""

WALKS = (20, 60, 120, 300)
"""Operations of each random walk."""

BLOCKS, FORK, OTHER = Ask("blocks"), Ask("fork"), Ask("other")
Operation = tuple[str, int]
"""append, truncate or reset, and how many rows."""


def _size(plan: Plan) -> int:
    return plan.surface.block_size or 1


def _sizes(plan: Plan) -> Sizes:
    return plan.sizes(N_BLOCKS * _size(plan))


def _appended(sizes: Sizes, tokens: Sequence[int]) -> list[Append]:
    """The rows of a step, in all layers."""
    return [rows_of(sizes, tokens, layer) for layer in range(sizes.n_layers)]


def _operations(plan: Plan) -> list[Operation]:
    size = _size(plan)
    found = [("append", n) for n in dict.fromkeys((1, max(1, size - 1), size, size + 1))]
    if plan.offers("truncate"):
        found += [("truncate", n) for n in dict.fromkeys((0, 1, size))]
    return [*found, ("reset", 0)] if plan.offers("reset") else found


def _played(plan: Plan, operations: Sequence[Operation]) -> Case:
    """With a look at the blocks after each; what does not fit or cannot be done is left out."""
    sizes, n = _sizes(plan), 0
    calls: list[Call] = [BLOCKS]
    for name, number in operations:
        if name == "append" and n + number <= sizes.capacity:
            calls += _appended(sizes, range(n, n + number))
            n += number
        elif name == "truncate" and number <= n:
            calls.append(Ask("truncate", n=number))
            n = number
        elif name == "reset":
            calls.append(Ask("reset"))
            n = 0
        else:
            continue
        calls.append(BLOCKS)
    return Case(sizes, tuple(calls))


def _walks(plan: Plan) -> Iterator[Case]:
    """All short ones, then random ones."""
    if plan.policy == "window":
        return
    operations = _operations(plan)
    for n in (1, 2, 3):
        for chosen in itertools.product(operations, repeat=n):
            yield _played(plan, chosen)
    drawn = random.Random(0)
    for n in WALKS:
        yield _played(plan, drawn.choices(operations, k=n))


def _conserved(heard: Heard) -> Break | None:
    """Each block is free or owned once, none is lost, and as many are owned as rows need."""
    total: int | None = None
    for at, call, answer, expected in heard.steps():
        if not isinstance(call, Ask) or call.call != "blocks":
            continue
        if answer.blocks is None:
            return Break(at, "blocks", "free blocks, and those of each text", raised_words(answer))
        free, *texts = answer.blocks
        owned = [block for text in texts for block in text]
        every = sorted((*free, *owned))
        twice = [a for a, b in itertools.pairwise(every) if a == b]
        if twice:
            kind = "owned twice" if twice[0] not in free else "free twice"
            said = "free and owned" if {twice[0]} <= {*free} & {*owned} else kind
            return Break(at, "blocks", "each block free, or owned once", f"{twice[0]} is {said}")
        total = len(every) if total is None else total
        if len(every) != total:
            found = f"{len(free)} free and {len(owned)} owned"
            return Break(at, "blocks", f"{total} blocks in all", found)
        n, size = expected.number or 0, _size(heard.plan)
        needed = math.ceil(n / size)
        if len(owned) not in (needed, needed * heard.case.sizes.n_layers):
            wanted = f"{needed} owned, of {size} rows, for {n} row{'s' * (n != 1)}"
            return Break(at, "blocks", wanted, f"{len(owned)} owned")
    return None


def _tails(plan: Plan) -> Iterator[Case]:
    """The last block partly filled, a block that was freed, and a text that was forked."""
    if plan.policy == "window":
        return
    sizes, size = _sizes(plan), _size(plan)
    for n in (size + 1, size, max(1, size - 1)):
        yield Case(sizes, (*_appended(sizes, range(n)), READ))
    if plan.offers("reset"):
        for n in (1, size + 1):
            before, after = _appended(sizes, range(size + 1)), _appended(sizes, range(20, 20 + n))
            yield Case(sizes, (*before, Ask("reset"), *after, READ))
    if not plan.offers("fork"):
        return
    for n in dict.fromkeys((1, size + 1, size)):
        start, mine, others = (_appended(sizes, t) for t in (range(n), [20], [30]))
        yield Case(sizes, (*start, FORK, *mine, READ, OTHER, READ))
        yield Case(sizes, (*start, FORK, OTHER, *others, READ, OTHER, READ, *mine, READ))
        if plan.offers("truncate"):
            cut = Ask("truncate", n=n - 1)
            yield Case(sizes, (*start, FORK, cut, *mine, READ, OTHER, READ))


RULES = (
    Rule(
        39,
        "every block is free or owned, and by one owner",
        "take a block when length mod block size is 0 and give it back when its last row goes; "
        "refuse before one is taken",
        _walks,
        one_of(refusals, _conserved),
        needs=("blocks",),
    ),
    Rule(
        40,
        "unwritten rows of a last block are never read; a shared block is copied before a write",
        "read as many rows as the length says; copy a block that another text owns too before "
        "writing to it",
        _tails,
        exactly,
        needs=("blocks", "read"),
        explained_by=(3, 4),
    ),
)
