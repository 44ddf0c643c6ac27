"""What is asked of a cache, and what it answers: plain values that go over a pipe."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.arrays import FloatArray

ONE_FOLD, TWO_FOLD = "with_a_leading_axis_of_1", "with_a_leading_axis_of_2"
"""Kinds of arrays that have one axis too many."""

HANGS = "hangs"
"""In the place of an exception's name: a call that did not come back."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a new cache is made with.

    Attributes:
        capacity: rows that it holds, C.
        n_layers, n_heads: L, H; a surface without that axis takes one of each.
        d_k, d_v: components of a key and of a value.
        sinks: first tokens that stay; None: its constructor takes no such number.
        batch: sequences, B.
        dtype: name of the number type.
    """

    capacity: int
    n_layers: int = 1
    n_heads: int = 1
    d_k: int = 4
    d_v: int = 4
    sinks: int | None = None
    batch: int = 1
    dtype: str = "float32"

    def as_json(self) -> dict[str, Any]:
        """As the other process reads it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Rows:
    """An array to be made.

    Attributes:
        tokens: serial of the token of each row.
        n_heads, d, batch, dtype: its other axes and its number type.
        kind: how it lies in memory: plain, transposed, strided, negative, read_only, or on the
            device "meta" of torch, which has no memory; or with one axis too many.
        fill: a number for every component, in the place of fingerprints.
        special: place of a row -> "nan" or "inf".
        numbers: [batch, n_heads, tokens, d], in the place of all of these.
    """

    tokens: tuple[int, ...]
    n_heads: int
    d: int
    batch: int = 1
    dtype: str = "float32"
    kind: str = "plain"
    fill: float | None = None
    special: Mapping[int, str] | None = None
    numbers: FloatArray | None = None

    def as_json(self, layer: int) -> dict[str, Any]:
        """As the other process reads it."""
        return {
            "layer": layer,
            "tokens": list(self.tokens),
            "n_heads": self.n_heads,
            "d": self.d,
            "batch": self.batch,
            "dtype": self.dtype,
            "kind": self.kind,
            "fill": self.fill,
            "numbers": _packed(self.numbers),
            "special": {str(place): what for place, what in (self.special or {}).items()},
        }


@dataclass(frozen=True, slots=True)
class Append:
    """Add rows to a layer; `scratch`: in the arrays of that earlier append, written anew."""

    layer: int
    k: Rows
    v: Rows
    scratch: int | None = None

    def as_json(self) -> dict[str, Any]:
        """As the other process reads it."""
        return {
            "call": "append",
            "layer": self.layer,
            "k": self.k.as_json(self.layer),
            "v": self.v.as_json(self.layer),
            "scratch": self.scratch,
        }

    def words(self, sizes: Sizes) -> str:
        """In a sequence of calls on a cache of these sizes."""
        n, n_v = len(self.k.tokens), len(self.v.tokens)
        of = f" of layer {self.layer}" if self.layer else ""
        what = _number(n, "row") if n == n_v else f"{_number(n, 'key')}, {_number(n_v, 'value')}"
        odd = [word for word in _oddities(self, sizes) if word]
        return f"append {what}{of}" + (f" ({', '.join(odd)})" if odd else "")


@dataclass(frozen=True, slots=True)
class Ask:
    """Any other call.

    Attributes:
        call: read, look, overwrite_given, overwrite_got, length, seen, reset, truncate, reorder,
            snapshot, restore, copy, blocks, fork or other (go on with the text that was forked).
        layer: of read and length.
        of: of look and overwrite_got: which pair that came back; of overwrite_given: which append.
        n: of truncate.
        index: of reorder.
    """

    call: str
    layer: int = 0
    of: int = 0
    n: int = 0
    index: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As the other process reads it."""
        return {
            "call": self.call,
            "layer": self.layer,
            "of": self.of,
            "n": self.n,
            "index": list(self.index),
        }

    def words(self) -> str:
        """In a sequence of calls."""
        layer = f" layer {self.layer}" if self.layer else ""
        return {
            "read": f"read{layer}",
            "look": "look at what came back once more",
            "overwrite_given": "overwrite what was appended with 7",
            "overwrite_got": "overwrite what came back with 9",
            "length": f"length{layer}",
            "truncate": f"truncate to {self.n}",
            "blocks": "look at the blocks",
            "fork": "fork: another text that begins as this one",
            "other": "go on with the other text",
            "reorder": f"reorder {list(self.index)}",
        }.get(self.call, self.call)


Call = Append | Ask


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """An array that came back: its numbers as float64, and the type that they had."""

    array: FloatArray
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a call gave.

    Attributes:
        pair: keys and values, each in the layout of the surface; None: nothing came back.
        number: a length or a count of tokens; None: what came back is no whole number.
        kind: the Python type of that number.
        blocks: ids of free blocks, then of those of each text; None: not asked.
        error: what was raised: class and message; None: nothing.
        where: the line of the user's file in which that was, or in which it hung; "": not known.
        is_mistake: whether Python raised it over the code of the class; else somebody wrote
            `raise`, or a library refused.
        is_last: the process hung or ended in this call.
    """

    pair: tuple[Told, Told] | None = None
    number: int | None = None
    kind: str | None = None
    blocks: tuple[tuple[int, ...], ...] | None = None
    error: tuple[str, str] | None = None
    where: str = ""
    is_mistake: bool = False
    is_last: bool = False

    @property
    def was_refused(self) -> bool:
        """Whether the call raised."""
        return self.error is not None


def answer_of(told: dict[str, Any]) -> Answer:
    """An answer as the other process wrote it."""
    if "hung" in told or "ended" in told:
        kind = HANGS if "hung" in told else "died"
        return Answer(error=(kind, fall_words(told)), where=told["where"], is_last=True)
    if "raised" in told:
        kind, message = told["raised"]
        error = (str(kind), str(message))
        return Answer(error=error, where=told["where"], is_mistake=told["is_mistake"])
    value = told["ok"]
    if isinstance(value, list) and len(value) == 2:  # pyright: ignore[reportUnknownArgumentType]
        return Answer(pair=(_told(value[0]), _told(value[1])))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, dict) and "blocks" in value:
        return Answer(blocks=tuple(tuple(ids) for ids in value["blocks"]))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, dict):
        number = value["value"]  # pyright: ignore[reportUnknownVariableType]
        return Answer(number=None if number is None else int(number), kind=str(value["kind"]))  # pyright: ignore[reportUnknownArgumentType]
    return Answer()


def fall_words(told: Mapping[str, Any]) -> str:
    """Of a process that gave no answer any more: how it fell, and in which line."""
    where = f" ({told['where']})" if told["where"] else ""
    if "hung" in told:
        return f"no answer within {told['hung']:g} s{where}"
    printed = f": {told['printed']}" if told["printed"] else ""
    return f"the interpreter ended with status {told['ended']}{where}{printed}"


def _packed(numbers: FloatArray | None) -> str | None:
    if numbers is None:
        return None
    return base64.b64encode(np.ascontiguousarray(numbers, np.float64).tobytes()).decode("ascii")


def _told(value: dict[str, Any]) -> Told:
    numbers = np.frombuffer(base64.b64decode(value["data"]), dtype=np.float64)
    return Told(numbers.reshape(value["shape"]), str(value["dtype"]))


def _number(n: int, word: str) -> str:
    return f"{n} {word}{'s' * (n != 1)}"


def _oddities(append: Append, sizes: Sizes) -> list[str]:
    """What is not as the cache takes it."""
    k, v = append.k, append.v
    return [
        "" if k.kind == "plain" else k.kind.replace("_", " "),
        _odd("d = {}", (k.d, v.d), (sizes.d_k, sizes.d_v)),
        _odd("{} heads", (k.n_heads, v.n_heads), (sizes.n_heads, sizes.n_heads)),
        _odd("{} in the batch", (k.batch, v.batch), (sizes.batch, sizes.batch)),
        _odd("{}", (k.dtype, v.dtype), (sizes.dtype, sizes.dtype)),
        "" if k.fill is None else f"all {k.fill:g}",
        "" if not k.special else ", ".join(f"row {at} {what}" for at, what in k.special.items()),
        "" if append.scratch is None else "in the same arrays",
    ]


def _odd(words: str, pair: tuple[object, object], right: tuple[object, object]) -> str:
    """A size of keys and values that is not that of the cache."""
    if pair == right:
        return ""
    k, v = pair
    return words.format(k if k == v else f"{k} and {v}").replace("1 heads", "1 head")
