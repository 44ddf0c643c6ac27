"""The names under which things are met in other people's caches."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from typing import Any

ROLES = {
    "capacity": (
        "max_len", "maxlen", "max_length", "capacity", "cap", "max_seq_len", "max_seq_length",
        "max_cache_len", "max_tokens", "max_size", "maxsize", "n_ctx", "context_length", "size",
        "n_slots", "block_size", "max_sequence_length", "max_seqlen", "cache_size", "cache_len",
        "max_cache_size", "max_context", "window", "window_size", "window_length", "sliding_window",
    ),
    "sinks": (
        "sinks", "n_sinks", "num_sinks", "n_sink", "sink_size", "sink_tokens", "n_sink_tokens",
        "num_sink_tokens", "keep", "n_keep",
    ),
    "d_k": ("d_k", "dk", "key_dim", "k_dim", "d", "dim", "d_head", "head_dim", "head_size"),
    "d_v": ("d_v", "dv", "value_dim", "v_dim", "d", "dim", "d_head", "head_dim", "head_size"),
    "n_heads": ("n_heads", "heads", "num_heads", "n_head", "n_kv_heads", "num_kv_heads", "h"),
    "n_layers": ("n_layers", "layers", "num_layers", "n_layer", "num_hidden_layers"),
    "batch": ("batch", "batch_size", "max_batch_size", "n_batch", "bsz"),
    "dtype": ("dtype",),
}  # fmt: skip
"""What a constructor's argument means, by its name."""

WINDOWS = ("window", "window_size", "window_length", "sliding_window")
"""Names of a capacity that say that old rows leave."""

KEYS = ("k", "key", "keys", "key_states", "k_new", "new_k", "xk", "k_val", "k_rows")
VALUES = ("v", "value", "values", "value_states", "v_new", "new_v", "xv", "v_val", "v_rows")
LAYER = ("layer", "layer_idx", "layer_index", "layer_id", "layer_number")
POSITION = ("input_pos", "cache_position", "positions", "position_ids", "pos_ids")
START = ("start_pos", "start", "pos", "position", "offset")
"""What an argument of the method that adds rows means."""

ADDERS = ("append", "update_and_fetch", "update", "add", "push", "extend", "store", "write", "put")
READ_PAIRS = (("keys", "values"), ("get_keys", "get_values"), ("k", "v"))
READ_BOTH = ("read", "get", "fetch", "view", "get_kv", "kv")
KEPT_PAIRS = (
    ("keys", "values"), ("k", "v"), ("k_cache", "v_cache"), ("key_cache", "value_cache"),
    ("cache_k", "cache_v"), ("K", "V"), ("_k", "_v"), ("_keys", "_values"),
)  # fmt: skip
LENGTHS = (
    "n", "length", "len", "n_rows", "cur_len", "seq_len", "used", "count", "fill", "get_seq_length",
    "offset", "pos", "_n", "_length",
)  # fmt: skip
PLACES = ("get_seq_length", "offset", "pos")
"""Lengths that count, in a window, the tokens seen as often as the rows held."""

SEEN = ("seen", "seen_tokens", "_seen_tokens", "n_seen", "tokens_seen", "total")
RESETS = ("reset", "clear")
TRUNCATES = ("truncate", "crop")
TRIMS = ("trim", "rollback", "rewind")
"""Ways to truncate that are told how many rows go."""

REORDERS = ("reorder", "reorder_cache")
SAVES = (("snapshot", "restore"), ("save", "restore"), ("get_state", "set_state"))

COUNTING, TRUNCATING = "asking for its length", "truncating it"
"""What is tried of a class though rows can be added and read without it."""


def parameter_roles(name: str) -> list[str]:
    """The sizes that a constructor's argument of this name stands for; empty: none known."""
    return [role for role, names in ROLES.items() if name.lower() in names]


def first_of(thing: Any, names: tuple[str, ...]) -> str | None:
    """The first of these names that a thing has."""
    return next((name for name in names if hasattr(thing, name)), None)
