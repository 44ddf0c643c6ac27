"""Rules 16 to 19: who owns an array, and what a number is."""

from collections.abc import Iterator
from dataclasses import replace

from core.contract.calls import Append, Ask
from core.contract.plan import Plan, rows_of
from core.contract.rule import Break, Case, Heard, Rule, first_rows
from core.contract.sequences import READ, in_blocks, numbers

INTEGERS = ("int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _given_changes(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(8)
    first = rows_of(sizes, [0, 1])
    if plan.offers("read_before"):
        yield Case(sizes, (rows_of(sizes, [0]), Ask("overwrite_given", of=0), READ))
        yield Case(sizes, (first, Ask("overwrite_given", of=0), READ))
    again = replace(rows_of(sizes, [1]), scratch=0)
    yield Case(sizes, (rows_of(sizes, [0]), again, READ))
    yield Case(sizes, (first, replace(rows_of(sizes, [2, 3]), scratch=0), READ))


def _got_written(plan: Plan) -> Iterator[Case]:
    if not plan.offers("read_before"):
        return
    sizes = plan.sizes(8)
    for blocks in ((1,), (2, 1)):
        appends = in_blocks(sizes, blocks)
        # An append leaves an entry among what came back too, if only an empty one.
        yield Case(sizes, (*appends, READ, Ask("overwrite_got", of=len(appends)), READ))


def _got_kept(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(4)
    first = rows_of(sizes, [0])
    look = Ask("look", of=1)
    yield Case(sizes, (first, READ, rows_of(sizes, [1]), look))
    if plan.policy == "window":
        more = in_blocks(sizes, (1,) * 6)[1:]
        yield Case(sizes, (first, READ, *more, look))
    if plan.offers("reset"):
        yield Case(sizes, (first, READ, Ask("reset"), rows_of(sizes, [5]), look))


def _stays(heard: Heard) -> Break | None:
    """What came back once looks the same later on, whatever was done meanwhile."""
    first = None
    for at, call, answer, _ in heard.steps():
        view = heard.view(answer, 0)
        if not isinstance(call, Ask) or call.call not in ("read", "look") or view is None:
            continue
        if first is not None and view != first:
            return Break(at, "contents", first.words(), view.words())
        first = first or view
    return None


def _numbers(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(4)
    asked = numbers(plan)
    if asked:
        yield Case(sizes, asked)
        yield Case(sizes, (rows_of(sizes, [0]), *asked))


def _are_integers(heard: Heard) -> Break | None:
    for at, call, answer, _ in heard.steps():
        if isinstance(call, Append) or answer.kind is None:
            continue
        if answer.kind not in INTEGERS:
            return Break(at, "kind", "an integer, which does not change later", answer.kind)
    return None


RULES = (
    Rule(
        16,
        "what the caller does to its arrays afterwards does not reach the cache",
        "copy the rows into the buffer; do not keep the arrays that were handed over",
        _given_changes,
        first_rows,
        needs=("read",),
        explained_by=(3,),
    ),
    Rule(
        17,
        "writing to what came back does not reach the cache, or is not possible",
        "return a copy or a read-only view",
        _got_written,
        _stays,
        needs=("read_before",),
        is_note=lambda plan: "copies" not in plan.declared,
    ),
    Rule(
        18,
        "what came back stays as it was when more rows arrive",
        "return a copy, or say that views are live",
        _got_kept,
        _stays,
        needs=("read_before",),
        is_note=lambda plan: "copies" not in plan.declared,
    ),
    Rule(
        19,
        "a length is a number of its own",
        "return an int, not an array that counts on",
        _numbers,
        _are_integers,
    ),
)
