"""What a trace from elsewhere holds: the tokens of each call, and the logits that came of them."""

from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.contract.model.facts import About, Call
from core.contract.model.subject import Uncached
from core.contract.model.verdict import Bands, bands_of
from core.tolerance import largest_gap
from core.verdict import Standing


@dataclass(frozen=True, slots=True, eq=False)
class ForeignTrace:
    """Calls of a model that read N tokens in C calls. V: token ids that there are.

    Attributes:
        engine: who computed, in its own words; None: not told.
        dtype: number type in which it computed.
        token_ids: [N] the tokens read, call after call.
        n_tokens: [C] how many of them each call read.
        logits: [C, V] after the last token of each call.
        position_ids: [N] the number given to the position encoding, ABSENT where none was given;
            None: not told.
        cache_length: [C] what the cache said after the call, ABSENT where it said nothing; None:
            not told.
        reference: [C, V] the same model's logits without a cache; None: there are none.
        spread: how far apart the reference's logits of one token are when it reads texts of
            different length; None: not told.
        unjudged: why there is no reference; None: not told, or there is one.
    """

    engine: str | None
    dtype: str
    token_ids: IntArray
    n_tokens: IntArray
    logits: FloatArray
    position_ids: IntArray | None = None
    cache_length: IntArray | None = None
    reference: FloatArray | None = None
    spread: float | None = None
    unjudged: str | None = None

    @property
    def n_calls(self) -> int:
        """C."""
        return len(self.n_tokens)

    @property
    def ends(self) -> list[int]:
        """[C] tokens read once each call is over."""
        return np.cumsum(self.n_tokens).tolist()

    @property
    def bands(self) -> Bands | None:
        """The thresholds of a verdict; None: there is no reference."""
        if self.reference is None:
            return None
        finite = np.abs(self.reference[np.isfinite(self.reference)])
        about = About(self.engine or "", "", self.logits.shape[1], None, self.dtype, None)
        largest = float(finite.max(initial=0.0))
        return bands_of(about, Uncached(largest, self.spread or 0.0, 0.0, 0.0, None))

    @property
    def errors(self) -> list[float]:
        """[C] the largest error of each call's logits; empty: there is no reference."""
        if self.reference is None:
            return []
        pairs = zip(self.logits, self.reference, strict=True)
        return [largest_gap(mine.astype(np.float64), right) for mine, right in pairs]

    @property
    def standings(self) -> list[Standing]:
        """[C] right, rounding or wrong; empty: there is no reference."""
        bands = self.bands
        if bands is None:
            return []
        return [
            bands.standing(Call(end - n, n, error=error if np.isfinite(error) else None))
            for end, n, error in zip(self.ends, self.n_tokens.tolist(), self.errors, strict=True)
        ]
