"""Rules 34 to 38: what is in a row is stored as it is."""

from collections.abc import Iterator
from dataclasses import replace

from core.contract.calls import Append, Call
from core.contract.plan import Plan, rows_of
from core.contract.rule import Break, Case, Heard, Rule, first_ones, whole_state
from core.contract.sequences import LENGTH, READ, changed

TOO_LARGE = 1e39
"""Above the range of float32 and of every narrower type."""

ODD_KINDS = ("transposed", "strided", "negative")


def _not_finite(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(6)
    for what in ("nan", "inf"):
        odd = changed(rows_of(sizes, [0, 1, 2]), special={2: what})
        yield Case(sizes, (changed(rows_of(sizes, [0]), special={0: what}), READ))
        yield Case(sizes, (odd, rows_of(sizes, [3]), READ))


def _types(plan: Plan) -> Iterator[Case]:
    """Rows of another number type between right ones."""
    sizes = plan.sizes(6)
    other = "float64" if sizes.dtype == "float32" else "float32"
    first = rows_of(sizes, [0])
    for dtype in (other, "int64"):
        yield Case(sizes, (first, READ, changed(rows_of(sizes, [1]), dtype=dtype), READ))


def _told_types(plan: Plan) -> Iterator[Case]:
    """Rows of a type that the constructor was told."""
    if "dtype" in plan.surface.roles and "dtype" not in plan.surface.fixed:
        for dtype in ("float64", "float16"):
            sizes = replace(plan.sizes(6), dtype=dtype)
            yield Case(sizes, (rows_of(sizes, [0]), READ))


def _is_of_type(heard: Heard) -> Break | None:
    """Keys and values have the type of the cache."""
    at, _, answer, _ = list(heard.steps())[-1]
    types = {told.dtype for told in answer.pair or ()}
    if types <= {heard.case.sizes.dtype}:
        return None
    return Break(at, "dtype", heard.case.sizes.dtype, " and ".join(sorted(types)))


def _type_stays(heard: Heard) -> Break | None:
    """An append of another type is refused, or cast; the old rows keep theirs."""
    types: list[str] = []
    for at, call, answer, _ in heard.steps():
        view = heard.view(answer, call.layer)
        if view is None or isinstance(call, Append) or not view.keys:
            continue  # of no rows there is no type
        types.append(view.dtype)
        if types[-1] != types[0]:
            return Break(at, "dtype", types[0], types[-1])
    return None


def _too_large(plan: Plan) -> Iterator[Case]:
    """A number that only a wider type holds."""
    sizes = plan.sizes(6)
    odd = changed(rows_of(sizes, [1]), dtype="float64", fill=TOO_LARGE)
    yield Case(sizes, (rows_of(sizes, [0]), odd, READ))


def _is_not_infinite(heard: Heard) -> Break | None:
    """A number beyond the range of the cache's type is refused; as infinity it is lost."""
    steps = list(heard.steps())
    at, call, answer, _ = steps[-1]
    view = heard.view(answer, call.layer)
    if view is None or "inf" not in (*view.keys, *view.values):
        return None
    return Break(at, "contents", f"{TOO_LARGE:g} is refused, or read as it is", view.words())


def _lying(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(8)
    kinds = ODD_KINDS if plan.surface.library == "numpy" else ODD_KINDS[:2]
    if plan.surface.library == "numpy":
        kinds = (*kinds, "read_only")
    for kind in kinds:
        yield Case(sizes, (changed(rows_of(sizes, [0, 1, 2]), kind=kind), READ))
        yield Case(sizes, (rows_of(sizes, [0]), changed(rows_of(sizes, [1, 2]), kind=kind), READ))


def _zeros(plan: Plan) -> Iterator[Case]:
    sizes = plan.sizes(4)
    zero = changed(rows_of(sizes, [0]), fill=0.0)
    asked: tuple[Call, ...] = (LENGTH, READ) if plan.offers("length") else (READ,)
    yield Case(sizes, (zero, *asked))
    yield Case(sizes, (zero, rows_of(sizes, [1]), *asked))


def _devices(plan: Plan) -> Iterator[Case]:
    if plan.surface.library == "torch":
        sizes = plan.sizes(4)
        yield Case(sizes, (rows_of(sizes, [0]), changed(rows_of(sizes, [1]), kind="meta"), READ))


def _refuses_meta(heard: Heard) -> Break | None:
    at, _, answer, _ = list(heard.steps())[1]
    return None if answer.was_refused else Break(at, "refusal", "refused", "accepted")


RULES = (
    Rule(
        34,
        "NaN and infinity are stored as they are, and stay in their row",
        "store numbers; compute nothing with them",
        _not_finite,
        first_ones,
        needs=("read",),
        explained_by=(3, 4),
    ),
    Rule(
        35,
        "the number type is the one that the constructor was told",
        "make the buffers of keys and of values with it",
        _told_types,
        _is_of_type,
        needs=("read",),
    ),
    Rule(
        35,
        "the number type stays",
        "cast new rows to the type of the buffer, or refuse them; never the other way round",
        _types,
        _type_stays,
        needs=("read_before",),
        explained_by=(3,),
    ),
    Rule(
        35,
        "the number type stays",
        "refuse rows of a wider type, or check their range before they are cast",
        _too_large,
        _is_not_infinite,
        needs=("read",),
        is_note=lambda plan: True,
    ),
    Rule(
        36,
        "rows on another device are refused or moved",
        "compare devices before anything is written",
        _devices,
        _refuses_meta,
        is_note=lambda plan: True,  # torch itself writes rows of this device without a complaint
    ),
    Rule(
        37,
        "arrays may lie in memory in any way",
        "copy by value; do not reinterpret memory",
        _lying,
        first_ones,
        needs=("read",),
        explained_by=(3, 4),
    ),
    Rule(
        38,
        "a row of zeros is a row",
        "count appends; do not guess the length from what is not zero",
        _zeros,
        whole_state,
        needs=("read",),
        explained_by=(3, 4),
    ),
)
