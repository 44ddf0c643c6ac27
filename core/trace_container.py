"""A safetensors file with one text in its metadata and a checksum over both."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from core.errors import ForeignTraceError, TraceError
from core.whole_files import replacing

_TEXT_KEY = "kvscope"
CHECKSUM_KEY = "sha256"
_FROM_ELSEWHERE = (
    "is a trace from elsewhere, of token ids and logits: kvscope FILE shows it, kvscope validate "
    "tells what is in it, kvscope compare where it differs from another; all else needs a trace of "
    "kvscope run"
)
_DTYPES = ("BOOL", "I64", "F16", "F32", "F64")


class _View(Protocol):
    """One tensor of an open file, before it is read."""

    def get_dtype(self) -> str: ...


class _Opened(Protocol):
    """What is used of an open file; the library has no types of its own."""

    def metadata(self) -> dict[str, str] | None: ...

    def keys(self) -> list[str]: ...

    def get_slice(self, name: str) -> _View: ...

    def get_tensor(self, name: str) -> np.ndarray: ...


_save_file = cast(
    "Callable[[dict[str, np.ndarray], Path, dict[str, str]], None]",
    safetensors.numpy.save_file,  # pyright: ignore[reportUnknownMemberType]
)


def write_container(path: Path, text: str, columns: Mapping[str, np.ndarray]) -> None:
    """Write a file, which appears whole or not at all.

    Raises:
        TraceError: it cannot be written.
    """
    write_signed(path, _TEXT_KEY, text, columns)


def write_signed(path: Path, key: str, text: str, columns: Mapping[str, np.ndarray]) -> None:
    """Write a file with a text under `key`, and a checksum; see `write_container`."""
    metadata = {key: text, CHECKSUM_KEY: checksum_of(text, columns)}
    with replacing(path) as temporary:
        try:
            _save_file(dict(columns), temporary, metadata)
        except SafetensorError as error:
            raise TraceError(f"{path}: cannot be written ({_line(error)})") from error


def read_container(path: Path) -> tuple[str, dict[str, np.ndarray]]:
    """The text and the tensors, as they were written.

    Raises:
        TraceError: there is no such file, or it is another one, or not as it was written.
    """
    try:
        text, checksum, columns = _contents(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise TraceError(
            f"cannot be read as a trace: it is another kind of file, or damaged ({_line(error)}); "
            "give a .kvtrace that kvscope saved"
        ) from error
    if checksum != checksum_of(text, columns):
        raise TraceError("its checksum does not fit: it was changed or damaged; save it again")
    return text, columns


def _contents(path: Path) -> tuple[str, str | None, dict[str, np.ndarray]]:
    if path.is_dir():
        raise TraceError("is a folder; give a .kvtrace that was saved before")
    if not path.is_file():
        raise TraceError("there is no such file; give a .kvtrace that was saved before")
    with cast("AbstractContextManager[_Opened]", safe_open(path, framework="numpy")) as file:
        metadata = file.metadata() or {}
        if _TEXT_KEY not in metadata:
            if {"token_ids", "logits"} <= set(file.keys()):
                raise ForeignTraceError(_FROM_ELSEWHERE)
            raise TraceError("is a safetensors file but no trace; give a .kvtrace")
        columns: dict[str, np.ndarray] = {}
        for name in file.keys():  # noqa: SIM118 - it is no mapping
            dtype = file.get_slice(name).get_dtype()
            if dtype not in _DTYPES:
                raise TraceError(f"the tensor {name} holds {dtype}, which no trace has")
            columns[name] = file.get_tensor(name)
    return metadata[_TEXT_KEY], metadata.get(CHECKSUM_KEY), columns


def checksum_of(text: str, columns: Mapping[str, np.ndarray]) -> str:
    """What a file says of its text and tensors, to tell whether they are as they were written."""
    state = hashlib.sha256(text.encode("utf-8"))
    for name in sorted(columns):
        column = np.ascontiguousarray(columns[name])
        state.update(f"\n{name} {column.dtype.str} {column.shape}\n".encode())
        state.update(column.tobytes())
    return state.hexdigest()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
