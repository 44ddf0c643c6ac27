"""Finds a way to drive a class."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import itertools
import sys
from typing import Any

from .arrays import Arrays
from .constructor import Constructor, NotDrivableError
from .surfaces import Recognised

LAYOUTS = ("bhnd", "hnd", "bnhd", "nhd", "nd")
"""Tried in this order; the first in which rows add up along n is the one."""

SIZES = {
    "capacity": 16,
    "n_layers": 2,
    "n_heads": 2,
    "d_k": 4,
    "d_v": 4,
    "sinks": None,
    "batch": 1,
    "dtype": "float32",
}
"""For the trial; no two axes of the arrays are equally long, so that none is taken for another."""

TRIALS = ((3, 2), (1, 1))
"""Blocks of rows; the second is for a class that loses rows of a block."""


def recognised(cls: Any, given: dict[str, Any]) -> tuple[Recognised, Constructor]:
    """A way to drive a class, from what it has and from what a trial shows.

    Raises:
        NotDrivableError: no way was found; the message says what was tried.
    """
    constructor = Constructor(cls, given)
    sizes = {**SIZES, **constructor.fixed}
    libraries = ("torch", "numpy") if "torch" in sys.modules else ("numpy",)
    reasons: list[str] = []
    for library in libraries:
        try:
            surface = Recognised(cls, constructor, sizes, library)
        except NotDrivableError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever making one raises is the reason)
            reasons.append(f"making one: {type(error).__name__}: {error}")
            continue
        for blocks, layout in itertools.product(TRIALS, LAYOUTS):
            reason = _trial(cls, surface, layout, sizes, blocks)
            if reason is None:
                surface.layout = layout
                surface.keeps_only_what_works(cls, sizes)
                return surface, constructor
            reasons.append(f"[{', '.join(layout)}]: {reason}")
    raise NotDrivableError(
        f"{cls.__name__} took no rows of any known shape ({reasons[0]}); write an adapter"
    )


def _trial(
    cls: Any, surface: Recognised, layout: str, sizes: dict[str, Any], blocks: tuple[int, ...]
) -> str | None:
    """Why rows of this layout do not add up; None: they do."""
    surface.layout = layout
    arrays = Arrays(surface.library, layout)
    try:
        cache = surface.make(cls, **sizes)
        start = 0
        for n in blocks:
            ask = {"layer": 0, "tokens": list(range(start, start + n)), "dtype": "float32"}
            k, v = (
                arrays.made({**ask, "n_heads": sizes["n_heads"], "d": sizes[d]}, sign)
                for d, sign in (("d_k", 1), ("d_v", -1))
            )
            answer = surface.append(cache, 0, k, v)
            start += n
            keys, _ = answer if answer is not None else surface.read(cache, 0)
            if not _fits(keys, k, layout, start if n > 1 else 1):
                return f"{list(k.shape)} came back as {list(keys.shape)}"
    except Exception as error:  # noqa: BLE001  (whatever the class raises is the reason)
        return f"{type(error).__name__}: {error}"
    return None


def _fits(keys: Any, k: Any, layout: str, n_rows: int) -> bool:
    if len(keys.shape) != len(layout):
        return False
    same = all(keys.shape[i] == k.shape[i] for i, axis in enumerate(layout) if axis != "n")
    return same and keys.shape[layout.index("n")] >= n_rows
