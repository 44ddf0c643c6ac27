"""The arrays in which a model keeps its past: what it gives back, or holds in attributes."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import torch

DEEPEST = 8
LARGEST = 8_000_000
"""Numbers that are copied in one call; an array beyond that is passed over."""

N_AXES = 4
"""Batch, heads, tokens, head size; more stand for layers, keys and values."""


def kept_arrays(state: Any, model: Any) -> dict[str, Any]:
    """path -> copy of the floats there.

    Those of the state that goes from call to call; where it has none, those of the model that are
    no parameters.
    """
    found = _copied(_walk(state, "", set(), 0))
    return found or _copied(_walk(model, "", set(), 0))


def token_axis(before: Any, after: Any, n_new: int, n_end: int) -> int | None:
    """The axis along which a call put `n_new` rows in place, `n_end` then; None: there is none."""
    if before.ndim != after.ndim:
        return None
    grown = [a for a in range(after.ndim) if before.shape[a] != after.shape[a]]
    if grown:
        return grown[0] if len(grown) == 1 else None
    changed = before != after
    fitting = [
        axis
        for axis in range(after.ndim)
        if after.shape[axis] >= n_end
        and 0 < int(changed.movedim(axis, 0).reshape(after.shape[axis], -1).any(1).sum()) <= n_new
    ]
    return fitting[0] if len(fitting) == 1 else None


def rows_along(array: Any, axis: int) -> Any:
    """[rows, numbers of a row]."""
    return array.movedim(axis, 0).reshape(array.shape[axis], -1)


def _copied(found: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    copies: dict[str, Any] = {}
    n_left = LARGEST
    for path, tensor in found:
        if tensor.numel() > n_left:
            continue
        n_left -= tensor.numel()
        copies.update(_parts(path, tensor.detach().to("cpu", torch.float64, copy=True)))
    return copies


def _parts(path: str, tensor: Any) -> dict[str, Any]:
    """An array with more axes than rows have, taken apart along the first ones."""
    if tensor.ndim <= N_AXES:
        return {path: tensor}
    found: dict[str, Any] = {}
    for at, part in enumerate(tensor):
        found.update(_parts(f"{path}[{at}]", part))
    return found


def _walk(thing: Any, path: str, met: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    """The arrays in a thing."""
    if id(thing) in met or depth > DEEPEST:
        return
    met.add(id(thing))
    if isinstance(thing, np.ndarray) and thing.dtype.kind == "f":
        thing = torch.from_numpy(np.ascontiguousarray(thing))
    if isinstance(thing, torch.Tensor):
        is_rows = thing.is_floating_point() and thing.ndim >= 2
        if is_rows and not isinstance(thing, torch.nn.Parameter) and thing.device.type != "meta":
            yield path, thing
        return
    for name, part in _members(thing):
        yield from _walk(part, f"{path}{name}", met, depth + 1)


def _members(thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, list | tuple):
        return [(f"[{at}]", part) for at, part in enumerate(thing)]
    if isinstance(thing, Mapping):
        return [(f"[{name!r}]", part) for name, part in thing.items()]
    if isinstance(thing, type | ModuleType):
        return []
    held = dict(getattr(thing, "__dict__", {}))
    for name in getattr(type(thing), "__slots__", ()):
        if hasattr(thing, name):
            held[name] = getattr(thing, name)
    if isinstance(thing, torch.nn.Module):
        held.pop("_parameters", None)
    return [(f".{name}", part) for name, part in held.items()]
