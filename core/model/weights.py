"""The numbers of a model: every matrix as [in, out], used as x @ W."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.model.config import ModelConfig
from core.model.shapes import layer_shapes, model_shapes

# Spread of x @ W for an x of spread 1 (embeddings: length of a row), found by measuring.
_GAINS = {
    "embedding": 5.0,
    "position_embedding": 3.0,
    "head": 5.0,
    "qkv_weight": 1.5,
    "out_weight": 1.5,
    "gate_weight": 1.5,
    "up_weight": 1.0,
    "down_weight": 1.5,
}


@dataclass(frozen=True, slots=True, eq=False)
class LayerWeights:
    """One layer. `qkv_weight` holds the query heads, then the key heads, then the value heads.

    Shapes (d model width, M inner width, Hq/Hkv heads, D head size): norms [d]; `qkv_weight`
    [d, (Hq + 2 Hkv) D]; `out_weight` [Hq D, d]; `gate_weight` and `up_weight` [d, M];
    `down_weight` [M, d]; biases [out]. None stands for what the family does not have.
    """

    attn_norm_weight: Tensor
    attn_norm_bias: Tensor | None
    qkv_weight: Tensor
    qkv_bias: Tensor | None
    out_weight: Tensor
    out_bias: Tensor | None
    mlp_norm_weight: Tensor
    mlp_norm_bias: Tensor | None
    gate_weight: Tensor | None
    up_weight: Tensor
    up_bias: Tensor | None
    down_weight: Tensor
    down_bias: Tensor | None


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A whole model: `embedding` [V, d], `position_embedding` [n_ctx, d], `head` [d, V].

    `head` is its own contiguous copy even where the family ties it to the embedding. All tensors
    have one number type and lie on one device.
    """

    config: ModelConfig
    embedding: Tensor
    position_embedding: Tensor | None
    layers: tuple[LayerWeights, ...]
    final_norm_weight: Tensor
    final_norm_bias: Tensor | None
    head: Tensor

    @property
    def dtype(self) -> torch.dtype:
        """Number type of every tensor."""
        return self.embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where every tensor lies."""
        return self.embedding.device

    def tensors(self) -> dict[str, Tensor]:
        """The tensors themselves by name ("head", "layers.0.qkv_weight"); absent ones left out."""
        named = {name: getattr(self, name) for name in _outside_names()}
        for number, layer in enumerate(self.layers):
            named |= {f"layers.{number}.{name}": getattr(layer, name) for name in _layer_names()}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """A float64 copy of every tensor, by the names of `tensors`."""
        return {
            name: np.array(tensor.detach().to("cpu", torch.float64).numpy())
            for name, tensor in self.tensors().items()
        }

    def to(self, dtype: torch.dtype, device: torch.device | str) -> "Weights":
        """The same model in another number type or on another device; no copy where none is due."""
        return self.map(lambda tensor: tensor.to(device=device, dtype=dtype))

    def map(self, change: Callable[[Tensor], Tensor]) -> "Weights":
        """The model whose every tensor is `change` of the one here."""
        changed = {name: change(tensor) for name, tensor in self.tensors().items()}
        return weights_from_tensors(self.config, changed)


def weights_from_tensors(config: ModelConfig, tensors: Mapping[str, Tensor]) -> Weights:
    """The inverse of `Weights.tensors`; names that are missing become None."""
    layers = tuple(
        LayerWeights(**{name: tensors.get(f"layers.{number}.{name}") for name in _layer_names()})  # pyright: ignore[reportArgumentType] - callers give what the family has
        for number in range(config.n_layers)
    )
    return Weights(
        config=config,
        embedding=tensors["embedding"],
        position_embedding=tensors.get("position_embedding"),
        layers=layers,
        final_norm_weight=tensors["final_norm_weight"],
        final_norm_bias=tensors.get("final_norm_bias"),
        head=tensors["head"],
    )


def _layer_names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(LayerWeights))


def _outside_names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(Weights) if field.name not in ("config", "layers"))


def random_weights(config: ModelConfig, seed: int) -> Weights:
    """A float32 model on the CPU whose logits spread by about 5 and whose attention is uneven.

    The same config and seed give the same bits on every machine (numpy's PCG64). The scales are
    chosen so that a wrong row, mask or position changes the logits by far more than rounding, and
    so that the text does not fall into repeating one token: the final norm's weights have both
    signs, which keeps the head, tied to the embedding, from echoing the token just read.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    tensors: dict[str, Tensor] = {}
    for name, shape in model_shapes(config).items():
        tensors[name] = _drawn(generator, name, shape)
    for number in range(config.n_layers):
        for name, shape in layer_shapes(config).items():
            tensors[f"layers.{number}.{name}"] = _drawn(generator, name, shape)
    if config.scheme != "rope":
        tensors["head"] = tensors["embedding"].T.contiguous()
    return weights_from_tensors(config, tensors)


def _drawn(generator: np.random.Generator, name: str, shape: tuple[int, ...]) -> Tensor:
    """Normal numbers; the scale of a matrix is relative to the square root of its width."""
    drawn = generator.standard_normal(shape)
    if name == "final_norm_weight":
        values = np.sign(drawn) * (1.0 + 0.1 * np.abs(drawn))
    elif name.endswith("norm_weight"):
        values = 1.0 + 0.1 * drawn
    elif name.endswith("bias"):
        values = 0.1 * drawn
    elif name in ("embedding", "position_embedding"):
        values = _GAINS[name] * drawn / np.sqrt(shape[1])
    else:
        values = _GAINS[name] * drawn / np.sqrt(shape[0])
    return torch.as_tensor(values.astype(np.float32))
