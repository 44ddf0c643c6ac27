"""How a class shows what it holds: methods, one method for both, or attributes."""

# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import names


@dataclass(frozen=True)
class Number:
    """A number that is an attribute, a method, or a method of the layer; also one for each layer.

    `name` "len" with `is_len` stands for `len(cache)`.
    """

    name: str
    is_len: bool = False

    def of(self, cache: Any, layer: int) -> Any:
        """Its value now."""
        if self.is_len:
            return len(cache)
        found = getattr(cache, self.name)
        return called(found, layer) if callable(found) else _of_layer(found, layer)

    def spelled(self, cache: Any) -> str:
        """As Python, of layer {layer}."""
        if self.is_len:
            return "len(cache)"
        index = "[{layer}]" if isinstance(getattr(cache, self.name), list | tuple) else ""
        return f"cache.{self.name}{_brackets(cache, self.name)}{index}"

    def is_told_by(self, cache: Any, n_layers: int) -> bool:
        """Whether it is a whole number of each layer; what a method of theirs raises is told.

        A method that is called a length and gives nothing is one too, and wrong.
        """
        may_be_none = "len" in self.name and callable(getattr(cache, self.name, None))
        try:
            found = [self.of(cache, layer) for layer in range(n_layers)]
            if may_be_none and all(value is None for value in found):
                return True
            return all(whole(value) is not None for value in found)
        except (IndexError, TypeError):  # not a number for each layer, or other arguments
            return False
        except (Exception, SystemExit):  # noqa: BLE001  (whatever their method raises)
            return True


@dataclass(frozen=True)
class Shown:
    """Where keys and values are read.

    Attributes:
        names: two for keys and values, or one that gives both.
        is_method: they are called; else attributes, which may be lists of an array per layer.
    """

    names: tuple[str, ...]
    is_method: bool

    def of(self, cache: Any, layer: int) -> Any:
        """Keys and values of a layer now."""
        if not self.is_method:
            return tuple(_of_layer(getattr(cache, name), layer) for name in self.names)
        found = tuple(called(getattr(cache, name), layer) for name in self.names)
        return found[0] if len(found) == 1 else found

    def spelled(self, cache: Any) -> str:
        """As Python, of layer {layer}."""
        return ", ".join(f"cache.{name}{self._after(cache, name)}" for name in self.names)

    def _after(self, cache: Any, name: str) -> str:
        if self.is_method:
            return _brackets(cache, name)
        return "[{layer}]" if isinstance(getattr(cache, name), list | tuple) else ""


def shown_by(sample: Any) -> Shown | None:
    """Where a cache shows its rows; None: only what adding rows gives back."""
    for pair in names.READ_PAIRS:
        if all(callable(getattr(sample, name, None)) for name in pair):
            return Shown(pair, is_method=True)
    for name in names.READ_BOTH:
        if callable(getattr(sample, name, None)):
            return Shown((name,), is_method=True)
    for pair in names.KEPT_PAIRS:
        if all(hasattr(sample, name) and not callable(getattr(sample, name)) for name in pair):
            return Shown(pair, is_method=False)
    return None


def length_of(sample: Any, n_layers: int, *, tries: bool) -> Number | None:
    """What tells how many rows can be read: a method before what may be anything.

    `tries`: whether a method is called, to see that it gives a number.
    """
    methods, attributes = _numbers(sample, names.LENGTHS)
    own = [Number("len", is_len=True)] if hasattr(type(sample), "__len__") else []
    return _first_told((*methods, *own), attributes, sample, n_layers, tries=tries)


def seen_by(sample: Any, n_layers: int, *, tries: bool) -> Number | None:
    """What tells how many tokens were seen."""
    methods, attributes = _numbers(sample, names.SEEN)
    return _first_told(methods, attributes, sample, n_layers, tries=tries)


def _first_told(
    methods: Sequence[Number],
    attributes: Sequence[Number],
    sample: Any,
    n_layers: int,
    *,
    tries: bool,
) -> Number | None:
    for number in (*methods, *attributes):
        if (number in methods and not tries) or number.is_told_by(sample, n_layers):
            return number
    return None


def _numbers(sample: Any, known: tuple[str, ...]) -> tuple[list[Number], list[Number]]:
    """Methods and attributes of these names."""
    there = [name for name in known if hasattr(sample, name)]
    methods = [name for name in there if callable(getattr(sample, name))]
    return [Number(name) for name in methods], [Number(n) for n in there if n not in methods]


def whole(found: Any) -> int | None:
    """The whole number that something is, of whatever type; None: it is none."""
    if isinstance(found, bool | str | bytes):
        return None
    try:
        value = int(found)
        return value if bool(found == value) else None
    except (TypeError, ValueError, RuntimeError, OverflowError):  # torch has errors of its own
        return None


def called(found: Any, layer: int) -> Any:
    """What an attribute is, or a method gives, of a layer where it wants to know."""
    if not callable(found):
        return found
    return found(layer) if _takes_layer(found) else found()


def _takes_layer(method: Any) -> bool:
    try:
        return bool(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return False


def _brackets(cache: Any, name: str) -> str:
    found = getattr(cache, name)
    if not callable(found):
        return ""
    return "({layer})" if _takes_layer(found) else "()"


def _of_layer(kept: Any, layer: int) -> Any:
    return kept[layer] if isinstance(kept, list | tuple) else kept
