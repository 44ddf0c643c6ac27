"""The sizes of a model: vocabulary, context, heads, read from its configuration or its tables."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...child.names import ROLES
from . import names

CAPACITY = 64
QUERY_HEADS = ("n_head", "n_heads", "num_heads", "num_attention_heads", "heads", "nhead")
KEY_HEADS = ("num_key_value_heads", "n_kv_heads", "n_kv_head", "num_kv_heads", "n_head_kv")
WIDTHS = ("n_embd", "hidden_size", "d_model", "dim", "embed_dim", "emb_dim", "n_embed")
HEAD_SIZES = ("head_dim", "d_head", "head_size")


def context_of(model: Any) -> int | None:
    """The longest text that the model can read; None: not known."""
    return number_of(model, names.CONTEXTS)


def vocabulary_of(model: Any) -> int | None:
    """Token ids that the model knows: by its configuration, else the rows of its embedding."""
    found = number_of(model, names.VOCABULARIES)
    if found is not None:
        return found
    rows = [m.num_embeddings for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    if len(rows) < 2:
        return rows[0] if rows else None
    outputs = {m.out_features for m in model.modules() if isinstance(m, torch.nn.Linear)}
    return next((n for n in rows if n in outputs), rows[0])


def sizes_of(model: Any, n_sequences: int) -> dict[str, Any]:
    """What a constructor of a cache may ask for, by role."""
    heads = number_of(model, QUERY_HEADS)
    width = number_of(model, WIDTHS)
    head_size = number_of(model, HEAD_SIZES)
    if head_size is None and heads and width:
        head_size = width // heads
    parameter = next(iter(model.parameters()), None)
    return {
        "capacity": context_of(model) or CAPACITY,
        "n_layers": number_of(model, ROLES["n_layers"]),
        "n_heads": number_of(model, KEY_HEADS) or heads,
        "d_k": head_size,
        "d_v": head_size,
        "batch": n_sequences,
        "dtype": torch.float32 if parameter is None else parameter.dtype,
    }


def number_of(model: Any, wanted: tuple[str, ...]) -> int | None:
    """The first of these that is a whole number, in the configuration or on the model itself."""
    for owner in _owners(model):
        for name in wanted:
            found = owner.get(name) if isinstance(owner, dict) else getattr(owner, name, None)
            if isinstance(found, int) and not isinstance(found, bool) and found > 0:
                return found
    return None


def _owners(model: Any) -> Iterator[Any]:
    for name in names.CONFIGS:
        found = getattr(model, name, None)
        if found is not None:
            yield found
    yield model
