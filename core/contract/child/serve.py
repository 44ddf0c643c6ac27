"""Answers the checker: what is known of a class, and what it does when it is called."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .adapter import CacheAdapter
from .constructor import NotDrivableError
from .driver import Driver
from .files import adapter_of, loaded
from .recognise import recognised


class Server:
    """One class, and how it is driven."""

    def __init__(self, at: Callable[[str], None]) -> None:
        """`at` is told, in words, what of the class is about to be called."""
        self._at = at
        self._cls: Any = None
        self._driver: Driver | None = None

    def answers(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What is to be told."""
        if ask["do"] == "run":
            assert self._driver is not None  # noqa: S101  (loading comes first)
            yield from self._driver.answers(ask["sizes"], ask["calls"])
            return
        try:
            yield {"ok": self._load(ask) if ask["do"] == "load" else self._recognise(ask)}
        except NotDrivableError as error:
            yield {"cannot": str(error)}

    def _load(self, ask: dict[str, Any]) -> dict[str, Any]:
        """Run the file; nothing is told of it."""
        self._at(f"running {ask['path']}")
        self._cls = loaded(ask["path"], ask["name"])
        _limit_memory(ask["memory_mb"])  # with its libraries loaded, and before it is tried
        return {}

    def _recognise(self, ask: dict[str, Any]) -> dict[str, Any]:
        """Find out how the class is driven."""
        self._driver, told = _recognised(self._cls, ask, self._at)
        return told


def _recognised(
    cls: Any, ask: dict[str, Any], at: Callable[[str], None]
) -> tuple[Driver, dict[str, Any]]:
    """The driver for a class, and what is known of it."""
    if ask["adapter"] is not None:
        at(f"running {ask['adapter']}")
        adapter: CacheAdapter = adapter_of(ask["adapter"], CacheAdapter)
        told: dict[str, Any] = {
            "surface": type(adapter).__name__,
            "offers": _offers(adapter),
            "takes_layer": adapter.has_layers and adapter.n_layers != 1,
            "takes_positions": False,
            "length_is_a_place": False,
            "roles": _roles(adapter),
            "names_a_window": adapter.is_window,
            "fixed": adapter.fixed(),
            "arguments": {},
            "spelling": adapter.spelling(),
            "is_adapted": True,
            "block_size": adapter.block_size,
        }
    else:
        adapter, constructor = recognised(cls, ask["args"], at, tries=ask["tries"])
        told = {
            "surface": adapter.words(),
            "offers": adapter.offers(),
            "takes_layer": adapter.takes_layer,
            "takes_positions": adapter.takes_positions,
            "length_is_a_place": adapter.length_is_a_place,
            "roles": sorted({role for roles in constructor.roles.values() for role in roles}),
            "names_a_window": constructor.names_a_window,
            "fixed": {
                role: value
                for role, value in constructor.fixed.items()
                if isinstance(value, int | str)
            },
            "arguments": constructor.roles,
            "spelling": adapter.spelling(),
            "is_adapted": False,
            "block_size": None,
        }
    return Driver(cls, adapter), {**told, "layout": adapter.layout, "library": adapter.library}


def _offers(adapter: CacheAdapter) -> list[str]:
    """What can be asked through an adapter.

    Raises:
        NotDrivableError: it cannot make a cache or add rows.
    """
    own = type(adapter)
    missing = [n for n in ("make", "append") if getattr(own, n) is getattr(CacheAdapter, n)]
    if missing:
        raise NotDrivableError(f"the adapter {own.__name__} has no {missing[0]}()")
    offers = adapter.offers()
    if "blocks" in offers and not adapter.block_size:
        raise NotDrivableError(f"the adapter {own.__name__} has blocks() and no block_size")
    return [*offers, "read_before"] if "read" in offers else [*offers, "read"]


def _roles(adapter: CacheAdapter) -> list[str]:
    roles = ["capacity", "n_layers", "n_heads", "d_k", "d_v", "batch"]
    offered = {"sinks": adapter.has_sinks, "dtype": adapter.has_dtype}
    return [*roles, *(name for name, is_there in offered.items() if is_there)]


def _limit_memory(megabytes: int) -> None:
    """Let an allocation beyond what is used now fail in place of filling the machine."""
    statm = Path("/proc/self/statm")
    if not statm.exists():  # only Linux tells how much address space is in use
        return
    import resource

    used = int(statm.read_text("ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, resource.RLIM_INFINITY))
