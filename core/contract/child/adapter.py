"""What kvscope asks of a cache: the base class of an adapter.

An adapter file does `from kvscope_check import CacheAdapter`, which is this class.
"""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import copy
from typing import Any

ASKED = (
    "append", "read", "length", "seen", "reset", "truncate", "reorder", "snapshot", "restore",
)  # fmt: skip
"""What an adapter may override."""


class CacheAdapter:
    """Shows a class to kvscope: override what the class can do, the rest is not asked.

    `make` and `append` are musts; where `read` is not overridden, what `append` gives back is read.
    An error that the class raises is let through: it counts as a refusal.

    Attributes:
        layout: the axes of k and v as the class takes them and gives them back: b batch, h heads,
            n rows, d head size; "nd" is one head.
        library: "numpy" or "torch".
        has_layers: one object holds several layers; else `layer` is always 0.
        has_sinks: the first tokens can be kept (`sinks` of `make`).
        has_dtype: the number type can be chosen (`dtype` of `make`, a name).
        is_window: when it is full it lets the oldest rows go (found out where it is False).
    """

    layout = "hnd"
    library = "numpy"
    has_layers = True
    has_sinks = False
    has_dtype = False
    is_window = False

    def make(self, cls: Any, **sizes: Any) -> Any:
        """A new, empty cache.

        `sizes` has capacity, n_layers, n_heads, d_k, d_v, sinks, batch and dtype (a name).
        """
        raise NotImplementedError

    def append(self, cache: Any, layer: int, k: Any, v: Any) -> Any:
        """Add rows; the keys and values that attention would read, or None."""
        raise NotImplementedError

    def read(self, cache: Any, layer: int) -> Any:
        """The keys and values that attention reads now."""
        raise NotImplementedError

    def length(self, cache: Any, layer: int) -> int:
        """How many rows can be read."""
        raise NotImplementedError

    def seen(self, cache: Any) -> int:
        """How many tokens of this text were read, those that left included."""
        raise NotImplementedError

    def reset(self, cache: Any) -> None:
        """Make it empty."""
        raise NotImplementedError

    def truncate(self, cache: Any, n: int) -> None:
        """Keep the first n tokens."""
        raise NotImplementedError

    def reorder(self, cache: Any, index: list[int]) -> None:
        """Row b of the batch becomes old row index[b]."""
        raise NotImplementedError

    def snapshot(self, cache: Any) -> Any:
        """A saved state."""
        raise NotImplementedError

    def restore(self, cache: Any, saved: Any) -> None:
        """Go back to a saved state."""
        raise NotImplementedError

    def offers(self) -> list[str]:
        """Names of the methods that were overridden."""
        own, base = type(self), CacheAdapter
        return [name for name in ASKED if getattr(own, name) is not getattr(base, name)]


def twin(cache: Any) -> Any:
    """A copy of the whole state, aliasing included."""
    return copy.deepcopy(cache)
