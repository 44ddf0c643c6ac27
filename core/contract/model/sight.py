"""Which columns queries see, and which rule gives such a mask."""

from collections.abc import Callable, Sequence

from core.contract.model.facts import Attention, Call, Whose
from core.contract.model.finding import Finding, call_words, like, seen, spans

Columns = tuple[int, ...]


def tokens_of(one: Attention) -> list[int | None]:
    """The token of each column, as far as it is known; the column's own number where not.

    By the layer's keys and values, as the uncached forward has them.
    """
    found: list[int | None] = []
    for column in range(one.n_columns):
        whose: list[Whose] = [
            rows[column] for rows in (one.values, one.keys) if rows is not None and rows[column]
        ]
        places = one.key_places[column] if one.key_places else ()
        first: Whose = whose[0] if whose else ()
        if isinstance(first, str):
            found.append(None)
        elif first:
            found.append(column if column in first else first[0])
        elif places and places != "zero":
            found.append(next((t for t, _ in places if t == column), places[0][0]))
        else:
            found.append(column)
    return found


def right_columns(one: Attention, call: Call, query: int) -> Columns:
    """The columns that a query of the call must see: those of the tokens it sees uncached."""
    expected = set(one.expected[query])
    tokens = tokens_of(one) if one.n_columns < call.end else list(range(one.n_columns))
    return tuple(column for column, token in enumerate(tokens) if token in expected)


Rule = Callable[[Attention, Call, int], Columns]


def _top_left(one: Attention, call: Call, query: int) -> Columns:
    return tuple(range(min(query + 1, one.n_columns)))


def _own_block(one: Attention, call: Call, query: int) -> Columns:
    return tuple(column for column in right_columns(one, call, query) if column >= call.past)


def _own_chunk(one: Attention, call: Call, query: int) -> Columns:
    rule = _own_block if call.n > 1 else right_columns
    return rule(one, call, query)


def _open(one: Attention, call: Call, query: int) -> Columns:
    if call.n == 1:
        return right_columns(one, call, query)
    return tuple(range(one.n_columns))


def _whole_buffer(one: Attention, call: Call, query: int) -> Columns:
    if one.n_columns <= call.end:
        return right_columns(one, call, query)
    return tuple(range(one.n_columns))


RULES: tuple[tuple[str, Rule], ...] = (
    ("mask-top-left", _top_left),
    ("mask-own-block", _own_block),
    ("mask-own-chunk", _own_chunk),
    ("mask-off-with-cache", _open),
    ("mask-unwritten", _whole_buffer),
)


def sight_finding(calls: Sequence[Call], also: Sequence[Call]) -> Finding | None:
    """The first call and layer in which a query sees other columns than it must.

    A rule explains it that fits all these calls, and those of another session, `also`.
    """
    for at, call in enumerate(calls):
        for one in call.attentions:
            if not _is_judged(one, call):
                continue
            for query in reversed(range(call.n)):
                if tuple(one.visible[query]) != right_columns(one, call, query):
                    return _named(calls, also, at, one, query)
    return None


def _is_judged(one: Attention, call: Call) -> bool:
    """Whether the rows that must be seen are there; where not, it is no matter of the mask."""
    if one.n_columns >= call.end:
        return True
    tokens = tokens_of(one)
    return all(set(expected) <= set(tokens) for expected in one.expected)


def _named(
    calls: Sequence[Call], also: Sequence[Call], at: int, one: Attention, query: int
) -> Finding:
    call = calls[at]
    words = _words(call, one, query)
    flag = _flag_words(call, one)
    evidence = (words, flag) if flag else (words,)
    for name, rule in RULES:
        if _fits([*calls, *also], one.layer, rule):
            return like(name, at, one.layer, *evidence)
    name = _window(calls, one.layer)
    if name is not None:
        return like(name, at, one.layer, *evidence)
    return seen("queries see other tokens than they must", at, one.layer, *evidence)


def _fits(calls: Sequence[Call], layer: int, rule: Rule) -> bool:
    """Whether a rule gives what is seen in every call of a layer."""
    return all(
        tuple(one.visible[query]) == rule(one, call, query)
        for call in calls
        for one in call.attentions
        if one.layer == layer
        for query in range(call.n)
    )


def _window(calls: Sequence[Call], layer: int) -> str | None:
    """The fault of a window, by how many keys too many or too few its full rows show."""
    excess = {
        len(one.visible[query]) - len(one.expected[query])
        for call in calls
        for one in call.attentions
        if one.layer == layer
        for query in range(call.n)
        if len(one.expected[query]) < call.past + query + 1
        or len(one.visible[query]) <= call.past + query
    }
    found = excess - {0}
    if found == {1}:
        return "evict-off-by-one"
    if found == {-1}:
        return "evict-one-short"
    return "evict-never" if found and min(found) > 0 else None


def _words(call: Call, one: Attention, query: int) -> str:
    visible, right = list(one.visible[query]), list(right_columns(one, call, query))
    blind = [column for column in right if column not in visible]
    open_ = [column for column in visible if column not in right]
    keys = "key" if one.n_columns == 1 else "keys"
    words = (
        f"call with {call_words(call)}, layer {one.layer}: the query at token {call.past + query} "
        f"sees {len(visible)} of {one.n_columns} {keys}: {spans(visible)}"
    )
    if blind:
        words += f"; blind to {spans(blind)}"
    if open_ and len(visible) > 1:
        weight = sum(one.weights[query][column] for column in open_)
        what = "rows never written" if open_[0] >= call.end else "what it must not see"
        words += f"; {100 * weight:.3g} % of its weight is on {what}: {spans(open_)}"
    return words


def _flag_words(call: Call, one: Attention) -> str:
    if not one.is_flagged or call.n == one.n_columns:
        return ""
    queries = "query" if call.n == 1 else "queries"
    return (
        f"is_causal=True with {call.n} {queries} and {one.n_columns} keys: fused attention aligns "
        "it top-left"
    )
