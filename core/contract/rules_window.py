"""Rules 23 to 27: what is left of a text that does not fit, and starting anew."""

from collections.abc import Iterator

from core.contract.calls import Ask, Call
from core.contract.plan import Plan, rows_of
from core.contract.rule import Break, Case, Heard, Rule, exactly, whole_state
from core.contract.sequences import READ, in_blocks, looks


def _windows(plan: Plan) -> Iterator[Case]:
    if plan.policy != "window":
        return
    for window in (1, 2, 3, 5):
        sizes = plan.sizes(window)
        w = sizes.capacity
        for n in (w, w + 1, 2 * w + 1):
            yield Case(sizes, (*in_blocks(sizes, (1,) * n), READ))
        for block in (2, 3, w, w + 2):
            yield Case(sizes, (*in_blocks(sizes, (1, block)), READ))
            yield Case(sizes, (*in_blocks(sizes, (block, block, 1)), READ))


def _order(plan: Plan) -> Iterator[Case]:
    if plan.policy != "window" or "sinks" not in plan.surface.roles:
        return
    for sinks in (0, 1, 2):
        sizes = plan.sizes(4, sinks=sinks)
        for n in (4, 5, 6, 10):
            yield Case(sizes, (*in_blocks(sizes, (1,) * n), READ))
        yield Case(sizes, (*in_blocks(sizes, (3, 3, 1)), READ))


def _blocks(plan: Plan) -> Iterator[Case]:
    """What the append of a block gave back, for its first row to attend to."""
    if plan.policy != "window" or not plan.gives_back:
        return
    for window in (2, 3, 5):
        sizes = plan.sizes(window)
        w = sizes.capacity
        singles = in_blocks(sizes, (1,) * w)
        for n in (2, 3):
            yield Case(sizes, (*singles, rows_of(sizes, range(w, w + n))))


def _first_of_block_sees_all(heard: Heard) -> Break | None:
    steps = list(heard.steps())
    at, call, answer, expected = steps[-1]
    view = heard.view(answer, call.layer)
    if view is None or view.odd_shape is not None or expected.tokens is None:
        return None
    needed = expected.shown_with(len(expected.older))[1:]
    if len(view.keys) < len(needed) or view.keys[-len(needed) :] != needed:
        return Break(at, "contents", f"{list(needed)} at least", view.words())
    return None


def _just_full(plan: Plan) -> Iterator[Case]:
    if plan.policy != "window":
        return
    for window in (2, 3):
        sizes = plan.sizes(window)
        w = sizes.capacity
        for n in (w - 1, w, w + 1):
            yield Case(sizes, (*in_blocks(sizes, (1,) * n), READ))
            yield Case(sizes, (*in_blocks(sizes, (n,)), READ))
            yield Case(sizes, (*in_blocks(sizes, (n, 1, 1)), READ))


def _born_again(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(3)
    seen = looks(plan)
    for n in (1, 3, 5):
        if plan.policy == "refuse" and n > sizes.capacity:
            continue
        first = in_blocks(sizes, (1,) * n)
        again: list[Call] = [rows_of(sizes, [20 + token]) for token in range(n)]
        yield Case(sizes, (*first, Ask("reset"), *seen))
        yield Case(sizes, (*first, Ask("reset"), *again, *seen))
        if plan.surface.takes_layer:
            other = rows_of(sizes, [0], 1)
            later = rows_of(sizes, [9], 1)
            yield Case(sizes, (*first, other, Ask("reset"), later, Ask("read", layer=1)))


RULES = (
    Rule(
        23,
        "a window shows the last rows, as many as the capacity",
        "keep the last `window` rows, the new one included, in the order of the text",
        _windows,
        exactly,
        needs=("read",),
        explained_by=(3, 4),
    ),
    Rule(
        24,
        "the oldest row leaves first, and a sink never",
        "let rows go from behind the sinks",
        _order,
        exactly,
        needs=("read",),
        explained_by=(23,),
    ),
    Rule(
        25,
        "rows leave after the block has attended",
        "give attention the old rows with the block, and let go then",
        _blocks,
        _first_of_block_sees_all,
    ),
    Rule(
        26,
        "nothing is lost when a window becomes just full",
        "let go when there are more rows than the window, not when there are as many",
        _just_full,
        exactly,
        needs=("read",),
        explained_by=(23,),
    ),
    Rule(
        27,
        "a reset cache is a new one",
        "put back every counter, pointer and flag, in all layers",
        _born_again,
        whole_state,
        needs=("reset",),
        explained_by=(1, 4, 9, 3, 23),
    ),
)
