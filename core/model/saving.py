"""A model into a folder of the common checkpoint layout, for every family."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType] - bare PathLike
from torch import Tensor

from core.errors import ModelError
from core.model.config import ModelConfig
from core.model.layout import Entry, Family, checkpoint_layout
from core.model.safetensors_files import INDEX_FILE, WEIGHTS_FILE
from core.model.tokenizer import Tokenizer
from core.model.weights import Weights

_FAMILIES: dict[str, Family] = {"learned": "gpt2", "rope": "llama", "alibi": "mpt"}


def save_model(folder: Path | str, weights: Weights, tokenizer_json_text: str) -> None:
    """Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json.

    All files are written beside the folder first: a new folder appears whole or not at all, in one
    that is there every file is replaced whole. The number type is that of the weights.

    Raises:
        ModelError: the family's layout has no place for such a model, the tokenizer has ids that
            the model does not know, or the folder cannot be written.
    """
    folder = Path(folder)
    config = weights.config
    _check_family(config)
    tokenizer = Tokenizer(tokenizer_json_text, config.eos_token_id)
    if tokenizer.vocab_size > config.vocab_size:
        raise ModelError(
            f"{folder}: the tokenizer has ids up to {tokenizer.vocab_size - 1}, but the model "
            f"knows {config.vocab_size} tokens; nothing was written"
        )
    texts = {
        "tokenizer.json": tokenizer_json_text,
        "tokenizer_config.json": _json(_tokenizer_settings(tokenizer)),
        "config.json": _json(_settings(weights)),
    }
    try:
        _write(folder, texts, _stored(weights))
    except OSError as error:
        raise ModelError(f"{folder}: cannot be written ({error})") from error


def _write(folder: Path, texts: dict[str, str], tensors: dict[str, Tensor]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, text in texts.items():
            (partial / name).write_text(text, encoding="utf-8")
        save_file(tensors, partial / WEIGHTS_FILE, metadata={"format": "pt"})
        # safetensors leaves a file that only its owner may read.
        (partial / WEIGHTS_FILE).chmod((partial / "config.json").stat().st_mode)
        if not folder.exists():
            partial.chmod(0o755)
            partial.rename(folder)
            return
        for name in (WEIGHTS_FILE, *texts):
            os.replace(partial / name, folder / name)
        (folder / INDEX_FILE).unlink(missing_ok=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _check_family(config: ModelConfig) -> None:
    """What GPT-2's and MPT's layouts leave no choice about, and what is left open by Llama's."""
    needs = {
        "learned": config.norm == "layer" and config.activation != "silu_gated",
        "rope": config.norm == "rms" and config.activation == "silu_gated",
        "alibi": config.norm == "layer" and config.activation == "gelu",
    }
    if not needs[config.scheme]:
        raise ModelError(
            f"{config.name}: no checkpoint layout has {config.scheme} positions with {config.norm} "
            f"norm and {config.activation}"
        )
    if config.scheme == "rope":
        return
    if config.n_kv_heads != config.n_heads or config.n_heads * config.d_head != config.d_model:
        raise ModelError(
            f"{config.name}: {config.n_heads} heads of {config.d_head} over {config.n_kv_heads} KV "
            f"heads at width {config.d_model}: only rope models may share heads, or have heads "
            "that do not add up to the width"
        )
    if config.scheme == "alibi" and config.d_mlp != 4 * config.d_model:
        raise ModelError(
            f"{config.name}: inner width {config.d_mlp}; alibi models have 4 x {config.d_model}"
        )


def _stored(weights: Weights) -> dict[str, Tensor]:
    """The tensors under the checkpoint's names; biases that it asks for and we lack are zero."""
    config = weights.config
    is_tied = _is_tied(weights)
    layout = checkpoint_layout(config, _FAMILIES[config.scheme], _biases(weights), is_tied=is_tied)
    ours = weights.tensors()
    stored: dict[str, Tensor] = {}
    for entry in layout.entries:
        if entry.name == "head" and is_tied:
            continue
        tensor = ours.get(entry.name)
        if tensor is None:
            stored |= _zeros(entry, weights.dtype)
        else:
            stored |= _parts(entry, tensor)
    return stored


def _parts(entry: Entry, tensor: Tensor) -> dict[str, Tensor]:
    """What the checkpoint keeps of one of our tensors, by its names."""
    tensor = tensor.detach().cpu()
    parts: dict[str, Tensor] = {}
    first = 0
    for name, shape in zip(entry.stored, entry.stored_shapes, strict=True):
        after = first + (shape[0] if entry.is_transposed else shape[-1])
        part = tensor[..., first:after]
        parts[name] = (part.T if entry.is_transposed else part).contiguous()
        first = after
    return parts


def _zeros(entry: Entry, dtype: torch.dtype) -> dict[str, Tensor]:
    return {
        name: torch.zeros(shape, dtype=dtype)
        for name, shape in zip(entry.stored, entry.stored_shapes, strict=True)
    }


def _is_tied(weights: Weights) -> bool:
    return torch.equal(weights.head, weights.embedding.T)


def _biases(weights: Weights) -> frozenset[str]:
    """Biases beyond the family's own: Llama's layout has them at both ends of attention or not."""
    has_bias = any(
        layer.qkv_bias is not None or layer.out_bias is not None for layer in weights.layers
    )
    is_rope = weights.config.scheme == "rope"
    return frozenset({"qkv_bias", "out_bias"} if has_bias and is_rope else ())


def _settings(weights: Weights) -> dict[str, object]:
    """config.json of the family."""
    config = weights.config
    common: dict[str, object] = {
        "vocab_size": config.vocab_size,
        "bos_token_id": config.eos_token_id,
        "eos_token_id": config.eos_token_id,
        "pad_token_id": None,
        "tie_word_embeddings": _is_tied(weights),
        "torch_dtype": str(weights.dtype).removeprefix("torch."),
    }
    if config.scheme == "learned":
        return _gpt2_settings(config) | common
    if config.scheme == "rope":
        return _llama_settings(config, has_bias=bool(_biases(weights))) | common
    return _mpt_settings(config) | common


def _gpt2_settings(config: ModelConfig) -> dict[str, object]:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "n_positions": config.n_ctx,
        "n_embd": config.d_model,
        "n_layer": config.n_layers,
        "n_head": config.n_heads,
        "n_inner": config.d_mlp,
        "activation_function": "gelu_new" if config.activation == "gelu_tanh" else "gelu",
        "layer_norm_epsilon": config.norm_eps,
    }


def _llama_settings(config: ModelConfig, *, has_bias: bool) -> dict[str, object]:
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "max_position_embeddings": config.n_ctx,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_mlp,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_kv_heads,
        "head_dim": config.d_head,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta,
        "attention_bias": has_bias,
        "mlp_bias": False,
    }


def _mpt_settings(config: ModelConfig) -> dict[str, object]:
    return {
        "model_type": "mpt",
        "architectures": ["MptForCausalLM"],
        "max_seq_len": config.n_ctx,
        "d_model": config.d_model,
        "n_layers": config.n_layers,
        "n_heads": config.n_heads,
        "expansion_ratio": 4,
        "layer_norm_epsilon": config.norm_eps,
        "no_bias": True,
        "attn_config": {"alibi": True, "alibi_bias_max": 8},
    }


def _tokenizer_settings(tokenizer: Tokenizer) -> dict[str, object]:
    """Tells other libraries to take tokenizer.json as it is, whatever the family."""
    settings: dict[str, object] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    eos = tokenizer.eos_token_id
    token = None if eos is None else tokenizer.token(eos)
    return settings if token is None else settings | {"eos_token": token}


def _json(settings: dict[str, object]) -> str:
    return json.dumps(settings, indent=2) + "\n"
