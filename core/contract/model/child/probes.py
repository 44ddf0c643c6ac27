"""What can be found without seeing inside: change a token, and see whether the logits move."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

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
    }


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


def _last(subject: Subject, text: Any, chunks: Sequence[int]) -> Any:
    """[1, V] logits of the last token, read with a cache; None: a call raised."""
    calls = list(subject.decode(text, chunks))
    return None if calls[-1].logits is None else calls[-1].logits[:, -1]


def told_positions(
    subject: Subject, ids: Any, chunks: Sequence[int], right: Any, call: int, band: float
) -> bool | None:
    """Whether the error goes when the model is told the positions; None: it takes none."""
    adapter = subject.adapter
    if not isinstance(adapter, Recognised) or not adapter.may_be_told_positions:
        return None
    adapter.place, adapter.place_is_number = "position_ids", False
    try:
        calls = list(subject.decode(ids, tuple(chunks[: call + 1])))
    finally:
        adapter.place = None
    if calls[-1].logits is None or len(calls) <= call:
        return None
    end = sum(chunks[: call + 1])
    gap = calls[-1].logits[0, -1] - right[0, end - 1]
    return bool(torch.isfinite(gap).all()) and float(gap.abs().max()) <= band
