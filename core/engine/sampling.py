"""How the next token is chosen: greedy or sampled, the same for the same (seed, step)."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Sampling(Protocol):
    """A way to choose."""

    def choose(self, logits: Tensor, step: int) -> int:
        """The token id chosen from `logits` [V] in this step."""
        ...


@dataclass(frozen=True, slots=True)
class Greedy:
    """The largest logit; the lowest id among equals."""

    def choose(self, logits: Tensor, step: int) -> int:
        """The token id of the largest logit (of a NaN, where there is one, as argmax has it)."""
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

    def choose(self, logits: Tensor, step: int) -> int:
        """A token id drawn from the distribution that is left after both cuts."""
        scaled = logits.to("cpu", torch.float64) / self.temperature
        if not bool(torch.isfinite(scaled).all()):
            return int(logits.argmax())
        probabilities, order = torch.softmax(scaled, 0).sort(descending=True, stable=True)
        n_kept = len(order) if self.top_k is None else min(self.top_k, len(order))
        if self.top_p is not None:
            before = probabilities.cumsum(0) - probabilities
            n_kept = min(n_kept, max(1, int((before < self.top_p).sum())))
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + step) % 2**63)
        drawn = torch.multinomial(probabilities[:n_kept], 1, generator=generator)
        return int(order[drawn])
