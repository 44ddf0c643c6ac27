"""Which tensors a family has, and the shape of each. Imports no torch."""

from core.model.config import ModelConfig

_BIASES = ("attn_norm_bias", "qkv_bias", "out_bias", "mlp_norm_bias", "up_bias", "down_bias")


def model_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors outside the layers, by name."""
    shapes: dict[str, tuple[int, ...]] = {"embedding": (config.vocab_size, config.d_model)}
    if config.scheme == "learned":
        shapes["position_embedding"] = (config.n_ctx, config.d_model)
    shapes["final_norm_weight"] = (config.d_model,)
    if config.scheme == "learned":
        shapes["final_norm_bias"] = (config.d_model,)
    shapes["head"] = (config.d_model, config.vocab_size)
    return shapes


def layer_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors that each layer of the family has, by name."""
    absent: set[str] = set() if config.scheme == "learned" else set(_BIASES)
    if config.activation != "silu_gated":
        absent.add("gate_weight")
    shapes = possible_layer_shapes(config)
    return {name: shape for name, shape in shapes.items() if name not in absent}


def possible_layer_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The same with every bias and gate that a layer could have."""
    d_heads = config.n_heads * config.d_head
    d_qkv = d_heads + 2 * config.n_kv_heads * config.d_head
    return {
        "attn_norm_weight": (config.d_model,),
        "attn_norm_bias": (config.d_model,),
        "qkv_weight": (config.d_model, d_qkv),
        "qkv_bias": (d_qkv,),
        "out_weight": (d_heads, config.d_model),
        "out_bias": (config.d_model,),
        "mlp_norm_weight": (config.d_model,),
        "mlp_norm_bias": (config.d_model,),
        "gate_weight": (config.d_model, config.d_mlp),
        "up_weight": (config.d_model, config.d_mlp),
        "up_bias": (config.d_mlp,),
        "down_weight": (config.d_mlp, config.d_model),
        "down_bias": (config.d_model,),
    }
