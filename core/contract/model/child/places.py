"""Where a model puts its tokens, by the rows that it keeps: no look inside its code is needed.

A row of a first layer hangs on nothing but its token and its position. So a prefill of one token,
many times over, shows the row of that token at every place of a text; a row that is met later is
found among them.
"""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .kept import rows_along, token_axis
from .subject import Call, Subject

CLOSE = 2e-4
"""Of the largest number: two ways to compute a row of 32 bits differ by less."""


def kept_places(subject: Subject, ids: Any, chunks: Sequence[int]) -> list[dict[str, Any]]:
    """Of each call: what the rows that it kept tell.

    "positions": for each new token, the place in a first call at which its row would be this one
    (None: nobody's); None for all where the call keeps no rows that can be told. "tokens": the
    token of each row, where all are known; else None.
    """
    calls = list(subject.decode(ids, tuple(chunks), keep=True))
    (whole,) = subject.decode(ids, (ids.shape[-1],), keep=True)
    arrays = _known(subject, ids, calls, whole)
    return [_of_call(call, arrays) for call in calls if call.logits is not None]


class _Known:
    """One array: its axis of tokens, and [token, place, numbers] of the text's tokens."""

    def __init__(self, path: str, axis: int, rows: Any) -> None:
        self.path, self.axis, self.rows = path, axis, rows

    def whose(self, array: Any, n_tokens: int) -> list[list[tuple[int, int]]]:
        """For each row: the (token, place) pairs that it could be, of the first tokens."""
        mine = rows_along(array, self.axis)
        near = CLOSE * float(self.rows.abs().max())
        found: list[list[tuple[int, int]]] = []
        for row in mine:
            gaps = (self.rows[:n_tokens] - row).abs().amax(-1)
            found.append([(int(t), int(m)) for t, m in (gaps <= near).nonzero()])
        return found


def _known(subject: Subject, ids: Any, calls: Sequence[Call], whole: Call) -> list[_Known]:
    """The arrays in which a first call with the whole text puts each token at its own place.

    Those of later layers, whose rows hang on the tokens before them, are none of these.
    """
    axes = _axes(calls)
    by_token = _repeated(subject, ids, axes)
    found: list[_Known] = []
    for path, axis in axes.items():
        rows = [kept[path] for kept in by_token if path in kept]
        if not rows or len(rows) < len(by_token):
            continue
        known = _Known(path, axis, torch.stack(rows))
        if _is_told_apart(known, whole):
            found.append(known)
    return found


def _axes(calls: Sequence[Call]) -> dict[str, int]:
    """path -> axis of tokens, of the arrays in which each call puts its rows."""
    if len(calls) < 2 or calls[0].kept is None or calls[1].kept is None:
        return {}
    found: dict[str, int] = {}
    for path, after in calls[1].kept.items():
        before = calls[0].kept.get(path)
        if before is None:
            continue
        axis = token_axis(before, after, calls[1].n, calls[1].past + calls[1].n)
        if axis is not None:
            found[path] = axis
    return found


def _repeated(subject: Subject, ids: Any, axes: dict[str, int]) -> list[dict[str, Any]]:
    """Of each token: path -> [place, numbers], from a first call with nothing but that token."""
    if not axes:
        return []
    n = ids.shape[-1]
    n_places = min(2 * n, subject.context or 2 * n)
    found: list[dict[str, Any]] = []
    for token in ids[0].tolist():
        text = torch.full((1, n_places), token, dtype=torch.long)
        (call,) = subject.decode(text, (n_places,), keep=True)
        kept = call.kept or {}
        found.append(
            {
                path: rows_along(kept[path], axis)[:n_places]
                for path, axis in axes.items()
                if path in kept and kept[path].ndim > axis and kept[path].shape[axis] >= n_places
            }
        )
    return found


def _is_told_apart(known: _Known, whole: Call) -> bool:
    """Whether a first call has a row for each token that is its own at its place."""
    array = (whole.kept or {}).get(known.path)
    if array is None or rows_along(array, known.axis).shape[1] != known.rows.shape[-1]:
        return False
    rows = known.whose(array, whole.n)
    return all(
        any((token, token) in row for row in rows) for token in range(whole.n)
    ) and not _is_same_everywhere(known.rows)


def _is_same_everywhere(rows: Any) -> bool:
    """Whether two tokens have the same row: nothing can be told apart, then."""
    near = CLOSE * float(rows.abs().max())
    first = rows[:, 0]
    gaps = (first[:, None] - first[None]).abs().amax(-1)
    return bool(((gaps <= near).sum(1) > 1).all())


def _of_call(call: Call, arrays: Sequence[_Known]) -> dict[str, Any]:
    end = call.past + call.n
    told: list[tuple[list[Any], list[Any] | None]] = []
    for known in arrays:
        array = (call.kept or {}).get(known.path)
        if array is None or rows_along(array, known.axis).shape[1] != known.rows.shape[-1]:
            continue
        rows = known.whose(array, end)
        told.append((_positions(rows, call.past, end), _tokens(rows, end)))
    right = list(range(call.past, end))
    orders = [tokens for _, tokens in told if tokens is not None]
    return {
        "positions": next((ids for ids, _ in told if ids != right), right) if told else None,
        "tokens": orders[0] if orders and all(one == orders[0] for one in orders) else None,
    }


def _positions(rows: list[list[tuple[int, int]]], past: int, end: int) -> list[int | None]:
    """The place of each new token: its own where a row allows it."""
    found: list[int | None] = []
    for token in range(past, end):
        places = [m for row in rows for t, m in row if t == token]
        found.append(token if token in places else min(places, default=None))
    return found


def _tokens(rows: list[list[tuple[int, int]]], end: int) -> list[int] | None:
    """The token of each row, where there is one row for each token."""
    names = [sorted({t for t, _ in row}) for row in rows[:end]]
    if len(rows) < end or any(len(one) != 1 for one in names):
        return None
    tokens = [one[0] for one in names]
    return tokens if sorted(tokens) == list(range(end)) else None
