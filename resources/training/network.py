"""The GPT that is trained: parameters by the names of `Weights`, and the forward of `core`."""

import math

import torch
from torch import Tensor

from core.model.config import ModelConfig
from core.model.uncached import uncached_logits
from core.model.weights import weights_from_tensors

Parameters = dict[str, Tensor]


def first_parameters(config: ModelConfig, seed: int) -> Parameters:
    """Parameters to start from: weights scaled by the width they sum over, sinusoid positions."""
    generator = torch.Generator().manual_seed(seed)

    def normal(n_in: int, n_out: int, scale: float) -> Tensor:
        return torch.randn(n_in, n_out, generator=generator) * scale

    width, inner, n_heads_width = config.d_model, config.d_mlp, config.n_heads * config.d_head
    damped = 1.0 / math.sqrt(2 * config.n_layers)
    parameters: Parameters = {
        "embedding": normal(config.vocab_size, width, width**-0.5),
        "position_embedding": sinusoids(config.n_ctx, width) * (2 / width) ** 0.5,
        "final_norm_weight": torch.ones(width),
        "final_norm_bias": torch.zeros(width),
    }
    for number in range(config.n_layers):
        layer = {
            "attn_norm_weight": torch.ones(width),
            "attn_norm_bias": torch.zeros(width),
            "qkv_weight": normal(width, 3 * n_heads_width, width**-0.5),
            "qkv_bias": torch.zeros(3 * n_heads_width),
            "out_weight": normal(n_heads_width, width, n_heads_width**-0.5 * damped),
            "out_bias": torch.zeros(width),
            "mlp_norm_weight": torch.ones(width),
            "mlp_norm_bias": torch.zeros(width),
            "up_weight": normal(width, inner, width**-0.5),
            "up_bias": torch.zeros(inner),
            "down_weight": normal(inner, width, inner**-0.5 * damped),
            "down_bias": torch.zeros(width),
        }
        parameters |= {f"layers.{number}.{name}": tensor for name, tensor in layer.items()}
    return {name: tensor.requires_grad_() for name, tensor in parameters.items()}


def sinusoids(n_ctx: int, width: int) -> Tensor:
    """Sines and cosines of positions, [n_ctx, width], wavelengths from 2 pi up to 10,000 * 2 pi."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = torch.arange(n_ctx)[:, None] * rates[None, :]
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(n_ctx, width)


def forward(parameters: Parameters, config: ModelConfig, token_ids: Tensor) -> Tensor:
    """Logits [B, T, V] of token ids [B, T], causal, positions from 0."""
    return uncached_logits(weights_from_tensors(config, tied(parameters)), token_ids)


def tied(parameters: Parameters) -> Parameters:
    """The parameters with the head that they imply: the embedding, transposed."""
    return {**parameters, "head": parameters["embedding"].T}
