"""Models by name or from a checkpoint folder (config.json, model.safetensors, tokenizer.json)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.errors import ModelError
from core.model.checkpoint_config import read_config
from core.model.config import ModelConfig
from core.model.layout import HEAD_NAME, Entry, Layout, checkpoint_layout
from core.model.names import SHIPPED_NAMES, model_names, tiny_configs
from core.model.safetensors_files import StoredTensor, common_dtype, read_tensors, stored_tensors
from core.model.saving import save_model
from core.model.tokenizer import Tokenizer, byte_tokenizer_json
from core.model.weights import Weights, random_weights, weights_from_tensors
from resources import resource_path

__all__ = ["LoadedModel", "load_folder", "load_model", "model_names", "save_model"]

_TINY_SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model ready to run: on the CPU, in the number type that its file has.

    `path` is the folder it came from, None for a random one that is made on demand.
    """

    config: ModelConfig
    weights: Weights
    tokenizer: Tokenizer
    path: Path | None


def load_model(name_or_path: str) -> LoadedModel:
    """The model of a known name, or of a folder. A known name wins; `./name` is the folder.

    Raises:
        ModelError: there is no such name or folder, or the folder cannot be used.
    """
    tiny = tiny_configs()
    if name_or_path in tiny:
        config = tiny[name_or_path]
        tokenizer = Tokenizer(byte_tokenizer_json(), config.eos_token_id)
        return LoadedModel(config, random_weights(config, _TINY_SEED), tokenizer, None)
    if name_or_path in SHIPPED_NAMES:
        return load_folder(Path(resource_path("models", name_or_path)))
    if not _is_folder(name_or_path):
        raise ModelError(
            f"model {name_or_path!r} is neither a known name nor a folder; "
            f"known names: {', '.join(model_names())}"
        )
    return load_folder(Path(name_or_path).expanduser())


def load_folder(folder: Path) -> LoadedModel:
    """The model of a checkpoint folder; nothing in it is ever run.

    Raises:
        ModelError: a file is missing or damaged, of a kind that is not supported, or does not fit
            the others; one line that names the file, what was found and what was expected.
    """
    checkpoint = read_config(folder)
    config = checkpoint.model
    tokenizer = _read_tokenizer(folder, config)
    stored = stored_tensors(folder)
    if config.n_layers > len(stored):
        raise ModelError(
            f"{folder}: config.json says {config.n_layers} layers, but the weights hold only "
            f"{len(stored)} tensors; fetch the files again"
        )
    layout = checkpoint_layout(
        config, checkpoint.family, checkpoint.biases, is_tied=checkpoint.is_tied
    )
    wanted = _wanted(folder, layout, stored)
    dtype = common_dtype(wanted.values())
    read = read_tensors(wanted)
    tensors = {entry.name: _assembled(entry, read).to(dtype) for entry in layout.entries}
    return LoadedModel(config, weights_from_tensors(config, tensors), tokenizer, folder)


def _is_folder(path: str) -> bool:
    """Whether a folder can be there at all: a path may be too long, or of an unknown home."""
    try:
        return path != "" and Path(path).expanduser().is_dir()
    except (OSError, RuntimeError, ValueError):
        return False


def _read_tokenizer(folder: Path, config: ModelConfig) -> Tokenizer:
    """The folder's tokenizer, which may leave ids of the model unused but not exceed them."""
    file = folder / "tokenizer.json"
    try:
        json_text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ModelError(
            f"{folder}: has no tokenizer.json; save the tokenizer beside the model"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: cannot be read ({error}); save it again") from error
    try:
        tokenizer = Tokenizer(json_text, config.eos_token_id)
    except ModelError as error:
        raise ModelError(f"{folder}: {error}") from error
    if tokenizer.vocab_size > config.vocab_size:
        raise ModelError(
            f"{file}: has token ids up to {tokenizer.vocab_size - 1}, but the model knows "
            f"{config.vocab_size} tokens; use the tokenizer that the model was trained with"
        )
    return tokenizer


def _wanted(
    folder: Path, layout: Layout, stored: Mapping[str, StoredTensor]
) -> dict[str, StoredTensor]:
    """The stored tensors that the layout names, all there and of the right shape.

    Raises:
        ModelError: one is missing, has another shape, or is one that the family does not have.
    """
    has_prefix = any(name.startswith(layout.prefix) for name in stored)
    known: dict[str, StoredTensor] = {}
    for name, entry in stored.items():
        is_bare = not has_prefix and name != HEAD_NAME
        known[layout.prefix + name if is_bare else name] = entry
    wanted: dict[str, StoredTensor] = {}
    for entry in layout.entries:
        for name, shape in zip(entry.stored, entry.stored_shapes, strict=True):
            if name not in known:
                raise ModelError(
                    f"{folder}: has no tensor {name} (expected {_shown(shape)}); config.json asks "
                    "for it, so give the weights that belong to it"
                )
            found = known[name]
            if found.shape != shape:
                raise ModelError(
                    f"{found.file}: {found.name} is {_shown(found.shape)}, but config.json makes "
                    f"it {_shown(shape)}"
                )
            wanted[name] = found
    for name in sorted(known.keys() - wanted.keys()):
        if not layout.passed_over.search(name):
            raise ModelError(
                f"{known[name].file}: holds {known[name].name}, which a model of this config does "
                "not have; the model may be of another family"
            )
    return wanted


def _assembled(entry: Entry, read: Mapping[str, Tensor]) -> Tensor:
    """One of our tensors, contiguous, out of the parts that the checkpoint keeps."""
    parts = [read[name].T if entry.is_transposed else read[name] for name in entry.stored]
    return (parts[0] if len(parts) == 1 else torch.cat(parts, -1)).contiguous()


def _shown(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(str(size) for size in shape) + "]"
