"""config.json of a checkpoint, to and from a `ModelConfig`. Imports no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from core.errors import ModelError
from core.model.config import Activation, ModelConfig
from core.model.layout import Family
from core.model.settings import Settings

_GELUS: dict[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
}


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """A model as its config.json describes it, and how its tensors are named and laid out.

    `biases` are layer biases beyond the family's own; `is_tied`: the head is the embedding.
    """

    model: ModelConfig
    family: Family
    biases: frozenset[str]
    is_tied: bool


def read_config(folder: Path) -> CheckpointConfig:
    """What the folder's config.json says.

    Raises:
        ModelError: it is missing, broken, of another family, or asks for what is not supported.
    """
    settings = Settings.read(folder / "config.json")
    model_type = settings.text("model_type")
    if model_type not in _READERS:
        raise ModelError(
            f"{settings.file}: model_type {model_type!r} is not supported; "
            f"{', '.join(_READERS)} are"
        )
    if settings.get("quantization_config") is not None:
        raise ModelError(f"{settings.file}: quantised weights are not supported; unpack them first")
    return _READERS[model_type](settings)


def _read_gpt2(settings: Settings) -> CheckpointConfig:
    settings.require(
        {
            "scale_attn_weights": (True,),
            "scale_attn_by_inverse_layer_idx": (False,),
            "add_cross_attention": (False,),
            "activation_function": tuple(_GELUS),
        }
    )
    n_heads, d_model = settings.size("n_head"), settings.size("n_embd")
    vocab_size = settings.size("vocab_size")
    model = ModelConfig(
        name=_name(settings),
        scheme="learned",
        n_layers=settings.size("n_layer"),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_head=_d_head(settings, d_model, n_heads),
        d_model=d_model,
        d_mlp=settings.size("n_inner", 4 * d_model),
        vocab_size=vocab_size,
        n_ctx=settings.size("n_positions"),
        norm="layer",
        norm_eps=settings.number("layer_norm_epsilon", 1e-5),
        activation=_GELUS[settings.text("activation_function", "gelu_new")],
        rope_theta=10_000.0,
        eos_token_id=_eos(settings, vocab_size),
    )
    is_tied = settings.flag("tie_word_embeddings", default=True)
    return CheckpointConfig(model, "gpt2", frozenset(), is_tied)


def _read_llama(settings: Settings) -> CheckpointConfig:
    settings.require({"mlp_bias": (False,), "sliding_window": ()})
    has_bias = settings.flag("attention_bias", default=False)
    return _llama_like(settings, frozenset({"qkv_bias", "out_bias"} if has_bias else ()))


def _read_mistral(settings: Settings) -> CheckpointConfig:
    settings.require({"sliding_window": ()})
    return _llama_like(settings, frozenset())


def _read_qwen2(settings: Settings) -> CheckpointConfig:
    settings.require({"use_sliding_window": (False,)})
    return _llama_like(settings, frozenset({"qkv_bias"}))


def _llama_like(settings: Settings, biases: frozenset[str]) -> CheckpointConfig:
    settings.require({"hidden_act": ("silu",), "partial_rotary_factor": (1.0,)})
    n_heads, d_model = settings.size("num_attention_heads"), settings.size("hidden_size")
    vocab_size = settings.size("vocab_size")
    has_head_dim = settings.get("head_dim") is not None
    model = ModelConfig(
        name=_name(settings),
        scheme="rope",
        n_layers=settings.size("num_hidden_layers"),
        n_heads=n_heads,
        n_kv_heads=settings.size("num_key_value_heads", n_heads),
        d_head=settings.size("head_dim") if has_head_dim else _d_head(settings, d_model, n_heads),
        d_model=d_model,
        d_mlp=settings.size("intermediate_size"),
        vocab_size=vocab_size,
        n_ctx=settings.size("max_position_embeddings"),
        norm="rms",
        norm_eps=settings.number("rms_norm_eps", 1e-6),
        activation="silu_gated",
        rope_theta=_rope_theta(settings),
        eos_token_id=_eos(settings, vocab_size),
    )
    is_tied = settings.flag("tie_word_embeddings", default=False)
    return CheckpointConfig(model, "llama", biases, is_tied)


def _read_mpt(settings: Settings) -> CheckpointConfig:
    settings.require(
        {"no_bias": (True,), "logit_scale": (), "norm_type": _LAYER_NORMS, "act_fn": ("gelu",)}
    )
    settings.nested("attn_config").require(
        {
            "alibi": (True,),
            "alibi_bias_max": (8,),
            "attn_type": ("multihead_attention",),
            "clip_qkv": (),
            "prefix_lm": (False,),
            "qk_ln": (False,),
            "softmax_scale": (),
        }
    )
    n_heads, d_model = settings.size("n_heads"), settings.size("d_model")
    vocab_size = settings.size("vocab_size")
    model = ModelConfig(
        name=_name(settings),
        scheme="alibi",
        n_layers=settings.size("n_layers"),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_head=_d_head(settings, d_model, n_heads),
        d_model=d_model,
        d_mlp=settings.size("expansion_ratio", 4) * d_model,
        vocab_size=vocab_size,
        n_ctx=settings.size("max_seq_len"),
        norm="layer",
        norm_eps=settings.number("layer_norm_epsilon", 1e-5),
        activation="gelu",
        rope_theta=10_000.0,
        eos_token_id=_eos(settings, vocab_size),
    )
    is_tied = settings.flag("tie_word_embeddings", default=True)
    return CheckpointConfig(model, "mpt", frozenset(), is_tied)


_LAYER_NORMS = ("low_precision_layernorm", "layernorm")
_READERS: dict[str, Callable[[Settings], CheckpointConfig]] = {
    "gpt2": _read_gpt2,
    "llama": _read_llama,
    "mistral": _read_mistral,
    "mpt": _read_mpt,
    "qwen2": _read_qwen2,
}


def _name(settings: Settings) -> str:
    return settings.file.parent.resolve().name


def _d_head(settings: Settings, d_model: int, n_heads: int) -> int:
    if d_model % n_heads:
        raise ModelError(
            f"{settings.file}: width {d_model} cannot be divided among {n_heads} heads; "
            "the first must be a multiple of the second"
        )
    return d_model // n_heads


def _rope_theta(settings: Settings) -> float:
    """The base of the angles, which newer files keep in an object of their own.

    Raises:
        ModelError: the angles are scaled.
    """
    for key in ("rope_parameters", "rope_scaling"):
        nested = settings.nested(key)
        nested.require({"rope_type": ("default",), "type": ("default",)})
        nested.require({"partial_rotary_factor": (1.0,)})
        if nested.get("rope_theta") is not None:
            return nested.number("rope_theta", 10_000.0)
    return settings.number("rope_theta", 10_000.0)


def _eos(settings: Settings, vocab_size: int) -> int | None:
    """The id that ends a text: the first of several; None for one that can never be said."""
    value = settings.get("eos_token_id")
    if isinstance(value, list) and value:
        value = cast("list[object]", value)[0]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < vocab_size:
        return None
    return value
