"""Whose rows a layer gave back, and since when: found by comparing them with those it was given."""

from dataclasses import dataclass

import numpy as np

from core.arrays import ABSENT, FloatArray, IntArray, frozen
from core.record import Rows

BAND = 1e-3
"""Of a number, beside the largest that was given: what went through 16 bits is still known."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Rows that came back.

    Attributes:
        token: [m] token whose row each is; ABSENT: of none.
        version: [m] step in which these bytes were first read in the slot; ABSENT: never written.
        first_read: those whose version is this step, and new ones that did not come back.
    """

    token: IntArray
    version: IntArray
    first_read: Rows


class LayerWatch:
    """One layer: what it was given, and what was last read in each slot."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._given: dict[int, FloatArray] = {}
        self._read: dict[int, tuple[bytes, int]] = {}

    def give(self, tokens: IntArray, rows: FloatArray) -> None:
        """Rows [2, Hkv, n, D] of `tokens` are about to be handed over."""
        for place, token in enumerate(tokens.tolist()):
            self._given[token] = rows[:, :, place]

    def forget_from(self, token: int) -> None:
        """Tokens from here on are no part of the text any more."""
        self._given = {t: row for t, row in self._given.items() if t < token}

    def name(self, rows: FloatArray, claimed: IntArray) -> IntArray:
        """[m] whose row each of `rows` [2, Hkv, m, D] is; `claimed` [m] is tried first."""
        return frozen(
            np.array(
                [self._name(rows[:, :, place], t) for place, t in enumerate(claimed.tolist())],
                dtype=np.int64,
            )
        )

    def read(
        self, step: int, slots: IntArray, claimed: IntArray, rows: FloatArray, unread: Rows
    ) -> Found:
        """Rows [2, Hkv, m, D] came back from `slots`; `unread` were given, and did not."""
        versions = [
            self._version(step, slot, rows[:, :, place])
            for place, slot in enumerate(slots.tolist())
        ]
        version = frozen(np.array(versions, dtype=np.int64))
        is_new = version == step
        first = Rows(
            frozen(np.concatenate((slots[is_new], unread.row))),
            frozen(np.concatenate((rows[:, :, is_new], unread.kv), axis=2)),
        )
        return Found(self.name(rows, claimed), version, first)

    def _version(self, step: int, slot: int, row: FloatArray) -> int:
        known, bits = self._read.get(slot), row.tobytes()
        if known is not None and known[0] == bits:
            return known[1]
        if known is None and not row.any():
            return ABSENT
        self._read[slot] = bits, step
        return step

    def _name(self, row: FloatArray, claimed: int) -> int:
        for token in (claimed, *reversed(self._given)):
            if token in self._given and _is_same(row, self._given[token]):
                return token
        return ABSENT


def _is_same(row: FloatArray, given: FloatArray) -> bool:
    return bool(np.allclose(row, given, rtol=0.0, atol=BAND * float(np.abs(given).max())))
