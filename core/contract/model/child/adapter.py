"""What kvscope asks of a model: the base class of an adapter.

An adapter file does `from kvscope_check import ModelAdapter`, which is this class.
"""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from typing import Any


class ModelAdapter:
    """Shows a model to kvscope. `ids` is [B, T] of token ids."""

    def start(self, model: Any, n_sequences: int) -> Any:
        """What the first call of a text is given: an empty cache, or None."""
        del model, n_sequences
        return None

    def uncached(self, model: Any, ids: Any) -> Any:
        """Logits [B, T, V] (or of the last token, [B, 1, V]) of a text, without any cache."""
        raise NotImplementedError

    def cached(self, model: Any, ids: Any, state: Any, past: int) -> tuple[Any, Any]:
        """Logits of new tokens after `past` earlier ones, and the state for the next call."""
        raise NotImplementedError

    def words(self) -> str:
        """How the model is called, for the report."""
        return type(self).__name__
