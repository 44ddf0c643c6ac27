"""Rules 20 to 22: layers apart, one position for a step, tokens seen beside rows held."""

from collections.abc import Iterator, Sequence

from core.contract.calls import Ask, Call, Sizes
from core.contract.plan import Plan, rows_of
from core.contract.rule import Case, Rule, first_ones, lengths, one_of, refusals
from core.contract.sequences import numbers

LAYERS = (0, 1)


def steps_of(sizes: Sizes, n: int, order: Sequence[int] = LAYERS) -> list[Call]:
    """So many tokens, one at a time, each through all layers."""
    return [rows_of(sizes, [token], layer) for token in range(n) for layer in order]


def _apart(plan: Plan) -> Iterator[Case]:
    if not plan.surface.takes_layer:
        return
    sizes = plan.sizes(6)
    reads = [Ask("read", layer=layer) for layer in LAYERS]
    for order in (LAYERS, LAYERS[::-1]):
        yield Case(sizes, (*steps_of(sizes, 1, order), *reads))
        yield Case(sizes, (*steps_of(sizes, 3, order), *reads))
    blocks = [rows_of(sizes, [0, 1, 2], layer) for layer in LAYERS]
    yield Case(sizes, (*blocks, *reads))
    if plan.offers("read_before"):
        yield Case(
            sizes, (rows_of(sizes, [0], 0), rows_of(sizes, [1], 0), rows_of(sizes, [0], 1), *reads)
        )


def _one_start(plan: Plan) -> Iterator[Case]:
    """The length before a layer's rows get in, in each layer of a step."""
    if not plan.surface.takes_layer or not plan.offers("length"):
        return
    sizes = plan.sizes(6)
    for n in (1, 2):
        calls: list[Call] = steps_of(sizes, n)
        for layer in LAYERS:
            calls += [Ask("length", layer=layer), rows_of(sizes, [n], layer)]
        yield Case(sizes, tuple(calls))


def _both_numbers(plan: Plan) -> Iterator[Case]:
    if plan.policy != "window":
        return
    for n in (2, 3, 4, 7):
        sizes = plan.sizes(3)
        appends = [rows_of(sizes, [token]) for token in range(n)]
        yield Case(sizes, (*appends, *numbers(plan)))


RULES = (
    Rule(
        20,
        "layers do not share rows, in whichever order they come",
        "keep buffers and a length for each layer",
        _apart,
        first_ones,
        needs=("read",),
        explained_by=(3, 4),
    ),
    Rule(
        21,
        "all layers of a step see the same start position",
        "count a token once, when its last layer is written, or count for each layer",
        _one_start,
        one_of(refusals, lengths),
        explained_by=(20,),
    ),
    Rule(
        22,
        "tokens seen and rows held are two numbers",
        "count tokens seen apart; positions come from it, not from the rows that are left",
        _both_numbers,
        lengths,
        needs=("seen",),
    ),
)
