"""Classes that are known without an adapter, recognised from what they have."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import names
from .adapter import CacheAdapter
from .arrays import Arrays
from .constructor import Constructor, NotDrivableError
from .shown import Number, length_of, shown_by

CALLABLE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Recognised(CacheAdapter):
    """Drives a class through the methods and attributes that it was found to have.

    Which they are is read from one cache made for the purpose.
    """

    def __init__(
        self, cls: Any, constructor: Constructor, sizes: dict[str, Any], library: str
    ) -> None:
        """Find out how rows get in and how they are read.

        Raises:
            NotDrivableError: nothing adds rows, or nothing shows them.
        """
        self.library = library
        self._constructor = constructor
        dtype = number_type(library, sizes["dtype"])
        sample = constructor.make({**sizes, "dtype": dtype})
        self._adder = names.first_of(sample, names.ADDERS)
        if self._adder is None:
            tried = ", ".join(names.ADDERS[:4])
            raise NotDrivableError(
                f"{cls.__name__} has no method that adds rows ({tried}, …); write an adapter"
            )
        self._arguments = _argument_roles(getattr(sample, self._adder), self._adder)
        self._shown = shown_by(sample)
        self._length = length_of(sample)
        seen = names.first_of(sample, names.SEEN)
        self._seen = None if seen is None else Number(seen)
        self._sample = sample
        self._reset = names.first_of(sample, names.RESETS)
        self._truncate = names.first_of(sample, names.TRUNCATES)
        self._reorder = names.first_of(sample, names.REORDERS)
        self._saves = next((p for p in names.SAVES if all(hasattr(sample, n) for n in p)), None)
        self._gives_back = False
        self._n_added: dict[tuple[int, int], int] = {}
        self._returned: dict[tuple[int, int], Any] = {}

    @property
    def takes_layer(self) -> bool:
        """Whether one object holds several layers."""
        return "layer" in self._arguments.values()

    @property
    def takes_positions(self) -> bool:
        """Whether it is told where rows go, and so answers with whole buffers."""
        return "position" in self._arguments.values()

    @property
    def _reads_attributes_or_methods(self) -> bool:
        """Whether reading asks the cache.

        Attributes are often buffers, of which adding rows gives back the part to be read: where it
        gives back anything, they are not looked at.
        """
        if self._shown is None:
            return False
        return self._shown.is_method or not self._gives_back

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
        places = {"k": "{k}", "v": "{v}", "layer": "{layer}", "position": "{position}"}
        given = ", ".join(places[role] for role in self._arguments.values())
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
            "truncate": f"cache.{self._truncate}({{n}})",
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
        """Do not ask for a way to truncate that means something else by its number."""
        if self._truncate is None:
            return
        arrays = Arrays(self.library, self.layout)
        cache = self.make(cls, **sizes)
        ask = {"layer": 0, "tokens": [0, 1, 2], "n_heads": sizes["n_heads"], "dtype": "float32"}
        try:
            k, v = (
                arrays.made({**ask, "d": sizes[d]}, sign) for d, sign in (("d_k", 1), ("d_v", -1))
            )
            self.append(cache, 0, k, v)
            self.truncate(cache, 2)
        except (AttributeError, NotImplementedError, TypeError):  # it takes no such number
            self._truncate = None
        except Exception:  # noqa: BLE001  (it refuses what it should do: a rule will tell)
            return

    def append(self, cache: Any, layer: int, k: Any, v: Any) -> Any:
        """Add rows to a layer."""
        place = (id(cache), layer)
        at = self._n_added.get(place, 0)
        rows = self.layout.index("n")
        arguments = {"k": k, "v": v, "layer": layer}
        if self.takes_positions:
            import torch

            arguments["position"] = torch.arange(at, at + k.shape[rows])
        values = [arguments[role] for role in self._arguments.values()]
        answer = getattr(cache, self._adder or "")(*values)
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
        getattr(cache, self._truncate or "")(n)
        for place in self._n_added:
            if place[0] == id(cache):
                self._n_added[place] = n

    def reorder(self, cache: Any, index: list[int]) -> None:
        """Put the sequences of the batch in another order."""
        order: Any = index
        if self.library == "torch":
            import torch

            order = torch.tensor(index)
        getattr(cache, self._reorder or "")(order)

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


def _argument_roles(method: Any, name: str) -> dict[str, str]:
    """argument -> k, v, layer or position, in the order in which they are handed over."""
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


def _role(argument: str) -> str | None:
    known = {"k": names.KEYS, "v": names.VALUES, "layer": names.LAYER, "position": names.POSITION}
    return next((role for role, words in known.items() if argument.lower() in words), None)
