"""What can be found without seeing inside: change a token, and see whether the logits move."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .subject import Subject
from .surfaces import Recognised


def blind_tokens(
    subject: Subject, ids: Any, chunks: Sequence[int], call: int, spare: int, band: float
) -> dict[str, Any]:
    """Of a call: earlier tokens that the uncached logits hang on, and those the cached ones do not.

    Args:
        subject: the model.
        ids: [1, N] the text.
        chunks: how it is read.
        call: which call is looked at; its last token's logits are.
        spare: a token id to put in place of another.
        band: a difference that could be rounding.
    """
    past = sum(chunks[:call])
    end = past + chunks[call]
    text, chunks = ids[:, :end], tuple(chunks[: call + 1])
    mine, right = _last(subject, text, chunks), subject.uncached(text)[0][:, -1]
    matter: list[int] = []
    blind: list[int] = []
    for token in range(past):
        other = text.clone()
        other[0, token] = spare if int(other[0, token]) != spare else spare + 1
        if float((subject.uncached(other)[0][:, -1] - right).abs().max()) <= band:
            continue
        matter.append(token)
        moved = _last(subject, other, chunks)
        if mine is None or moved is None:
            continue
        if float((moved - mine).abs().nan_to_num(float("inf")).max()) <= band:
            blind.append(token)
    return {
        "matter": matter,
        "blind": blind,
        "swapped": _ignores_order(subject, text, chunks, band),
        "first": _first_query(subject, text, chunks, spare, band),
    }


def _first_query(
    subject: Subject, text: Any, chunks: Sequence[int], spare: int, band: float
) -> dict[str, Any] | None:
    """Of the first token of the last call: earlier tokens that its cached logits do not hang on
    and must, and later ones that they hang on; None: it is the only token, or gives no logits.
    """  # noqa: D205  (one sentence)
    past, n = sum(chunks[:-1]), chunks[-1]
    mine = _last(subject, text, chunks, row=past)
    if n < 2 or mine is None:
        return None
    right = subject.uncached(text[:, : past + 1])[0][:, -1]
    blind: list[int] = []
    leaks: list[int] = []
    for token in range(past + n):
        if token == past:
            continue
        other = text.clone()
        other[0, token] = spare if int(other[0, token]) != spare else spare + 1
        moved = _last(subject, other, chunks, row=past)
        if moved is None:
            continue
        is_moved = not float((moved - mine).abs().nan_to_num(float("inf")).max()) <= band
        if token > past:
            leaks += [token] if is_moved else []
            continue
        wanted = subject.uncached(other[:, : past + 1])[0][:, -1]
        if not is_moved and float((wanted - right).abs().max()) > band:
            blind.append(token)
    return {"blind": blind, "leaks": leaks}


def _ignores_order(subject: Subject, text: Any, chunks: Sequence[int], band: float) -> bool | None:
    """Whether earlier tokens may change places: None where that means nothing without a cache."""
    past = sum(chunks[:-1])
    if past < 2:
        return None
    other = text.clone()
    other[0, 0], other[0, past - 1] = text[0, past - 1], text[0, 0]
    right = subject.uncached(text)[0][:, -1] - subject.uncached(other)[0][:, -1]
    if float(right.abs().max()) <= band:
        return None
    mine, moved = _last(subject, text, chunks), _last(subject, other, chunks)
    return None if mine is None or moved is None else float((mine - moved).abs().max()) <= band


def _last(subject: Subject, text: Any, chunks: Sequence[int], row: int | None = None) -> Any:
    """[1, V] logits of the last token, or of token `row` of the last call, read with a cache.

    None: a call raised, or gave no logits of that token.
    """
    last = list(subject.decode(text, chunks))[-1]
    if last.logits is None or row is None:
        return None if last.logits is None else last.logits[:, -1]
    return last.logits[:, row - last.past] if last.logits.shape[1] == last.n else None


def told_positions(
    subject: Subject, ids: Any, chunks: Sequence[int], right: Any, band: float
) -> bool | None:
    """Whether every error goes when the model is told the positions; None: it takes none."""
    adapter = subject.adapter
    if not isinstance(adapter, Recognised) or not adapter.may_be_told_positions:
        return None
    adapter.place, adapter.place_is_number = "position_ids", False
    try:
        calls = list(subject.decode(ids, tuple(chunks)))
    finally:
        adapter.place = None
    if calls[-1].logits is None or len(calls) < len(chunks):
        return None
    gaps = [call.logits[0, -1] - right[0, call.past + call.n - 1] for call in calls]
    return all(bool((gap.abs() <= band).all()) for gap in gaps)
