"""The tensors of a checkpoint folder, whole or in shards. Nothing but safetensors is opened."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Protocol, cast

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.errors import ModelError
from core.model.settings import Settings

WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}


class _View(Protocol):
    """One tensor of an open file, before it is read."""

    def get_shape(self) -> list[int]: ...

    def get_dtype(self) -> str: ...


class _Opened(Protocol):
    """What is used of an open file; the library has no types of its own."""

    def keys(self) -> list[str]: ...

    def get_slice(self, name: str) -> _View: ...

    def get_tensor(self, name: str) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """What the header of a file says of one tensor."""

    file: Path
    name: str
    shape: tuple[int, ...]
    dtype_name: str


def stored_tensors(folder: Path) -> dict[str, StoredTensor]:
    """What the folder holds, by the checkpoint's names; only headers are read.

    Raises:
        ModelError: no weights, a damaged file, or a missing shard.
    """
    if (folder / WEIGHTS_FILE).is_file():
        return _header(folder / WEIGHTS_FILE)
    if not (folder / INDEX_FILE).is_file():
        raise ModelError(_without_weights(folder))
    shard_of = _weight_map(folder / INDEX_FILE)
    found: dict[str, StoredTensor] = {}
    for shard in sorted(set(shard_of.values())):
        if not (folder / shard).is_file():
            raise ModelError(f"{folder / shard}: not there, but {INDEX_FILE} names it; fetch it")
        found |= _header(folder / shard)
    for name, shard in shard_of.items():
        if name not in found:
            raise ModelError(f"{folder / shard}: has no {name}, but {INDEX_FILE} says so")
    return found


def read_tensors(stored: Mapping[str, StoredTensor]) -> dict[str, Tensor]:
    """The tensors themselves, copied out of the files, under the keys that were given.

    Raises:
        ModelError: a file is damaged or went away.
    """
    tensors: dict[str, Tensor] = {}
    for file in sorted({entry.file for entry in stored.values()}):
        try:
            with _opened(file) as opened:
                for key, entry in stored.items():
                    if entry.file == file:
                        # A copy: the file behind it may be replaced while the model is in use.
                        tensors[key] = opened.get_tensor(entry.name).clone()
        except (SafetensorError, OSError) as error:
            raise ModelError(_damaged(file, error)) from error
    return tensors


def common_dtype(stored: Iterable[StoredTensor]) -> torch.dtype:
    """The number type that holds every one of the tensors without rounding.

    Raises:
        ModelError: one of them holds no floating-point numbers of 16 bits or more.
    """
    dtypes: set[torch.dtype] = set()
    for entry in stored:
        if entry.dtype_name not in _DTYPES:
            raise ModelError(
                f"{entry.file}: {entry.name} is stored as {entry.dtype_name}; "
                f"only {', '.join(_DTYPES)} are read, so unpack quantised weights first"
            )
        dtypes.add(_DTYPES[entry.dtype_name])
    return reduce(torch.promote_types, dtypes)


def _opened(file: Path) -> AbstractContextManager[_Opened]:
    return cast("AbstractContextManager[_Opened]", safe_open(file, framework="pt", device="cpu"))


def _header(file: Path) -> dict[str, StoredTensor]:
    found: dict[str, StoredTensor] = {}
    try:
        with _opened(file) as opened:
            for name in opened.keys():  # noqa: SIM118 - it is no mapping
                view = opened.get_slice(name)
                found[name] = StoredTensor(file, name, tuple(view.get_shape()), view.get_dtype())
    except (SafetensorError, OSError) as error:
        raise ModelError(_damaged(file, error)) from error
    return found


def _weight_map(file: Path) -> dict[str, str]:
    """Which shard holds which tensor; shards lie beside the index."""
    shard_of = Settings.read(file).get("weight_map")
    if not isinstance(shard_of, dict) or not shard_of:
        raise ModelError(f"{file}: has no weight_map of tensor names to files; fetch it again")
    for name, shard in cast("dict[str, object]", shard_of).items():
        if not isinstance(shard, str) or not shard or Path(shard).name != shard:
            raise ModelError(f"{file}: {name} is said to be in {shard!r}, which is no file name")
    return cast("dict[str, str]", shard_of)


def _without_weights(folder: Path) -> str:
    pickled = sorted(file.name for file in folder.glob("*.bin"))
    if pickled:
        return (
            f"{folder}: holds {pickled[0]} but no {WEIGHTS_FILE}; pickled weights could run code "
            "and are never opened, so save the model as safetensors"
        )
    return f"{folder}: has no {WEIGHTS_FILE}; choose the folder that holds it"


def _damaged(file: Path, error: Exception) -> str:
    size = file.stat().st_size if file.is_file() else 0
    reason = " ".join(str(error).split())
    return f"{file}: {size} bytes, cannot be read as safetensors ({reason}); fetch it again"
