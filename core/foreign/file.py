"""A trace from elsewhere as a file: safetensors, with one JSON in its metadata.

Tensors `token_ids` [N] and `logits` [C, V] are musts; `n_tokens` [C], `position_ids` [N],
`cache_length` [C] and `reference` [C, V] are read where they are there. The JSON stands under
`kvscope_foreign` and may be left out:

    {"schema": 1, "engine": text, "dtype": "float32" ..., "spread": number, "unjudged": text}

A file of one of our own runs has its JSON under `kvscope`, so that neither is taken for the other.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypedDict, cast

import numpy as np
import safetensors
from safetensors import SafetensorError, safe_open

from core.arrays import FloatArray, IntArray, frozen
from core.errors import TraceError
from core.foreign.trace import ForeignTrace
from core.trace_container import CHECKSUM_KEY, checksum_of, write_signed

SCHEMA = 1
KEY = "kvscope_foreign"
OWN_KEY = "kvscope"
OPTIONAL = ("n_tokens", "position_ids", "cache_length", "reference")
TENSORS = ("token_ids", "logits", *OPTIONAL)
NAMES = ("schema", "engine", "dtype", "spread", "unjudged")
_UNREADABLE = "cannot be read as a trace: it is another kind of file, or damaged"
_INTEGERS = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "U32": "<u4", "U16": "<u2", "U8": "u1"}
_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class _Stored(TypedDict):
    """One tensor, as the library hands it out."""

    dtype: str
    shape: Sequence[int]
    data: bytes


class _Opened(Protocol):
    """What is used of an open file; the library has no types of its own."""

    def metadata(self) -> dict[str, str] | None: ...


_deserialize = cast(
    "Callable[[bytes], list[tuple[str, _Stored]]]",
    safetensors.deserialize,  # pyright: ignore[reportUnknownMemberType]
)


@dataclass(frozen=True, slots=True, eq=False)
class ForeignFile:
    """A file that was read.

    Attributes:
        trace: what it holds; its parts need not fit together (`core.foreign.checks`).
        has: the tensors read.
        unread: tensors and names of the JSON that mean nothing here.
    """

    trace: ForeignTrace
    has: tuple[str, ...]
    unread: tuple[str, ...]


def shown(text: str) -> str:
    """A text of a file in one line, fit for a terminal."""
    return f"{text if text.isprintable() else ascii(text):.80}"


def is_own(path: Path) -> bool:
    """Whether a file is of one of our own runs; else it may be a trace from elsewhere.

    Raises:
        TraceError: it cannot be read at all.
    """
    return OWN_KEY in _metadata(path)


def read_foreign(path: Path) -> ForeignFile:
    """Read a file; whether its parts fit together is not asked.

    Raises:
        TraceError: it is no such trace, or it is damaged; one line that says what is wrong.
    """
    metadata = _metadata(path)
    try:
        if OWN_KEY in metadata:
            raise TraceError("is a trace of a run of kvscope itself, not one from elsewhere")  # noqa: TRY301
        return _read(metadata, _stored(path))
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


def write_foreign(path: Path, trace: ForeignTrace) -> None:
    """Write a trace to a file, which appears whole or not at all.

    Raises:
        TraceError: it cannot be written.
    """
    found = {name: getattr(trace, name) for name in TENSORS}
    columns = {name: np.ascontiguousarray(x) for name, x in found.items() if x is not None}
    told = {"schema": SCHEMA, **{name: getattr(trace, name) for name in NAMES[1:]}}
    said = {name: value for name, value in told.items() if value is not None}
    write_signed(path, KEY, json.dumps(said, allow_nan=False), columns)


def _metadata(path: Path) -> dict[str, str]:
    if path.is_dir():
        raise TraceError(f"{path}: is a folder; give a .kvtrace")
    if not path.is_file():
        raise TraceError(f"{path}: there is no such file; give a .kvtrace")
    try:
        with cast("AbstractContextManager[_Opened]", safe_open(path, framework="numpy")) as file:
            return file.metadata() or {}
    except (SafetensorError, OSError, ValueError) as error:
        raise TraceError(f"{path}: {_UNREADABLE} ({_line(error)}); give a .kvtrace") from error


def _stored(path: Path) -> dict[str, _Stored]:
    try:
        return dict(_deserialize(path.read_bytes()))
    except (SafetensorError, OSError, ValueError) as error:
        raise TraceError(f"{_UNREADABLE} ({_line(error)}); give a .kvtrace") from error


def _read(metadata: Mapping[str, str], stored: Mapping[str, _Stored]) -> ForeignFile:
    for name in ("token_ids", "logits"):
        if name not in stored:
            there = ", ".join(map(shown, sorted(stored)[:6])) or "none"
            raise TraceError(
                f"has no tensor {name} (tensors: {there}); a trace needs token_ids [N] and "
                "logits [calls, vocabulary]"
            )
    told = _told(metadata)
    logits = _floats(stored, "logits")
    token_ids = _integers(stored, "token_ids")
    columns = {name: _optional(stored, name) for name in OPTIONAL[:3]}
    if columns["n_tokens"] is None:
        columns["n_tokens"] = _one_by_one(len(token_ids), len(logits))
    reference = _floats(stored, "reference") if "reference" in stored else None
    dtype = _text(told, "dtype") or _dtype_of(stored["logits"]["dtype"])
    trace = ForeignTrace(
        engine=_text(told, "engine"),
        dtype=dtype,
        token_ids=token_ids,
        n_tokens=columns["n_tokens"],
        logits=logits,
        position_ids=columns["position_ids"],
        cache_length=columns["cache_length"],
        reference=None if reference is None else frozen(reference.astype(np.float64)),
        spread=_spread(told),
        unjudged=_text(told, "unjudged"),
    )
    if CHECKSUM_KEY in metadata and KEY in metadata:
        _check_sum(metadata, stored)
    has = tuple(name for name in TENSORS if name in stored)
    unread = (*(n for n in stored if n not in TENSORS), *(n for n in told if n not in NAMES))
    return ForeignFile(trace, has, unread)


def _one_by_one(n: int, n_calls: int) -> IntArray:
    """What is taken where it is not told: the last calls read one token each, the first the rest.

    The first one's number is below 1 where there are more calls than tokens.
    """
    counts = np.ones(n_calls, np.int64)
    counts[:1] = n - n_calls + 1
    return frozen(counts)


def _told(metadata: Mapping[str, str]) -> dict[str, object]:
    if KEY not in metadata:
        return {}
    try:
        value: object = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as error:
        raise TraceError(f"its {KEY} is no JSON ({error})") from error
    if not isinstance(value, dict):
        raise TraceError(f"its {KEY} is {value!r:.40}, not an object")
    told = cast("dict[str, object]", value)
    schema = told.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise TraceError(f"its schema is {schema!r:.40}; this version of kvscope reads {SCHEMA}")
    return told


def _text(told: Mapping[str, object], name: str) -> str | None:
    value = told.get(name)
    if value is not None and not isinstance(value, str):
        raise TraceError(f"its {name} is {value!r:.40}, not a text")
    return value


def _spread(told: Mapping[str, object]) -> float | None:
    value = told.get("spread")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < np.inf:
        raise TraceError(f"its spread is {value!r:.40}, not a number from 0 on")
    return float(value)


def _optional(stored: Mapping[str, _Stored], name: str) -> IntArray | None:
    return _integers(stored, name) if name in stored else None


def _integers(stored: Mapping[str, _Stored], name: str) -> IntArray:
    array = _array(stored[name], name, _INTEGERS, ("one axis", 1))
    return frozen(array.astype(np.int64))


def _floats(stored: Mapping[str, _Stored], name: str) -> FloatArray:
    array = _array(stored[name], name, _FLOATS, ("two axes [calls, vocabulary]", 2))
    if stored[name]["dtype"] == "BF16":
        return frozen((array.astype(np.uint32) << 16).view(np.float32))
    return frozen(array)


def _array(one: _Stored, name: str, dtypes: Mapping[str, str], axes: tuple[str, int]) -> np.ndarray:
    words, n_axes = axes
    if one["dtype"] not in dtypes:
        raise TraceError(f"the tensor {name} holds {one['dtype']}; give {', '.join(dtypes)}")
    if len(one["shape"]) != n_axes:
        raise TraceError(f"the tensor {name} has the shape {list(one['shape'])}; give {words}")
    return np.frombuffer(one["data"], dtypes[one["dtype"]]).reshape(one["shape"])


def _dtype_of(stored: str) -> str:
    return {"F64": "float64", "F16": "float16", "BF16": "bfloat16"}.get(stored, "float32")


def _check_sum(metadata: Mapping[str, str], stored: Mapping[str, _Stored]) -> None:
    """A file that names a checksum was written here: its tensors are of types that numpy has."""
    dtypes = {**_INTEGERS, **_FLOATS}
    columns = {
        name: np.frombuffer(one["data"], dtypes[one["dtype"]]).reshape(one["shape"])
        for name, one in stored.items()
        if one["dtype"] in dtypes
    }
    if metadata[CHECKSUM_KEY] != checksum_of(metadata[KEY], columns):
        raise TraceError("its checksum does not fit: it was changed or damaged; save it again")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
