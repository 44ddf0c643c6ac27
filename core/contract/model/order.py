"""Rows that are all there, in another order than the mask takes them for."""

from collections.abc import Sequence

from core.contract.model.facts import Attention, Call
from core.contract.model.finding import Finding, call_words, seen, spans
from core.contract.model.sight import tokens_of

NEW_FIRST = "new rows are put before the earlier ones, where the mask takes them to stand behind"
OTHER = "rows stand in another order than the mask takes them for"


def order_finding(calls: Sequence[Call]) -> Finding | None:
    """The first call and layer in which a query sees wrong tokens for the order of the rows."""
    for at, call in enumerate(calls):
        for one in call.attentions:
            tokens = _turned(one, call)
            query = None if tokens is None else _first_off(one, call, tokens)
            if tokens is None or query is None:
                continue
            mechanism = NEW_FIRST if _is_new_first(calls, one.layer) else OTHER
            return seen(mechanism, at, one.layer, _words(one, call, tokens, query))
    return None


def _turned(one: Attention, call: Call) -> list[int] | None:
    """The token of each column, where all are there in another order; None: that is not so."""
    if one.n_columns != call.end or (one.values is None and one.keys is None):
        return None
    tokens = [token for token in tokens_of(one) if token is not None]
    in_order = list(range(call.end))
    return tokens if sorted(tokens) == in_order != tokens else None


def _first_off(one: Attention, call: Call, tokens: Sequence[int]) -> int | None:
    """The first query that sees other tokens than it must; None: none does."""
    for query in range(call.n):
        if {tokens[column] for column in one.visible[query]} != set(one.expected[query]):
            return query
    return None


def _is_new_first(calls: Sequence[Call], layer: int) -> bool:
    """Whether in every call the new tokens come first, and the others as they were before."""
    before: list[int] = []
    for call in calls:
        one = next((a for a in call.attentions if a.layer == layer), None)
        tokens = None if one is None else tokens_of(one)
        before = [*range(call.past, call.end), *before]
        if tokens != before:
            return False
    return True


def kept_orders(calls: Sequence[Call]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Tokens of each call, and the tokens of the rows that were kept then, where that is known."""
    chunks = tuple(call.n for call in calls)
    return [
        (chunks[: at + 1], call.kept.tokens)
        for at, call in enumerate(calls)
        if call.kept is not None and call.kept.tokens is not None
    ]


def kept_order_words(calls: Sequence[Call]) -> str:
    """Of the first call whose kept rows lie in another order than their tokens; empty: none do."""
    for chunks, tokens in kept_orders(calls):
        if list(tokens) != sorted(tokens):
            return (
                f"call with {call_words(calls[len(chunks) - 1])}: the rows that it kept are those "
                f"of tokens [{_listed(tokens)}], in this order"
            )
    return ""


def _listed(tokens: Sequence[int]) -> str:
    return ", ".join(map(str, tokens[:16])) + (", …" if len(tokens) > 16 else "")


def _words(one: Attention, call: Call, tokens: Sequence[int], query: int) -> str:
    shown = sorted(tokens[column] for column in one.visible[query])
    return (
        f"call with {call_words(call)}, layer {one.layer}: the rows are those of tokens "
        f"[{_listed(tokens)}], in this order; the query at token {call.past + query} sees tokens "
        f"{spans(shown)}, must see {spans(list(one.expected[query]))}"
    )
