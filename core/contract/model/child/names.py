"""The names under which things are met in other people's models."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

PASTS = (
    "past_key_values", "past_key_value", "past", "past_kv", "past_kvs", "past_keys_values",
    "layer_past", "layer_pasts", "kv_cache", "kv_caches", "cache", "caches", "kvs", "kv", "state",
    "kv_state", "cached_kv", "presents", "inference_params",
)  # fmt: skip
"""What a model is given that it returned before."""

RETURNED = (*PASTS, "present", "present_key_values", "new_cache", "new_past")
NUMBERS = (
    "start_pos",
    "start_position",
    "offset",
    "pos_offset",
    "past_len",
    "past_length",
    "start",
)
TENSORS = ("input_pos", "cache_position", "pos", "positions", "position", "position_ids")
"""How a model that keeps its own cache is told where the tokens go: a number, or one per token."""

MAKERS = (
    "make_cache", "new_cache", "init_cache", "empty_cache", "create_cache", "get_cache",
    "make_kv_cache", "new_kv_cache", "init_kv_cache", "create_kv_cache", "make_caches",
    "init_caches", "new_caches", "make_kv_caches", "init_kv_caches",
)  # fmt: skip
SETUPS = ("setup_caches", "setup_cache", "reset_cache", "reset_caches", "init_cache", "clear_cache")
"""Methods that make a model's own cache ready for a new text."""

CONTEXTS = (
    "n_ctx", "n_positions", "block_size", "max_position_embeddings", "max_seq_len",
    "max_seq_length", "context_length", "max_len", "seq_len", "max_length", "ctx_len",
)  # fmt: skip
VOCABULARIES = ("vocab_size", "n_vocab", "padded_vocab_size", "vocabulary_size", "vocab")
CONFIGS = ("config", "cfg", "args", "params", "hparams", "model_config")
