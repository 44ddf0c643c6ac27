"""Whose arrays a class takes, by what it does: not by what its file imports."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

LIBRARIES = ("torch", "numpy")
WORDS = {"torch": ("torch", "Tensor"), "numpy": ("numpy", "np.", "ndarray", "NDArray")}
"""In annotations, which may be texts."""


def libraries_of(cls: Any) -> tuple[str, ...]:
    """The libraries to be tried, the likeliest first.

    By the annotations of its methods; else by the library that their code uses; where that is
    both or none, torch first if it is loaded.
    """
    loaded = tuple(name for name in LIBRARIES if name == "numpy" or name in sys.modules)
    functions = list(_functions(cls))
    for found in (_annotated(functions), _used(functions)):
        named = [name for name in loaded if name in found]
        if len(named) == 1:
            return (*named, *(name for name in loaded if name not in named))
    return loaded


def library_of(array: Any) -> str:
    """Of an array."""
    return "torch" if type(array).__module__.split(".")[0] == "torch" else "numpy"


def _functions(cls: Any) -> Iterator[FunctionType]:
    """Its methods, those that it inherits included; of a function, itself and what it makes."""
    if isinstance(cls, FunctionType):
        yield cls
        made = (cls.__globals__.get(name) for name in cls.__code__.co_names)
        for one in made:
            if isinstance(one, type) and one.__module__ == cls.__module__:
                yield from _functions(one)
        return
    for base in inspect.getmro(cls) if isinstance(cls, type) else ():
        if base.__module__.split(".")[0] in ("builtins", "torch", "numpy", "abc", "typing"):
            continue
        for thing in vars(base).values():
            thing = thing.fget if isinstance(thing, property) else thing  # noqa: PLW2901
            thing = getattr(thing, "__func__", thing)  # noqa: PLW2901
            if isinstance(thing, FunctionType):
                yield thing


def _annotated(functions: list[FunctionType]) -> set[str]:
    """Libraries that annotations name."""
    texts = [
        note if isinstance(note, str) else inspect.formatannotation(note)
        for function in functions
        for note in function.__annotations__.values()
    ]
    return {
        name for name, words in WORDS.items() for t in texts if any(word in t for word in words)
    }


def _used(functions: list[FunctionType]) -> set[str]:
    """Libraries whose modules or things the code names, in its own file's functions too."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        for name in _names(function.__code__):
            thing = function.__globals__.get(name)
            if isinstance(thing, FunctionType) and thing.__module__ == function.__module__:
                waiting.append(thing)
                continue
            module = thing.__name__ if isinstance(thing, ModuleType) else _module_of(thing)
            found.update(library for library in LIBRARIES if module.split(".")[0] == library)
    return found


def _module_of(thing: Any) -> str:
    found = getattr(thing, "__module__", None)
    return found if isinstance(found, str) else ""


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
