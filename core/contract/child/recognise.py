"""Finds a way to drive a class."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from . import names
from .arrays import Arrays
from .constructor import Constructor, NotDrivableError
from .library import libraries_of, library_of
from .raised import words
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

TRIALS = (((3, 2), False), ((1, 1), False), ((3, 2), True))
"""Blocks of rows, and whether too few rows may come back as long as they become more; the second
trial is for a class that loses rows of a block, the third for one that shows too few."""

N_TOLD = 3
"""Reasons that are told of a class that takes no rows."""


def recognised(
    cls: Any, given: dict[str, Any], at: Callable[[str], None], *, tries: bool
) -> tuple[Recognised, Constructor]:
    """A way to drive a class, from what it has and from what a trial shows.

    Args:
        cls: the class.
        given: arguments for its constructor.
        at: told before anything of the class is called.
        tries: whether what it can do besides adding rows and showing them is tried as well.

    Raises:
        NotDrivableError: no way was found; the message says what was tried.
    """
    at("reading its signature")
    constructor = Constructor(cls, given)
    sizes = {**SIZES, **constructor.fixed}
    reasons: list[str] = []
    for library in libraries_of(cls):
        try:
            surface = Recognised(cls, constructor, sizes, library, at, tries=tries)
        except NotDrivableError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  (what making one raises is why)
            reasons.append(f"making one {words(error)}")
            continue
        for (blocks, is_lenient), layout in itertools.product(TRIALS, LAYOUTS):
            at(f"adding rows [{', '.join(layout)}] of {library} and reading them")
            reason = _trial(cls, surface, layout, sizes, blocks, is_lenient=is_lenient)
            if reason is None:
                surface.layout = layout
                if tries:
                    at(names.TRUNCATING)
                    surface.keeps_only_what_works(cls, sizes)
                return surface, constructor
            reasons.append(f"{library} [{', '.join(layout)}]: {reason}")
    told = "; ".join(_once_each(reasons)[:N_TOLD])
    raise NotDrivableError(
        f"{cls.__name__} took no rows of any known shape ({told}); write an adapter"
    )


def _once_each(reasons: list[str]) -> list[str]:
    """Reasons, of which each is told of the first shape that it was given for."""
    by_words = {reason.split("]: ")[-1]: reason for reason in reversed(reasons)}
    return list(by_words.values())[::-1]


def _trial(
    cls: Any,
    surface: Recognised,
    layout: str,
    sizes: dict[str, Any],
    blocks: tuple[int, ...],
    *,
    is_lenient: bool,
) -> str | None:
    """Why rows of this layout do not add up; None: they do."""
    surface.layout = layout
    arrays = Arrays(surface.library, layout)
    n_before = 0
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
            n_least = n_before + 1 if is_lenient else start if n > 1 else 1
            if not _fits(keys, k, layout, n_least):
                return f"{list(k.shape)} came back as {list(keys.shape)}"
            if library_of(keys) != surface.library:
                return f"arrays of {surface.library} came back as arrays of {library_of(keys)}"
            n_before = keys.shape[layout.index("n")]
    except (Exception, SystemExit) as error:  # noqa: BLE001  (what the class raises is the reason)
        return words(error)
    return None


def _fits(keys: Any, k: Any, layout: str, n_rows: int) -> bool:
    if len(keys.shape) != len(layout):
        return False
    same = all(keys.shape[i] == k.shape[i] for i, axis in enumerate(layout) if axis != "n")
    return same and keys.shape[layout.index("n")] >= n_rows
