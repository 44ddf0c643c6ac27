"""The shape of a model, in numbers. Imports no torch: the window shows it before torch is there."""

from dataclasses import dataclass
from typing import Literal

from core.errors import ModelError

Scheme = Literal["learned", "rope", "alibi"]
Norm = Literal["layer", "rms"]
Activation = Literal["gelu_tanh", "gelu", "silu_gated"]


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What a model is made of; sizes are counts, `norm_eps` and `rope_theta` have no unit.

    Raises:
        ModelError: a size is below 1, the query heads are no multiple of the KV heads, a head that
            is rotated has an odd size, or the end-of-text id is outside the vocabulary.
    """

    name: str
    scheme: Scheme
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_model: int
    d_mlp: int
    vocab_size: int
    n_ctx: int
    norm: Norm
    norm_eps: float
    activation: Activation
    rope_theta: float
    eos_token_id: int | None

    def __post_init__(self) -> None:
        self._check_sizes()
        self._check_heads()
        if self.eos_token_id is not None and not 0 <= self.eos_token_id < self.vocab_size:
            raise ModelError(
                f"{self.name}: end-of-text id {self.eos_token_id} is outside the vocabulary of "
                f"{self.vocab_size} tokens; it must be 0 to {self.vocab_size - 1}, or absent"
            )

    def _check_sizes(self) -> None:
        sizes = {
            "n_layers": self.n_layers,
            "n_heads": self.n_heads,
            "n_kv_heads": self.n_kv_heads,
            "d_head": self.d_head,
            "d_model": self.d_model,
            "d_mlp": self.d_mlp,
            "vocab_size": self.vocab_size,
            "n_ctx": self.n_ctx,
        }
        for size_name, size in sizes.items():
            if size < 1:
                raise ModelError(f"{self.name}: {size_name} is {size}; it must be at least 1")
        if not self.norm_eps >= 0.0:
            raise ModelError(f"{self.name}: norm_eps is {self.norm_eps}; it must be 0 or more")

    def _check_heads(self) -> None:
        if self.n_heads % self.n_kv_heads:
            raise ModelError(
                f"{self.name}: {self.n_heads} query heads cannot share {self.n_kv_heads} KV heads; "
                "the first must be a multiple of the second"
            )
        if self.scheme == "rope" and self.d_head % 2:
            raise ModelError(
                f"{self.name}: head size {self.d_head} cannot be rotated in pairs; it must be even"
            )
        if self.scheme == "rope" and not self.rope_theta > 0.0:
            raise ModelError(f"{self.name}: rope_theta is {self.rope_theta}; it must be above 0")

    @property
    def n_rep(self) -> int:
        """Query heads that share one KV head."""
        return self.n_heads // self.n_kv_heads

    @property
    def position_limit(self) -> int | None:
        """Position ids there are: `n_ctx` where they are rows of a table, else None (no end)."""
        return self.n_ctx if self.scheme == "learned" else None
