"""Whether an error of a cached logit is right, rounding or wrong."""

import sys
from dataclasses import dataclass

from core.contract.model.facts import About, Call
from core.contract.model.subject import Uncached
from core.tolerance import LOGITS_FACTOR, WRONG_FACTOR
from core.verdict import Standing

EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
SPREAD_FACTOR = 4.0


@dataclass(frozen=True, slots=True)
class Bands:
    """The two thresholds.

    Attributes:
        right: an error up to it is right: a multiple of the number type's spacing times the largest
            logit.
        wrong: an error above it is wrong: the larger of such a multiple and of four times what the
            model's own uncached forward gives for one token when it is run at different lengths.
        words: where the two come from.
    """

    right: float
    wrong: float
    words: str

    def standing(self, call: Call) -> Standing:
        """Of a call; one that raised, or gave numbers that are not finite, is wrong."""
        if call.raised is not None or call.error is None:
            return "wrong"
        if call.error <= self.right:
            return "right"
        return "wrong" if call.error > self.wrong else "rounding"


def bands_of(about: About, uncached: Uncached) -> Bands:
    """The thresholds for a model on a text."""
    dtype = about.dtype if about.dtype in EPS else "float32"
    # No floor at logits of 1, as runs of shipped models have: a model fresh from its constructor
    # may have logits of 0.1, and faults in proportion.
    unit = EPS[dtype] * max(uncached.largest, sys.float_info.min)
    right = LOGITS_FACTOR[dtype] * unit
    spread = min(uncached.spread, SPREAD_FACTOR * WRONG_FACTOR[dtype] * unit)
    wrong = max(right, WRONG_FACTOR[dtype] * unit, SPREAD_FACTOR * spread)
    words = (
        f"right up to {right:.2g}, wrong above {wrong:.2g} ({dtype}; largest logit "
        f"{uncached.largest:.3g}; forwards of two lengths differ by {uncached.spread:.2g})"
    )
    return Bands(right, wrong, words)
