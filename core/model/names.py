"""The models that are known by name. Imports no torch: the window lists them before it is there."""

from core.model.config import Activation, ModelConfig, Norm, Scheme

SHIPPED_NAMES = ("learned",)
N_BYTE_TOKENS = 256


def model_names() -> tuple[str, ...]:
    """Names that `load_model` takes beside folders: the trained ones first."""
    return (*SHIPPED_NAMES, *tiny_configs())


def tiny_configs() -> dict[str, ModelConfig]:
    """The random models that are made on demand, by name."""
    return {
        "tiny-learned": _tiny("tiny-learned", "learned", 4, "layer", "gelu_tanh"),
        "tiny-rope": _tiny("tiny-rope", "rope", 2, "rms", "silu_gated"),
        "tiny-alibi": _tiny("tiny-alibi", "alibi", 4, "layer", "gelu"),
    }


def _tiny(
    name: str, scheme: Scheme, n_kv_heads: int, norm: Norm, activation: Activation
) -> ModelConfig:
    return ModelConfig(
        name=name,
        scheme=scheme,
        n_layers=4,
        n_heads=4,
        n_kv_heads=n_kv_heads,
        d_head=8,
        d_model=32,
        d_mlp=128,
        vocab_size=N_BYTE_TOKENS,
        n_ctx=256,
        norm=norm,
        norm_eps=1e-5,
        activation=activation,
        rope_theta=10_000.0,
        eos_token_id=None,
    )
