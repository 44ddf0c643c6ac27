"""Traces from elsewhere: token ids and logits that another engine wrote, or that were recorded.

Reading order: `trace` (what such a trace holds), `file` (as a file), `example_writer` (how another
engine writes one), `checks` (whether it fits together, and what it tells), `compare`, `recorder`
(around a model of transformers), `readouts` (what a window shows). README: "Traces from elsewhere".
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.foreign.recorder import kvscope_recorder

__all__ = ["kvscope_recorder"]


def __getattr__(name: str) -> object:
    """The recorder needs torch, which reading a trace does not: imported when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from core.foreign.recorder import kvscope_recorder

    return kvscope_recorder
