"""Frozen dataclasses as JSON values and back, with every type checked on the way in.

A field that may hold one of several dataclasses says which as "kind" (`NewPrompt` as
"new_prompt"). A number that is not finite is "nan", "inf" or "-inf".
"""

import dataclasses
import functools
import math
import re
import types
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from core.errors import CoreError, TraceError

T = TypeVar("T")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_PLAIN_NAMES: dict[object, str] = {
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    float: "a number",
}
_LONGEST_SHOWN = 40


def finite_or_text(number: float) -> float | str:
    """The number itself; "nan", "inf" or "-inf" where JSON has none."""
    return number if math.isfinite(number) else str(number)


def to_json(value: object, without: Collection[str] = ()) -> dict[str, Any]:
    """The JSON object of a frozen dataclass, from which `from_json` gives an equal one back.

    Args:
        value: the dataclass.
        without: fields to leave out.
    """
    return {
        name: _written(hint, getattr(value, name))
        for name, hint in _hints(type(value)).items()
        if name not in without
    }


def from_json(kind: type[T], value: object, where: str) -> T:
    """The `kind` that a JSON value stands for.

    Args:
        kind: a frozen dataclass.
        value: what `json.loads` gave.
        where: what it is, for messages.

    Raises:
        TraceError: a key is missing or unknown, or a value is of another type; names it.
    """
    return cast("T", _read(kind, value, where))


def fields_from_json(
    kind: type, value: object, where: str, without: Collection[str] = ()
) -> dict[str, Any]:
    """The fields of a `kind`, by name; see `from_json`.

    Args:
        kind: a frozen dataclass.
        value: what `json.loads` gave.
        where: what it is, for messages.
        without: fields that are kept elsewhere.
    """
    if not isinstance(value, dict):
        raise _wrong(where, value, "an object")
    given: Mapping[str, object] = cast("dict[str, object]", value)
    hints = {name: hint for name, hint in _hints(kind).items() if name not in without}
    for key in given:
        if key not in hints:
            raise TraceError(f"{where} has a key {key!r:.{_LONGEST_SHOWN}} that is not known")
    read: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.name in given:
            read[field.name] = _read(hints[field.name], given[field.name], f"{where}.{field.name}")
        elif field.name in hints and field.default is dataclasses.MISSING:
            raise TraceError(f"{where} has no {field.name}")
    return read


@functools.cache
def _hints(kind: type) -> dict[str, object]:
    return dict(get_type_hints(kind))


@functools.cache
def _choices(kind: object) -> dict[str, object]:
    """The members of a union by the name of their kind, None left out."""
    members = [member for member in get_args(kind) if member is not type(None)]
    return {_kind_name(member): member for member in members}


def _kind_name(kind: object) -> str:
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _is_union(kind: object) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _written(kind: object, value: object) -> object:
    if _is_union(kind):
        choices = _choices(kind)
        if value is None or len(choices) == 1:
            return None if value is None else _written(next(iter(choices.values())), value)
        return {"kind": _kind_name(type(value)), **to_json(value)}
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return [_written(item_kind, item) for item_kind, item in _pairs(kind, items)]
    if isinstance(value, float):
        return finite_or_text(value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return to_json(value)
    return value


def _pairs(kind: object, items: tuple[object, ...]) -> Iterator[tuple[object, object]]:
    """Each item of a tuple with its kind."""
    kinds = get_args(kind)
    if len(kinds) == 2 and kinds[1] is ...:
        kinds = (kinds[0],) * len(items)
    return zip(kinds, items, strict=True)


def _read(kind: object, value: object, where: str) -> object:
    if _is_union(kind):
        return _read_union(kind, value, where)
    if get_origin(kind) is tuple:
        return _read_tuple(kind, value, where)
    if get_origin(kind) is Literal:
        if isinstance(value, str) and value in get_args(kind):
            return value
        raise _wrong(where, value, " or ".join(map(str, get_args(kind))))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, value, where)
    if kind is float:
        return _read_float(value, where)
    if type(value) is kind:
        return value
    raise _wrong(where, value, _PLAIN_NAMES[kind])


def _read_float(value: object, where: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong(where, value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _wrong(where, value, "a number") from None


def _read_union(kind: object, value: object, where: str) -> object:
    if value is None and type(None) in get_args(kind):
        return None
    choices = _choices(kind)
    if len(choices) == 1:
        return _read(next(iter(choices.values())), value, where)
    rest = dict(cast("dict[str, object]", value)) if isinstance(value, dict) else {}
    name = rest.pop("kind", None)
    if not isinstance(name, str) or name not in choices:
        raise _wrong(where, name, f"of the kind {' or '.join(choices)}")
    return _read(choices[name], rest, where)


def _read_tuple(kind: object, value: object, where: str) -> tuple[object, ...]:
    kinds = get_args(kind)
    is_any_length = len(kinds) == 2 and kinds[1] is ...
    expected = "a list" if is_any_length else f"a list of {len(kinds)}"
    if not isinstance(value, list):
        raise _wrong(where, value, expected)
    items = tuple(cast("list[object]", value))
    if not is_any_length and len(items) != len(kinds):
        raise _wrong(where, items, expected)
    return tuple(
        _read(item_kind, item, f"{where}[{place}]")
        for place, (item_kind, item) in enumerate(_pairs(kind, items))
    )


def _read_dataclass(kind: type, value: object, where: str) -> object:
    fields = fields_from_json(kind, value, where)
    try:
        return kind(**fields)
    except CoreError as error:
        raise TraceError(f"{where}: {error}") from None


def _wrong(where: str, value: object, expected: str) -> TraceError:
    shown = repr(value)
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]}…"
    return TraceError(f"{where} is {shown}, not {expected}")
