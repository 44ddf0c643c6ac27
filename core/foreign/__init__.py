"""Traces from elsewhere: token ids and logits that another engine wrote, or that were recorded.

Reading order: `trace` (what such a trace holds), `file` (as a file), `example_writer` (how another
engine writes one), `checks` (whether it fits together, and what it tells), `compare`, `recorder`
(around a model of transformers). README: "Traces from elsewhere".
"""

from core.foreign.recorder import kvscope_recorder

__all__ = ["kvscope_recorder"]
