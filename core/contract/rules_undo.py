"""Rules 28 to 33: going back, and sequences side by side."""

import itertools
from collections.abc import Iterator

from core.contract.calls import Append, Ask, Call
from core.contract.plan import Plan, rows_of
from core.contract.reading import listed
from core.contract.rule import Break, Case, Heard, Rule, exactly, refusals, whole_state
from core.contract.sequences import READ, in_blocks, looks


def _cut(n: int) -> Ask:
    return Ask("truncate", n=n)


def _truncated(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(6)
    seen = looks(plan)
    for n in (1, 4):
        some = in_blocks(sizes, (1,) * n)
        for t in range(n + 1):
            yield Case(sizes, (*some, _cut(t), *seen))
    if plan.surface.takes_layer:
        for n in (2, 3):
            both = [rows_of(sizes, [t], layer) for t in range(n) for layer in (0, 1)]
            yield Case(sizes, (*both, _cut(1), Ask("read", layer=0), Ask("read", layer=1)))


def _out_of_range(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(6)
    seen = looks(plan)
    for t in (-1, -2, 3, 4):
        yield Case(sizes, (*in_blocks(sizes, (1, 1)), *seen, _cut(t), *seen))


def _refused_or_clamped(heard: Heard) -> Break | None:
    """Beyond the ends: an error, or as if the end had been named; nothing else."""
    cut, was_refused = next(
        (call, answer.was_refused)
        for _, call, answer, _ in heard.steps()
        if isinstance(call, Ask) and call.call == "truncate"
    )
    empties = cut.n < 0 and not was_refused
    is_after = False
    for at, call, answer, expected in heard.steps():
        if call is cut:
            is_after = True
        if not is_after or not isinstance(call, Ask) or call.call not in ("length", "read"):
            continue
        view = heard.view(answer, call.layer)
        if view is None:
            should, shown = str(0 if empties else expected.number), str(answer.number)
        else:
            tokens = () if empties else expected.tokens or ()
            should = listed(tokens)
            shown = listed(view.keys if empties else view.keys[: len(tokens)])
        if shown != should:
            return Break(at, call.call, f"{should}, or an error when truncating", shown)
    return None


def _after_cut(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(6)
    seen = looks(plan)
    for n, t in ((2, 1), (4, 2), (3, 0)):
        some = in_blocks(sizes, (1,) * n)
        yield Case(sizes, (*some, _cut(t), rows_of(sizes, [20]), READ, *seen))
    yield Case(sizes, (*in_blocks(sizes, (1,) * 6), _cut(2), rows_of(sizes, range(20, 24)), READ))
    if plan.surface.takes_layer:
        both = [rows_of(sizes, [t], layer) for t in range(3) for layer in (0, 1)]
        for layer in (0, 1):
            later = rows_of(sizes, [20], layer)
            yield Case(sizes, (*both, _cut(1), later, Ask("read", layer=layer)))


def _past_window(plan: Plan) -> Iterator[Case]:
    if plan.policy != "window":
        return
    sizes = plan.sizes(4)
    for seen, t in ((6, 3), (6, 1), (9, 2)):
        yield Case(sizes, (*in_blocks(sizes, (1,) * seen), _cut(t)))


def _saved(plan: Plan) -> Iterator[Case]:
    seen = looks(plan)
    for capacity, before in ((6, 2), (3, 3)):
        sizes = plan.sizes(capacity)
        some = in_blocks(sizes, (1,) * before)
        save, back = Ask("snapshot"), Ask("restore")
        more: list[Call] = [rows_of(sizes, [20]), rows_of(sizes, [21])]
        if plan.policy == "refuse" and before == capacity:
            more = [Ask("truncate", n=1)] if plan.offers("truncate") else []
        yield Case(sizes, (*some, save, *more, back, *seen))
        if before < capacity:
            other = rows_of(sizes, [30])
            yield Case(sizes, (*some, save, *more, back, other, back, *seen))
            yield Case(sizes, (*some, save, *more, back, other, READ, *seen))
            if plan.surface.takes_layer:
                yield _saved_layers(plan, before)


def _saved_layers(plan: Plan, before: int) -> Case:
    """The same of a second layer, by what its next row gives back."""
    sizes = plan.sizes(6)
    both = [rows_of(sizes, [t], layer) for t in range(before) for layer in (0, 1)]
    more = [rows_of(sizes, [20], layer) for layer in (0, 1)]
    other = rows_of(sizes, [30], 1)
    calls = (*both, Ask("snapshot"), *more, Ask("restore"), other, Ask("read", layer=1))
    return Case(sizes, calls)


def _reordered(plan: Plan) -> Iterator[Case]:
    if not plan.takes_batches:
        return
    sizes = plan.sizes(6, batch=2)
    if sizes.batch != 2:
        return
    for index in ((0, 1), (1, 0), (1, 1), (0, 0)):
        for layer in (0, 1) if plan.surface.takes_layer else (0,):
            layers = range(layer + 1)
            held = [rows_of(sizes, [0, 1], one) for one in layers]
            # Where only adding rows shows any, one more is added.
            more = [] if plan.offers("read_before") else [rows_of(sizes, [2], layer)]
            look = (*more, Ask("read", layer=layer))
            yield Case(sizes, (*held, Ask("reorder", index=index), *look))
    yield Case(sizes, (*in_blocks(sizes, (2,)), Ask("reorder", index=(0, 5)), READ))


def _parents(heard: Heard) -> Break | None:
    """Row b is old row index[b], keys and values alike."""
    steps = list(heard.steps())
    at, call, answer, _ = steps[-1]
    before = itertools.takewhile(lambda c: getattr(c, "call", "") != "reorder", heard.case.calls)
    if not any(isinstance(c, Append) and c.layer == call.layer for c in before):
        return None
    asked, done = next((c, a) for _, c, a, _ in steps if isinstance(c, Ask) and c.call == "reorder")
    if max(asked.index) > 1:
        return None if done.was_refused else Break(at - 1, "refusal", "refused", "accepted")
    if done.was_refused:
        return Break(at - 1, "refusal", "reordered", str(done.error))
    view = heard.view(answer, call.layer)
    if view is None:
        return None
    if view.odd_shape is not None:
        return Break(at, "shape", "arrays of the shape that they had", view.odd_shape)
    # Serials are told as if the row were its own: a row of the other sequence is off by a step.
    off = [40 * (parent - b) for b, parent in enumerate(asked.index)]
    rows = [(view.keys, view.values), *view.others]
    wanted = [tuple(token + shift for token in range(2)) for shift in off]
    for b, ((keys, values), row) in enumerate(zip(rows, wanted, strict=True)):
        if keys[:2] != row or values[:2] != row:
            return Break(at, "contents", f"row {b} as old row {asked.index[b]}", view.words())
    return None


def _neighbours(plan: Plan) -> Iterator[Case]:
    if not plan.takes_batches:
        return
    sizes = plan.sizes(6, batch=2)
    if sizes.batch == 2:
        yield Case(sizes, (*in_blocks(sizes, (2, 1)), READ))


RULES = (
    Rule(
        28,
        "truncating to t keeps the first t tokens, exactly",
        "set the length to t in every layer; refuse a t that is not between 0 and what was seen",
        _truncated,
        whole_state,
        needs=("truncate", "read_before"),
        explained_by=(1, 3, 4, 6),
    ),
    Rule(
        28,
        "truncating beyond the ends is refused, or stops at the end",
        "refuse a t that is not between 0 and what was seen",
        _out_of_range,
        _refused_or_clamped,
        needs=("truncate", "read_before"),
        explained_by=(1, 3, 4, 6),
    ),
    Rule(
        29,
        "after truncating to t the next row lands at t",
        "write at the length, and forget the old tail",
        _after_cut,
        whole_state,
        needs=("truncate", "read"),
        explained_by=(28, 3, 4, 9),
    ),
    Rule(
        30,
        "truncating to where rows have left is refused",
        "compare with the tokens still held before anything changes",
        _past_window,
        refusals,
        needs=("truncate",),
    ),
    Rule(
        31,
        "restoring a snapshot gives the state back, as often as one likes",
        "copy the arrays and counters when saving, and again when restoring",
        _saved,
        whole_state,
        needs=("snapshot", "restore", "read"),
        explained_by=(3, 4, 9),
    ),
    Rule(
        32,
        "after reordering, row b is old row index[b], keys and values of every layer",
        "index keys and values of every layer with the same order",
        _reordered,
        _parents,
        needs=("reorder", "read"),
    ),
    Rule(
        33,
        "sequences of a batch do not touch each other",
        "index by sequence wherever rows are written or moved",
        _neighbours,
        exactly,
        needs=("read",),
        explained_by=(3, 4),
    ),
)
