"""How a family's checkpoint names and lays out the tensors that `Weights` holds.

One table serves reading and writing. Imports no torch.
"""

import re
from dataclasses import dataclass
from typing import Literal

from core.model.config import ModelConfig
from core.model.shapes import layer_shapes, model_shapes, possible_layer_shapes

Family = Literal["gpt2", "llama", "mpt"]
HEAD_NAME = "lm_head.weight"


@dataclass(frozen=True, slots=True)
class Entry:
    """One of our tensors and where a checkpoint keeps it.

    `stored` are the checkpoint's names, more than one where it keeps the columns apart;
    `stored_shapes` their shapes there; `is_transposed` says that matrices lie there as [out, in].
    """

    name: str
    stored: tuple[str, ...]
    stored_shapes: tuple[tuple[int, ...], ...]
    is_transposed: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """All entries of a checkpoint, the prefix that its names may lack, and names to pass over."""

    entries: tuple[Entry, ...]
    prefix: str
    passed_over: re.Pattern[str]


def checkpoint_layout(
    config: ModelConfig, family: Family, biases: frozenset[str], *, is_tied: bool
) -> Layout:
    """Where a checkpoint of `family` keeps each tensor of a model.

    Args:
        config: the model.
        family: whose names are used.
        biases: names of layer biases beyond those of the family ("qkv_bias").
        is_tied: the head is the embedding, which then stands in for it.
    """
    names = _FAMILIES[family]
    entries = [
        _model_entry(config, names, name, shape, is_tied=is_tied)
        for name, shape in model_shapes(config).items()
    ]
    wanted = layer_shapes(config).keys() | biases
    shapes = {name: s for name, s in possible_layer_shapes(config).items() if name in wanted}
    entries += [
        _layer_entry(config, names, number, name, shape)
        for number in range(config.n_layers)
        for name, shape in shapes.items()
    ]
    return Layout(tuple(entries), names.prefix, names.passed_over)


@dataclass(frozen=True, slots=True)
class _Names:
    """A family's names: those outside the layers, those inside, and what is passed over."""

    prefix: str
    layers: str
    outside: dict[str, str]
    inside: dict[str, str]
    has_split_qkv: bool
    has_transposed_matrices: bool
    passed_over: re.Pattern[str]


_FAMILIES: dict[Family, _Names] = {
    "gpt2": _Names(
        prefix="transformer.",
        layers="h",
        outside={"embedding": "wte", "position_embedding": "wpe", "final_norm": "ln_f"},
        inside={
            "attn_norm": "ln_1",
            "qkv": "attn.c_attn",
            "out": "attn.c_proj",
            "mlp_norm": "ln_2",
            "up": "mlp.c_fc",
            "down": "mlp.c_proj",
        },
        has_split_qkv=False,
        has_transposed_matrices=False,
        # Masks that older files carry along; the head of a tied model.
        passed_over=re.compile(r"(^|\.)attn\.(bias|masked_bias)$|^lm_head\.weight$"),
    ),
    "llama": _Names(
        prefix="model.",
        layers="layers",
        outside={"embedding": "embed_tokens", "final_norm": "norm"},
        inside={
            "attn_norm": "input_layernorm",
            "qkv": "self_attn.{part}_proj",
            "out": "self_attn.o_proj",
            "mlp_norm": "post_attention_layernorm",
            "gate": "mlp.gate_proj",
            "up": "mlp.up_proj",
            "down": "mlp.down_proj",
        },
        has_split_qkv=True,
        has_transposed_matrices=True,
        # Frequencies that older files carry along; the head of a tied model.
        passed_over=re.compile(r"rotary_emb\.inv_freq$|^lm_head\.weight$"),
    ),
    "mpt": _Names(
        prefix="transformer.",
        layers="blocks",
        outside={"embedding": "wte", "final_norm": "norm_f"},
        inside={
            "attn_norm": "norm_1",
            "qkv": "attn.Wqkv",
            "out": "attn.out_proj",
            "mlp_norm": "norm_2",
            "up": "ffn.up_proj",
            "down": "ffn.down_proj",
        },
        has_split_qkv=False,
        has_transposed_matrices=True,
        passed_over=re.compile(r"^lm_head\.weight$"),
    ),
}


def _model_entry(
    config: ModelConfig, names: _Names, name: str, shape: tuple[int, ...], *, is_tied: bool
) -> Entry:
    """A tensor outside the layers. The head lies as [V, d] in every family."""
    if name == "head":
        embedding = f"{names.prefix}{names.outside['embedding']}.weight"
        stored = embedding if is_tied else HEAD_NAME
        stored_shape = (config.vocab_size, config.d_model)
        return Entry(name, (stored,), (stored_shape,), is_transposed=True)
    if name.startswith("final_norm"):
        stored = f"{names.outside['final_norm']}.{name.rpartition('_')[2]}"
    else:
        stored = f"{names.outside[name]}.weight"
    return Entry(name, (names.prefix + stored,), (shape,), is_transposed=False)


def _layer_entry(
    config: ModelConfig, names: _Names, number: int, name: str, shape: tuple[int, ...]
) -> Entry:
    """A tensor of a layer: a matrix, its bias, or a part of a norm."""
    module, _, kind = name.rpartition("_")
    path = f"{names.prefix}{names.layers}.{number}.{names.inside[module]}.{kind}"
    is_transposed = names.has_transposed_matrices and len(shape) == 2
    if module == "qkv" and names.has_split_qkv:
        d_q, d_kv = config.n_heads * config.d_head, config.n_kv_heads * config.d_head
        stored = tuple(path.format(part=part) for part in "qkv")
        shapes = tuple((*shape[:-1], d_out) for d_out in (d_q, d_kv, d_kv))
    else:
        stored, shapes = (path,), (shape,)
    if is_transposed:
        shapes = tuple(stored_shape[::-1] for stored_shape in shapes)
    return Entry(f"layers.{number}.{name}", stored, shapes, is_transposed)
