"""What the reference is asked about: tokens, their positions, and who may read whom."""

from dataclasses import dataclass

from core.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class LooseRows:
    """Cache rows that hold no token, left by a cache call without a model pass.

    Nothing keeps them from being read: every query from `first_reader` on reads them, unrotated
    and with an ALiBi bias of 0.

    Attributes:
        keys: [L, Hkv, n, D] as they were handed to the cache.
        values: [L, Hkv, n, D] likewise.
        first_reader: row of the passage from which on queries read them.
    """

    keys: FloatArray
    values: FloatArray
    first_reader: int


@dataclass(frozen=True, slots=True)
class Passage:
    """One text for one forward pass. Its rows are tokens; N is how many there are.

    Attributes:
        token_ids: [N] the tokens.
        position_ids: [N] of each token as a query, and as a stored key.
        key_position_ids: [N, N] query x key: the position that each query gives each key, where
            positions are re-assigned; None: the key's own position id. Not looked at where
            `readable` is false, save in the scores of a detailed run.
        readable: [N, N] whether token i (first axis) reads token j. Nothing else is assumed:
            neither causality nor that a token reads itself.
        loose: rows without a token, in the order in which they were written.
    """

    token_ids: IntArray
    position_ids: IntArray
    key_position_ids: IntArray | None
    readable: BoolArray
    loose: tuple[LooseRows, ...] = ()
