"""Classes that are known without an adapter, recognised from what they have.

More than 300 lines, because the ways of calling are read beside one another: each is a small class
with the same methods.
"""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from . import names
from .adapter import CacheAdapter
from .arrays import Arrays
from .constructor import Constructor, NotDrivableError
from .shown import length_of, seen_by, shown_by

CALLABLE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Recognised(CacheAdapter):
    """Drives a class through the methods and attributes that it was found to have.

    Which they are is read from one cache made for the purpose.
    """

    def __init__(
        self,
        cls: Any,
        constructor: Constructor,
        sizes: dict[str, Any],
        library: str,
        at: Callable[[str], None],
        *,
        tries: bool,
    ) -> None:
        """Find out how rows get in and how they are read.

        `at` is told before anything of theirs is called; `tries`: whether numbers are tried too.

        Raises:
            NotDrivableError: nothing adds rows, or nothing shows them.
        """
        self.library = library
        self._constructor = constructor
        dtype = number_type(library, sizes["dtype"])
        at(f"making {cls.__name__}")
        sample = constructor.make({**sizes, "dtype": dtype})
        at("looking at what it has")
        self._adder = names.first_of(sample, names.ADDERS)
        if self._adder is None:
            if hasattr(sample, "forward"):
                raise NotDrivableError(f"{cls.__name__} is a model: give --kind model")
            tried = ", ".join(names.ADDERS[:4])
            raise NotDrivableError(
                f"{cls.__name__} has no method that adds rows ({tried}, …); write an adapter"
            )
        adder = getattr(sample, self._adder)
        self._arguments = _argument_roles(adder, self._adder)
        self._by_name = _keyword_only(adder)
        self._shown = shown_by(sample)
        n_layers = sizes["n_layers"] if self.takes_layer else 1
        at(names.COUNTING)
        self._length = length_of(sample, n_layers, tries=tries)
        self._seen = seen_by(sample, n_layers, tries=tries)
        at("looking at what it has")
        self._sample = sample
        self._reset = names.first_of(sample, names.RESETS)
        self._truncate = names.first_of(sample, (*names.TRUNCATES, *names.TRIMS))
        self._reorder = names.first_of(sample, names.REORDERS)
        self._saves = next((p for p in names.SAVES if all(hasattr(sample, n) for n in p)), None)
        self._gives_back = False
        self._takes_what_goes = False
        self._n_added: dict[tuple[int, int], int] = {}
        self._returned: dict[tuple[int, int], Any] = {}

    @property
    def takes_layer(self) -> bool:
        """Whether one object holds several layers."""
        return "layer" in self._arguments.values()

    @property
    def takes_positions(self) -> bool:
        """Whether it is told where rows go, and so answers with whole buffers."""
        return bool({"position", "start"} & set(self._arguments.values()))

    @property
    def _reads_attributes_or_methods(self) -> bool:
        """Whether reading asks the cache.

        Attributes are often buffers, of which adding rows gives back the part to be read: where it
        gives back anything, they are not looked at.
        """
        if self._shown is None:
            return False
        return self._shown.is_method or not self._gives_back

    @property
    def length_is_a_place(self) -> bool:
        """Whether the name of the length is that of a place in the text."""
        return self._length is not None and self._length.name in names.PLACES

    def words(self) -> str:
        """The surface, as a report names it."""
        return f"{self._adder}({', '.join(self._arguments)})"

    def offers(self) -> list[str]:
        """What can be asked of it."""
        found = {
            "append": True,
            "read": True,
            "read_before": self._reads_attributes_or_methods,
            "length": self._length is not None,
            "seen": self._seen is not None,
            "reset": self._reset is not None,
            "truncate": self._truncate is not None,
            "reorder": self._reorder is not None,
            "snapshot": self._saves is not None,
            "restore": self._saves is not None,
        }
        return [name for name, is_there in found.items() if is_there]

    def spelling(self) -> dict[str, str]:
        """Each call as Python, for a test that drives the class without kvscope."""
        numbers = "torch" if self.library == "torch" else "np"
        places = {
            "k": "{k}",
            "v": "{v}",
            "layer": "{layer}",
            "start": "{start}",
            "position": f"{numbers}.arange({{start}}, {{end}})",
        }
        given = ", ".join(
            f"{name}={places[role]}" if name in self._by_name else places[role]
            for name, role in self._arguments.items()
        )
        sample = self._sample
        append = f"cache.{self._adder}({given})"
        spelled = {
            "append": append,
            "read": self._shown.spelled(sample)
            if self._shown is not None and self._reads_attributes_or_methods
            else "",
            "length": "" if self._length is None else self._length.spelled(sample),
            "seen": "" if self._seen is None else self._seen.spelled(sample),
            "reset": f"cache.{self._reset}()",
            "truncate": f"cache.{self._truncate}({{{self._cut_word}}})",
            "reorder": f"cache.{self._reorder}({{index}})",
        }
        if self._saves is not None:
            spelled["snapshot"] = f"saved = cache.{self._saves[0]}()"
            spelled["restore"] = f"cache.{self._saves[1]}(saved)"
        return spelled

    def make(self, cls: Any, **sizes: Any) -> Any:
        """A new cache, of which nothing is known."""
        del cls
        dtype = number_type(self.library, sizes["dtype"])
        cache = self._constructor.make({**sizes, "dtype": dtype})
        self._forget(cache)
        return cache

    def _forget(self, cache: Any) -> None:
        """Drop what is kept of a cache, or of one that had its id before."""
        for kept in (self._n_added, self._returned):
            for place in [place for place in kept if place[0] == id(cache)]:
                del kept[place]

    def keeps_only_what_works(self, cls: Any, sizes: dict[str, Any]) -> None:
        """Find out what a number means to the way to truncate: rows that stay, or rows that go.

        Where it takes no number, truncating is not offered.
        """
        for self._takes_what_goes in (False, True):
            if self._truncate is None or self._keeps_two_of_three(cls, sizes):
                return
        self._takes_what_goes = False  # wrong in both ways: a rule will tell

    @property
    def _cut_word(self) -> str:
        """What the way to truncate is told: what stays, or what goes, below 0 or above."""
        if self._truncate in names.TRIMS:
            return "trimmed"
        return "gone" if self._takes_what_goes else "n"

    def _keeps_two_of_three(self, cls: Any, sizes: dict[str, Any]) -> bool:
        arrays = Arrays(self.library, self.layout)
        cache = self.make(cls, **sizes)

        def add(*tokens: int) -> None:
            ask = {"layer": 0, "tokens": tokens, "n_heads": sizes["n_heads"], "dtype": "float32"}
            k, v = (
                arrays.made({**ask, "d": sizes[d]}, sign) for d, sign in (("d_k", 1), ("d_v", -1))
            )
            self.append(cache, 0, k, v)

        try:
            add(0, 1, 2)
            self.truncate(cache, 2)
            add(3)
            keys, _ = self.read(cache, 0)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever it raises)
            if self._has_no_such(error):
                self._truncate = None
            return False
        return self.takes_positions or keys.shape[self.layout.index("n")] >= 3

    def _has_no_such(self, error: BaseException) -> bool:
        """Whether an error says that truncating is not there, or takes no number.

        Any other error is the class's own, and a rule will tell it.
        """
        name = self._truncate or ""
        is_missing = isinstance(error, AttributeError) and error.name == name
        takes_none = isinstance(error, TypeError) and f"{name}()" in str(error)
        return is_missing or takes_none or isinstance(error, NotImplementedError)

    def append(self, cache: Any, layer: int, k: Any, v: Any) -> Any:
        """Add rows to a layer."""
        place = (id(cache), layer)
        at = self._n_added.get(place, 0)
        rows = self.layout.index("n")
        arguments = {"k": k, "v": v, "layer": layer, "start": at}
        if self.takes_positions:
            arguments["position"] = consecutive(self.library, at, at + k.shape[rows])
        roles = self._arguments.items()
        values = [arguments[role] for name, role in roles if name not in self._by_name]
        named = {name: arguments[role] for name, role in roles if name in self._by_name}
        answer = getattr(cache, self._adder or "")(*values, **named)
        self._n_added[place] = at + k.shape[rows]
        if isinstance(answer, tuple | list) and len(answer) == 2:
            self._returned[place] = answer
            self._gives_back = True
            return answer
        return None

    def read(self, cache: Any, layer: int) -> Any:
        """What attention reads of a layer."""
        if self._reads_attributes_or_methods and self._shown is not None:
            return self._shown.of(cache, layer)
        return self._returned[id(cache), layer]

    def length(self, cache: Any, layer: int) -> Any:
        """Rows that can be read."""
        return None if self._length is None else self._length.of(cache, layer)

    def seen(self, cache: Any) -> Any:
        """Tokens seen."""
        return None if self._seen is None else self._seen.of(cache, 0)

    def reset(self, cache: Any) -> None:
        """Make it empty."""
        getattr(cache, self._reset or "")()
        self._forget(cache)

    def truncate(self, cache: Any, n: int) -> None:
        """Keep the first n tokens."""
        held = [place for place in self._n_added if place[0] == id(cache)]
        seen = max((self._n_added[place] for place in held), default=0)
        if self._truncate in names.TRIMS and n > seen:
            raise ValueError(f"{self._truncate} cannot be told to keep {n} of {seen} rows")
        told = {"n": n, "gone": n - seen, "trimmed": seen - n}
        getattr(cache, self._truncate or "")(told[self._cut_word])
        for place in held:
            self._n_added[place] = max(0, min(n, self._n_added[place]))

    def reorder(self, cache: Any, index: Any) -> None:
        """Put the sequences of the batch in another order."""
        getattr(cache, self._reorder or "")(index)

    def snapshot(self, cache: Any) -> Any:
        """A saved state."""
        return getattr(cache, self._saves[0])() if self._saves else None

    def restore(self, cache: Any, saved: Any) -> None:
        """Go back to a saved state."""
        if self._saves:
            getattr(cache, self._saves[1])(saved)


def number_type(library: str, name: Any) -> Any:
    """The library's own object for a number type."""
    if not isinstance(name, str):
        return name
    if library == "torch":
        import torch

        return getattr(torch, name)
    return np.dtype(name)


def consecutive(library: str, start: int, end: int) -> Any:
    """The library's own array of the numbers from start to before end."""
    if library == "torch":
        import torch

        return torch.arange(start, end)
    return np.arange(start, end)


def _argument_roles(method: Any, name: str) -> dict[str, str]:
    """argument -> k, v, layer, position or start, in the order in which they are handed over."""
    roles: dict[str, str] = {}
    for argument, parameter in inspect.signature(method).parameters.items():
        known = _role(argument)
        if known is not None and known not in roles.values():
            roles[argument] = known
        elif parameter.default is parameter.empty and parameter.kind in CALLABLE:
            left = [role for role in ("k", "v") if role not in roles.values()]
            if not left:
                raise NotDrivableError(
                    f"{name}() wants {argument!r}, which nobody knows; write an adapter"
                )
            roles[argument] = left[0]
    if not {"k", "v"} <= set(roles.values()):
        raise NotDrivableError(f"{name}() takes no keys and values; write an adapter")
    return roles


def _keyword_only(method: Any) -> set[str]:
    """Arguments that are handed over by name."""
    parameters = inspect.signature(method).parameters
    return {name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}


def _role(argument: str) -> str | None:
    known = {
        "k": names.KEYS,
        "v": names.VALUES,
        "layer": names.LAYER,
        "position": names.POSITION,
        "start": names.START,
    }
    return next((role for role, words in known.items() if argument.lower() in words), None)
