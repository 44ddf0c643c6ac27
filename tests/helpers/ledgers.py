"""Ledgers as a correct cache would have them, made by hand."""

import numpy as np

from core.arrays import as_ids
from core.engine.types import Ledger

FIELDS = (
    "capacity",
    "length",
    "seen",
    "origin",
    "slot",
    "token_index",
    "position_id",
    "token_id",
)


def ledger(
    capacity: int,
    slots: list[int],
    tokens: list[int],
    positions: list[int] | None = None,
    seen: int | None = None,
    origin: int = 0,
) -> Ledger:
    """A ledger with one entry per slot; token ids are 100 + token index."""
    return Ledger(
        capacity=capacity,
        length=len(slots),
        seen=max(tokens, default=-1) + 1 if seen is None else seen,
        origin=origin,
        slot=as_ids(slots),
        token_index=as_ids(tokens),
        position_id=as_ids(tokens if positions is None else positions),
        token_id=as_ids([100 + token for token in tokens]),
    )


def filled(capacity: int, n: int) -> Ledger:
    """A ledger that holds tokens 0 … n − 1 in slots 0 … n − 1."""
    return ledger(capacity, list(range(n)), list(range(n)), seen=n)


def content(of: Ledger) -> tuple[object, ...]:
    """All of a ledger in values that can be compared."""
    values = (getattr(of, name) for name in FIELDS)
    return tuple(v.tolist() if isinstance(v, np.ndarray) else v for v in values)
