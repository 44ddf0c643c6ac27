"""What can be found without seeing inside: change a token, and see whether the logits move."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .subject import Subject
from .surfaces import Recognised

N_REPEATED = 4


def sights(
    subject: Subject, ids: Any, chunks: Sequence[int], call: int, spare: int, band: float
) -> list[dict[str, Any]]:
    """Of a call: for each token of it that gives logits, which other tokens move them.

    "token": its index in the text. "matter": earlier tokens that move its logits without a cache.
    "moved", "still": tokens of the text so far that do, and do not, move its cached logits.

    Args:
        subject: the model.
        ids: [1, N] the text.
        chunks: how it is read.
        call: which call is looked at.
        spare: a token id to put in place of another.
        band: a difference that could be rounding.
    """
    chunks = tuple(chunks[: call + 1])
    end = sum(chunks)
    text = ids[:, :end]
    mine = _cached(subject, text, chunks)
    if mine is None:
        return []
    first = end - mine.shape[1]
    right = _uncached(subject, text, first)
    told = [{"token": token, "matter": [], "moved": [], "still": []} for token in range(first, end)]
    for token in range(end):
        other = text.clone()
        other[0, token] = spare if int(other[0, token]) != spare else spare + 1
        moved = _moves(_cached(subject, other, chunks), mine, band)
        wanted = _moves(_uncached(subject, other, first), right, band)
        for row, query in enumerate(told):
            if token == query["token"]:
                continue
            if wanted is not None and wanted[row]:
                query["matter"].append(token)
            if moved is not None:
                query["moved" if moved[row] else "still"].append(token)
    return told


def _moves(logits: Any, before: Any, band: float) -> list[bool] | None:
    """For each token, whether its logits are others; None: there are none."""
    if logits is None or logits.shape != before.shape:
        return None
    gaps = (logits - before).abs().nan_to_num(float("inf")).amax((0, 2))
    return [not gap <= band for gap in gaps.tolist()]


def _uncached(subject: Subject, text: Any, first: int) -> Any:
    """[1, R, V] logits of the tokens from `first` on, without a cache."""
    whole = subject.uncached(text)[0]
    n = text.shape[-1]
    if whole.shape[1] == n:
        return whole[:, first:]
    return torch.cat([subject.uncached(text[:, : t + 1])[0][:, -1:] for t in range(first, n)], 1)


def _cached(subject: Subject, text: Any, chunks: Sequence[int]) -> Any:
    """[1, R, V] logits of the last call, of all its tokens or the last; None: a call raised."""
    return list(subject.decode(text, chunks))[-1].logits


def ignores_order(
    subject: Subject, ids: Any, chunks: Sequence[int], call: int, band: float
) -> bool | None:
    """Whether two earlier tokens may change places: None where they may without a cache."""
    chunks = tuple(chunks[: call + 1])
    past, text = sum(chunks[:-1]), ids[:, : sum(chunks)]
    if past < 2:
        return None
    other = text.clone()
    other[0, 0], other[0, past - 1] = text[0, past - 1], text[0, 0]
    right = _moves(subject.uncached(other)[0][:, -1:], subject.uncached(text)[0][:, -1:], band)
    mine = _cached(subject, text, chunks)
    moved = None if mine is None else _moves(_cached(subject, other, chunks), mine, band)
    return None if moved is None or not right or not right[0] else not moved[-1]


def one_token_repeated(subject: Subject, ids: Any, band: float) -> dict[str, Any] | None:
    """Of a text of one token, read one by one: rows that differ in their position alone.

    "moves": whether without a cache its logits differ from place to place. "same": whether the
    cached ones are the same from the second call on; "first": and those of the first place.
    None: a call raised.
    """
    text = ids[:, :1].expand(1, min(N_REPEATED, ids.shape[-1])).clone()
    calls = list(subject.decode(text, (1,) * text.shape[-1]))
    if any(call.logits is None for call in calls):
        return None
    right = _uncached(subject, text, 0)
    mine = torch.cat([call.logits[:, -1:] for call in calls], 1)
    return {
        "moves": all(_moves(right[:, 1:], right[:, :1].expand_as(right[:, 1:]), band) or ()),
        "same": not any(_moves(mine[:, 2:], mine[:, 1:2].expand_as(mine[:, 2:]), band) or ()),
        "first": not any(_moves(mine[:, 1:], right[:, :1].expand_as(mine[:, 1:]), band) or ()),
    }


def hangs_on_split(subject: Subject, ids: Any, band: float) -> bool | None:
    """Whether a token after another one, many times over, hangs on how those were split into calls.

    Their rows hold the same numbers but for their position. None: a call raised.
    """
    n = min(N_REPEATED, ids.shape[-1] - 1)
    text = torch.cat([ids[:, :1].expand(1, n), ids[:, 1:2]], 1)
    mine, other = (_cached(subject, text, chunks) for chunks in ((n, 1), (1,) * (n + 1)))
    moved = None if mine is None or other is None else _moves(other[:, -1:], mine[:, -1:], band)
    return None if moved is None else moved[0]


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
