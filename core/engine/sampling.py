"""How the next token is chosen: greedy or sampled, the same for the same (seed, step)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.arrays import FloatArray


class Sampling(Protocol):
    """A way to choose."""

    def choose(self, logits: FloatArray, step: int) -> int:
        """The token id chosen from `logits` [V] in this step."""
        ...


@dataclass(frozen=True, slots=True)
class Greedy:
    """The largest logit; the lowest id among equals."""

    def choose(self, logits: FloatArray, step: int) -> int:
        """The token id of the largest logit (of the first NaN, where there is one)."""
        return int(logits.argmax())


@dataclass(frozen=True, slots=True)
class Sampled:
    """Softmax at a temperature among the `top_k` best and within the share `top_p`.

    The generator starts anew from (seed, step), so that a step can be repeated alone.
    """

    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int

    def choose(self, logits: FloatArray, step: int) -> int:
        """A token id drawn from the distribution that is left after both cuts.

        Logits that are not finite give no distribution: then the choice is greedy.
        """
        if not np.isfinite(logits).all():
            return int(logits.argmax())
        order = np.argsort(-logits.astype(np.float64), kind="stable")
        below_best = logits[order].astype(np.float64) - float(logits[order[0]])
        with np.errstate(over="ignore"):  # near a temperature of 0 all but the best go to exp(-inf)
            weights = np.exp(below_best / self.temperature)
        shares: FloatArray = weights / weights.sum()
        n_kept = len(order) if self.top_k is None else min(self.top_k, len(order))
        if self.top_p is not None:
            before = np.cumsum(shares) - shares
            n_kept = min(n_kept, max(1, int(np.count_nonzero(before < self.top_p))))
        cumulated = np.cumsum(shares)[:n_kept]
        drawn = np.random.Generator(np.random.PCG64([self.seed, step])).random()
        place = int(np.count_nonzero(cumulated <= drawn * cumulated[-1]))
        return int(order[min(place, n_kept - 1)])
