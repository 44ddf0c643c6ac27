"""Carries out sequences of calls on caches of the user's class, each on a new one."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .adapter import CacheAdapter, twin
from .arrays import Arrays, overwrite
from .raised import said
from .shown import whole


class Driver:
    """One class, and how it is driven."""

    def __init__(self, cls: Any, adapter: CacheAdapter) -> None:
        """A class and the adapter that knows it."""
        self._cls = cls
        self._adapter = adapter
        self._arrays = Arrays(adapter.library, adapter.layout)

    def answers(
        self, sizes: dict[str, Any], calls: list[dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """What each call gave, the making of the cache first.

        An error of the class is an answer, and the next call is made all the same; where nothing
        could be made, there is nothing to call.
        """
        run = _Run(self._cls, self._adapter, self._arrays, sizes)
        yield run.answer({"call": "make"})
        if run.is_made:
            for call in calls:
                yield run.answer(call)


class _Run:
    """One cache, the arrays that it was given and those that it gave."""

    def __init__(
        self, cls: Any, adapter: CacheAdapter, arrays: Arrays, sizes: dict[str, Any]
    ) -> None:
        self._cls, self._adapter, self._arrays, self._sizes = cls, adapter, arrays, sizes
        self._cache: Any = None
        self.is_made = False
        self._given: list[tuple[Any, ...]] = []
        self._got: list[tuple[Any, ...]] = []
        self._saved: Any = None
        self._other_cache: Any = None
        self._last: dict[int, Any] = {}
        self._reads = "read" in adapter.offers()

    def answer(self, call: dict[str, Any]) -> dict[str, Any]:
        """Carry out a call."""
        try:
            return {"ok": getattr(self, f"_{call['call']}")(call)}
        except (Exception, SystemExit) as error:  # noqa: BLE001  (what it raises is its answer)
            return said(error)

    def _make(self, call: dict[str, Any]) -> None:
        del call
        self._cache = self._adapter.make(self._cls, **self._sizes)
        self.is_made = True

    def _append(self, call: dict[str, Any]) -> Any:
        k, v = (self._arrays.made(call[name], sign) for name, sign in (("k", 1), ("v", -1)))
        if call.get("scratch") is not None:
            k, v = _into(self._given[call["scratch"]], (k, v))
        self._given.append((k, v))
        pair = self._adapter.append(self._cache, call["layer"], k, v)
        self._last[call["layer"]] = pair
        return self._told(pair)

    def _read(self, call: dict[str, Any]) -> Any:
        if not self._reads:  # what adding rows gave back is all there is
            return self._told(self._last[call["layer"]])
        return self._told(self._adapter.read(self._cache, call["layer"]))

    def _told(self, pair: Any) -> Any:
        """A pair that came back, kept to be looked at once more."""
        self._got.append(() if pair is None else tuple(pair))
        return None if pair is None else [self._arrays.told(array) for array in pair]

    def _look(self, call: dict[str, Any]) -> Any:
        """An array that came back earlier, as it is now."""
        return [self._arrays.told(array) for array in self._got[call["of"]]]

    def _overwrite_given(self, call: dict[str, Any]) -> None:
        for array in self._given[call["of"]]:
            overwrite(array, 7)

    def _overwrite_got(self, call: dict[str, Any]) -> None:
        for array in self._got[call["of"]]:
            overwrite(array, 9)

    def _length(self, call: dict[str, Any]) -> Any:
        return _number(self._adapter.length(self._cache, call.get("layer", 0)))

    def _seen(self, call: dict[str, Any]) -> Any:
        del call
        return _number(self._adapter.seen(self._cache))

    def _reset(self, call: dict[str, Any]) -> None:
        del call
        self._adapter.reset(self._cache)

    def _truncate(self, call: dict[str, Any]) -> None:
        self._adapter.truncate(self._cache, call["n"])

    def _reorder(self, call: dict[str, Any]) -> None:
        self._adapter.reorder(self._cache, self._arrays.index(call["index"]))

    def _snapshot(self, call: dict[str, Any]) -> None:
        del call
        self._saved = self._adapter.snapshot(self._cache)

    def _restore(self, call: dict[str, Any]) -> None:
        del call
        self._adapter.restore(self._cache, self._saved)

    def _blocks(self, call: dict[str, Any]) -> Any:
        del call
        free, texts = self._adapter.blocks(self._cache)
        return {"blocks": [[int(block) for block in ids] for ids in (free, *texts)]}

    def _fork(self, call: dict[str, Any]) -> None:
        del call
        self._other_cache = self._adapter.fork(self._cache)

    def _other(self, call: dict[str, Any]) -> None:
        """Go on with the text that was forked, or back with the first one."""
        del call
        self._cache, self._other_cache = self._other_cache, self._cache

    def _copy(self, call: dict[str, Any]) -> None:
        """Go on with a copy of the whole state: whatever holds state outside the object is lost."""
        del call
        self._cache = twin(self._cache)


def _into(scratch: tuple[Any, ...], fresh: tuple[Any, ...]) -> tuple[Any, ...]:
    """New numbers written into the arrays of an earlier call."""
    for array, numbers in zip(scratch, fresh, strict=True):
        array[...] = numbers
    return scratch


def _number(found: Any) -> Any:
    """A number by its value, if it is a whole one, and the type that it has."""
    is_int = isinstance(found, int) and not isinstance(found, bool)
    return {"kind": "int" if is_int else type(found).__name__, "value": whole(found)}
