"""What was seen of a cached call, in terms of tokens: whose rows were read, at which positions.

A row is recognised by its numbers: as the row that the uncached forward computes for a token, or,
in layer 0, where a row depends on nothing but its token and its position, as that of a token at
some position.
"""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from .subject import Call, Subject
from .watch import Attention, Seen

CLOSE = 0.03
"""Of the largest number: 8 bits are off by less, another token's row by much more."""

TOLERANCE = {torch.float64: 1e-6, torch.float32: 2e-4, torch.float16: 2e-2, torch.bfloat16: 6e-2}


class Known:
    """The uncached forward of a text, observed.

    Attributes:
        attentions: one per softmax over keys, in their order.
        tables: name -> rows looked up for the text, of tables that positions are looked up in.
    """

    def __init__(self, subject: Subject, ids: Any) -> None:
        """Run it on the text, and on each token repeated, to know layer 0 at every position."""
        self.ids = ids
        n = ids.shape[-1]
        _, seen = subject.uncached(ids, watch=True)
        self.attentions = [one for one in seen.attentions if one.visible.shape[0] == n]
        self.tables = _positions(seen, n, ids[0].tolist())
        self._repeated = _repeated(subject, ids, min(2 * n, subject.context or 2 * n))

    def told(self, call: Call) -> dict[str, Any]:
        """What was seen of a call."""
        seen = call.seen
        if seen is None:
            return {"tables": {}, "attentions": []}
        unfolded = [_unfolded(one, call.n, self.attentions) for one in seen.attentions]
        attentions = [one for one in unfolded if one.visible.shape[0] == call.n]
        fits = len(attentions) == len(self.attentions)
        return {
            "tables": self._tables(seen),
            "attentions": [
                self._attention(at, one, call) for at, one in enumerate(attentions) if fits
            ],
        }

    def _tables(self, seen: Seen) -> dict[str, list[list[int]]]:
        """Positions of each look-up, by name of the table: rows less the row of position 0."""
        return {
            name: [[row - first for row in rows] for rows in seen.tables.get(name, [])]
            for name, first in self.tables.items()
        }

    def _attention(self, at: int, one: Attention, call: Call) -> dict[str, Any]:
        known = self.attentions[at]
        one = replace(
            one,
            keys=_with_heads_of(one.keys, known.keys),
            values=_with_heads_of(one.values, known.values),
        )
        n, past = call.n, call.past
        rows = slice(past, past + n)
        layer = at if one.layer is None else one.layer
        told: dict[str, Any] = {
            "layer": layer,
            "columns": one.visible.shape[1],
            "visible": [row.nonzero().flatten().tolist() for row in one.visible],
            "expected": [row.nonzero().flatten().tolist() for row in known.visible[rows]],
            "weights": [[round(w, 4) for w in row] for row in one.weights.tolist()],
            "flag": one.flag,
            "keys": whose(one.keys, known.keys),
            "values": whose(one.values, known.values),
            "key_heads": by_head(one.keys, known.keys),
            "value_heads": by_head(one.values, known.values),
            "other_layer": self._of_other_layer(at, one),
            "narrowed": _is_narrowed(one, known),
            "output_off": is_off(one.output, known.output, rows),
            "queries_off": is_off(one.queries, known.queries, rows),
            "new_keys_off": _new_off(one.keys, known.keys, rows),
            "queries_turned": _is_turned(one.queries, known.queries, rows),
        }
        if at == 0 and self._repeated is not None:
            told["query_positions"] = self._query_positions(one, call)
            told["key_places"] = self._key_places(one)
        return told

    def _of_other_layer(self, at: int, one: Attention) -> list[Any]:
        """For each column: the layer whose value it is, where it is not this one's."""
        if one.values is None:
            return []
        own = whose(one.values, self.attentions[at].values) or []
        found: list[Any] = [None] * len(own)
        for other, known in enumerate(self.attentions):
            if other == at:
                continue
            for column, tokens in enumerate(whose(one.values, known.values) or []):
                if isinstance(tokens, list) and tokens and own[column] == []:
                    found[column] = other
        return found

    def _query_positions(self, one: Attention, call: Call) -> list[Any]:
        """For each new token: positions at which its query would be this one."""
        known = self._repeated
        if known is None or one.queries is None:
            return []
        return [_matches(one.queries[:, i], known.queries[call.past + i]) for i in range(call.n)]

    def _key_places(self, one: Attention) -> list[Any]:
        """For each column: [token, position] pairs whose key this is; "zero": all zeros."""
        known = self._repeated
        if known is None or one.keys is None:
            return []
        places: list[Any] = []
        for column in range(one.keys.shape[1]):
            row = one.keys[:, column]
            if not row.any():
                places.append("zero")
                continue
            places.append(
                [[t, m] for t in range(len(known.keys)) for m in _matches(row, known.keys[t])]
            )
        return places


def _unfolded(one: Attention, n: int, known: list[Attention]) -> Attention:
    """Heads that share keys, back from the axis of tokens, where some libraries lay them."""
    n_rows = one.visible.shape[0]
    queries = next((right.queries for right in known if right.queries is not None), None)
    if n_rows == n or n_rows % n or queries is None or one.queries is None:
        return one
    n_groups = n_rows // n
    if len(one.queries) * n_groups != len(queries):
        return one

    def apart(rows: Any) -> Any:
        return None if rows is None else rows.reshape(len(queries), n, rows.shape[-1])

    columns = one.visible.shape[1]
    return replace(
        one,
        queries=apart(one.queries),
        output=apart(one.output),
        visible=one.visible.reshape(n_groups, n, columns).any(0),
        weights=one.weights.reshape(n_groups, n, columns).mean(0),
    )


def _with_heads_of(rows: Any, known: Any) -> Any:
    """Keys or values, with as many heads as the known ones: shared heads repeated, or once each.

    None: the two cannot be laid side by side.
    """
    if rows is None or known is None or len(rows) == len(known):
        return rows
    if len(known) % len(rows) == 0:
        return rows.repeat_interleave(len(known) // len(rows), 0)
    if len(rows) % len(known):
        return None
    n_each = len(rows) // len(known)
    once = rows[::n_each]
    return once if bool((once.repeat_interleave(n_each, 0) == rows).all()) else None


class Repeated:
    """Layer 0 of each token of a text at every position: [token, H, M, D] queries and keys."""

    def __init__(self, queries: Any, keys: Any) -> None:
        self.queries, self.keys = queries, keys


def _repeated(subject: Subject, ids: Any, n_positions: int) -> Repeated | None:
    queries, keys = [], []
    for token in ids[0].tolist():
        text = torch.full((1, n_positions), token, dtype=torch.long)
        try:
            _, seen = subject.uncached(text, watch=True)
        except Exception:  # noqa: BLE001  (a text that long may not be allowed; then none is known)
            return None
        first = next((one for one in seen.attentions if len(one.visible) == n_positions), None)
        if first is None or first.queries is None or first.keys is None:
            return None
        queries.append(first.queries)
        keys.append(first.keys[:, :n_positions])
    return Repeated(torch.stack(queries), torch.stack(keys))


def _positions(seen: Seen, n: int, ids: list[int]) -> dict[str, int]:
    """name -> row of position 0, of the tables in which each token looks up the next row."""
    return {
        name: rows[0][0]
        for name, rows in seen.tables.items()
        if all(one == list(range(rows[0][0], rows[0][0] + n)) != ids for one in rows)
    }


def whose(rows: Any, known: Any) -> list[Any] | None:
    """For each row: the tokens whose row it is; "zero": all zeros. None: not to be compared."""
    if rows is None or known is None or rows.shape[0] != known.shape[0]:
        return None
    return [
        "zero" if not rows[:, j].any() else _matches(rows[:, j], known)
        for j in range(rows.shape[1])
    ]


def by_head(rows: Any, known: Any) -> list[Any] | None:
    """The same for each head alone, where there are several."""
    if rows is None or known is None or rows.shape[0] != known.shape[0] or len(rows) < 2:
        return None
    return [whose(rows[h : h + 1], known[h : h + 1]) for h in range(len(rows))]


def _matches(row: Any, known: Any) -> list[int]:
    """[H, D] among [H, M, D]: the indices that are equal but for rounding."""
    gaps = (known - row[:, None]).abs().amax((0, 2))
    tolerance = TOLERANCE.get(known.dtype, 1e-3) * float(known.abs().max())
    return (gaps <= tolerance).nonzero().flatten().tolist()


def is_off(mine: Any, known: Any, rows: slice) -> bool | None:
    """Whether rows of new tokens differ from the uncached ones; None: not to be compared."""
    if mine is None or known is None:
        return None
    right = known[:, rows]
    if right.shape != mine.shape:
        return None
    tolerance = TOLERANCE.get(known.dtype, 1e-3) * float(known.abs().max())
    return not bool(((mine - right).abs() <= tolerance).all())


def _is_narrowed(one: Attention, known: Attention) -> bool:
    """Whether every row read is close to the right one, and not equal to it."""
    pairs = ((one.keys, known.keys), (one.values, known.values))
    if any(mine is None or right is None or len(mine) != len(right) for mine, right in pairs):
        return False
    n = min(one.keys.shape[1], known.keys.shape[1])
    gaps = [
        float((mine[:, :n] - right[:, :n]).abs().max() / right.abs().max()) for mine, right in pairs
    ]
    return max(gaps) <= CLOSE and any(
        gap > TOLERANCE.get(right.dtype, 1e-3) for gap, (_, right) in zip(gaps, pairs, strict=True)
    )


def _new_off(keys: Any, known: Any, rows: slice) -> bool | None:
    n = rows.stop - rows.start
    return None if keys is None else is_off(keys[:, -n:], known, rows)


def _is_turned(mine: Any, known: Any, rows: slice) -> bool | None:
    """Whether rows differ in direction and not in length."""
    if not is_off(mine, known, rows):
        return False
    lengths, right = mine.norm(dim=-1), known[:, rows].norm(dim=-1)
    return bool(((lengths - right).abs() <= 1e-3 * right.max()).all())
