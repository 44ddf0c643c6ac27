"""Rules 7 and 8: rows that do not belong together, or not into this cache, are refused."""

from collections.abc import Iterator
from dataclasses import replace

from core.contract.calls import ONE_FOLD, TWO_FOLD, Append, Sizes
from core.contract.plan import Plan, rows_of
from core.contract.rule import Case, Rule, refusals
from core.contract.sequences import changed


def _mismatched(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(8)
    first = rows_of(sizes, [0])
    pairs = [((1, 2), (1, 2, 3)), ((1, 2, 3), (1, 2))]
    for k_tokens, v_tokens in pairs:
        odd = _with(first, k=k_tokens, v=v_tokens)
        yield Case(sizes, (odd,))
        yield Case(sizes, (first, odd))
    if plan.has_heads and sizes.n_heads > 1:
        right = rows_of(sizes, [1, 2])
        yield Case(sizes, (first, replace(right, v=replace(right.v, n_heads=sizes.n_heads + 1))))
    if plan.has_batch:
        right = rows_of(sizes, [1, 2])
        yield Case(sizes, (first, replace(right, v=replace(right.v, batch=sizes.batch + 1))))


def _with(append: Append, k: tuple[int, ...], v: tuple[int, ...]) -> Append:
    return replace(append, k=replace(append.k, tokens=k), v=replace(append.v, tokens=v))


def _each_alone(append: Append, **changes: int) -> Iterator[Append]:
    """The keys alone changed, and the values alone."""
    both = changed(append, **changes)
    yield replace(append, k=both.k)
    yield replace(append, v=both.v)


def _wrong_shapes(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(8)
    first, right = rows_of(sizes, [0]), rows_of(sizes, [1, 2])
    if plan.has_heads:
        yield Case(sizes, (first, changed(right, n_heads=sizes.n_heads + 1)))
    for d in (sizes.d_k + 1, max(sizes.d_k - 1, 2)):
        if d != sizes.d_k:
            yield Case(sizes, (first, changed(right, d=d)))
            yield from (Case(sizes, (first, odd)) for odd in _each_alone(right, d=d))
    yield Case(sizes, (first, changed(right, kind=TWO_FOLD)))


def _stretched(plan: Plan) -> Iterator[Case]:
    """One row, head or sequence of keys or values where the other has several."""
    sizes = plan.sizes(8, batch=2) if plan.takes_batches else plan.sizes(8)
    first, right = rows_of(sizes, [0]), rows_of(sizes, [1, 2, 3])
    yield Case(sizes, (first, _with(right, k=(1, 2, 3), v=(1,))))
    yield Case(sizes, (first, _with(right, k=(1,), v=(1, 2, 3))))
    yield from (Case(sizes, (first, odd)) for odd in _each_alone(right, d=1))
    if sizes.n_heads > 1:
        yield from (Case(sizes, (first, odd)) for odd in _each_alone(right, n_heads=1))
    if sizes.batch > 1:
        yield from (Case(sizes, (first, odd)) for odd in _each_alone(right, batch=1))


def _stretched_shapes(plan: Plan) -> Iterator[Case]:
    """Keys and values that agree, each with one place where the cache has several."""
    sizes = plan.sizes(8, batch=2) if plan.takes_batches else plan.sizes(8)
    for tokens in ([1, 2], [1]):
        first, right = rows_of(sizes, [0]), rows_of(sizes, tokens)
        yield Case(sizes, (first, changed(right, d=1)))
        if sizes.n_heads > 1:
            yield Case(sizes, (first, changed(right, n_heads=1)))
        if sizes.batch > 1:
            yield Case(sizes, (first, changed(right, batch=1)))
        yield Case(sizes, (first, changed(right, kind=ONE_FOLD)))


def misfits(plan: Plan) -> Iterator[tuple[Sizes, Append]]:
    """Every append that should be refused for what it is, and sizes of a cache to refuse it."""
    for cases in (_mismatched, _stretched, _wrong_shapes, _stretched_shapes):
        for case in cases(plan):
            last = case.calls[-1]
            if len(case.calls) > 1 and isinstance(last, Append):
                yield case.sizes, last


RULES = (
    Rule(
        7,
        "keys and values that do not belong together are refused",
        "compare the rows, heads and sequences of k and v before anything is written",
        _mismatched,
        refusals,
    ),
    Rule(
        8,
        "rows of the wrong shape are refused",
        "compare heads and head size with those of the cache before anything is written",
        _wrong_shapes,
        refusals,
    ),
    Rule(
        7,
        "keys and values that do not belong together are refused",
        "compare k.shape with v.shape; one row is stretched over several without an error",
        _stretched,
        refusals,
        is_note=lambda plan: "broadcast" not in plan.declared,
    ),
    Rule(
        8,
        "rows of the wrong shape are refused",
        "compare shapes with those of the cache; an axis of 1 is stretched without an error",
        _stretched_shapes,
        refusals,
        is_note=lambda plan: "broadcast" not in plan.declared,
    ),
)
