"""The parts of a layer that have nothing to do with a cache: norms, projections, the MLP."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.config import ModelConfig
from core.model.weights import LayerWeights

Norm = Callable[[Tensor, Tensor, Tensor | None], Tensor]
Mlp = Callable[[Tensor, LayerWeights], Tensor]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x [T, in] @ weight [in, out] + bias [out]."""
    return x @ weight if bias is None else torch.addmm(bias, x, weight)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The norm and the MLP of a family, chosen once.

    Attributes:
        norm: x [T, d_model], weight, bias to [T, d_model].
        mlp: normed x [T, d_model], a layer's weights to [T, d_model].
    """

    norm: Norm
    mlp: Mlp


def blocks_for(config: ModelConfig) -> Blocks:
    """The blocks of a model with this configuration."""
    width, eps = (config.d_model,), config.norm_eps

    def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return torch.layer_norm(x, width, weight, bias, eps)

    def rms_norm(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return torch.rms_norm(x, width, weight, eps)

    norm = {"layer": layer_norm, "rms": rms_norm}[config.norm]
    mlp = {"gelu_tanh": _gelu_tanh, "gelu": _gelu, "silu_gated": _silu_gated}[config.activation]
    return Blocks(norm, mlp)


def _gelu_tanh(x: Tensor, w: LayerWeights) -> Tensor:
    inner = F.gelu(linear(x, w.up_weight, w.up_bias), approximate="tanh")
    return linear(inner, w.down_weight, w.down_bias)


def _gelu(x: Tensor, w: LayerWeights) -> Tensor:
    return linear(F.gelu(linear(x, w.up_weight, w.up_bias)), w.down_weight, w.down_bias)


def _silu_gated(x: Tensor, w: LayerWeights) -> Tensor:
    if w.gate_weight is None:
        raise AssertionError("a gated model has gate weights")  # the loader checks this
    inner = F.silu(x @ w.gate_weight) * linear(x, w.up_weight, w.up_bias)
    return linear(inner, w.down_weight, w.down_bias)
