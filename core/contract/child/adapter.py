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
    "blocks", "fork",
)  # fmt: skip
"""What an adapter may override."""

FIXED = ("n_layers", "n_heads", "d_k", "d_v")
SPELLED = {
    "append": "adapter().append(cache, {layer}, {k}, {v})",
    "read": "adapter().read(cache, {layer})",
    "length": "adapter().length(cache, {layer})",
    "seen": "adapter().seen(cache)",
    "reset": "adapter().reset(cache)",
    "truncate": "adapter().truncate(cache, {n})",
    "reorder": "adapter().reorder(cache, {index})",
    "snapshot": "saved = adapter().snapshot(cache)",
    "restore": "adapter().restore(cache, saved)",
    "blocks": "adapter().blocks(cache)",
    "fork": "other = adapter().fork(cache)",
    "other": "cache, other = other, cache",
}


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
        n_layers, n_heads, d_k, d_v: sizes that a class has whatever `make` is told, such as 8 heads
            of d_k = d_v = 64; None: it takes any.
        block_size: rows of a block, where rows lie in blocks of a pool (see `blocks`).
    """

    layout = "hnd"
    library = "numpy"
    has_layers = True
    has_sinks = False
    has_dtype = False
    is_window = False
    n_layers: int | None = None
    n_heads: int | None = None
    d_k: int | None = None
    d_v: int | None = None
    block_size: int | None = None

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

    def reorder(self, cache: Any, index: Any) -> None:
        """Row b of the batch becomes old row index[b]; a tensor where the library is torch."""
        raise NotImplementedError

    def snapshot(self, cache: Any) -> Any:
        """A saved state."""
        raise NotImplementedError

    def restore(self, cache: Any, saved: Any) -> None:
        """Go back to a saved state."""
        raise NotImplementedError

    def blocks(self, cache: Any) -> tuple[Any, Any]:
        """Ids of the free blocks of the pool, and a list with those of each text that it holds."""
        raise NotImplementedError

    def fork(self, cache: Any) -> Any:
        """Another text in the same pool that begins as this one: what `append` and `read` take."""
        raise NotImplementedError

    def fixed(self) -> dict[str, int]:
        """Sizes that the class has whatever it is told."""
        without = {"n_layers": not self.has_layers, "n_heads": "h" not in self.layout}
        found = {name: getattr(self, name) for name in FIXED if not without.get(name)}
        return {name: number for name, number in found.items() if number is not None}

    def spelling(self) -> dict[str, str]:
        """Each call as Python, for a test that has this adapter too."""
        own = self.offers()
        return {name: words if name in (*own, "other") else "" for name, words in SPELLED.items()}

    def offers(self) -> list[str]:
        """Names of the methods that were overridden."""
        own, base = type(self), CacheAdapter
        return [name for name in ASKED if getattr(own, name) is not getattr(base, name)]


def twin(cache: Any) -> Any:
    """A copy of the whole state, aliasing included."""
    return copy.deepcopy(cache)
