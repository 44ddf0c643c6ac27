"""Models that are known without an adapter, recognised from the signature of their forward."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

import torch

from ...child.constructor import Constructor, NotDrivableError
from . import names
from .adapter import ModelAdapter
from .sizes import sizes_of

WRAPPED = ("_orig_mod", "module")
"""How torch.compile and DataParallel call the model in them."""


class Recognised(ModelAdapter):
    """Calls forward with the arguments that its signature was found to have."""

    def __init__(self, model: Any) -> None:
        """Read the signature.

        Raises:
            NotDrivableError: it takes nothing that it returned before.
        """
        parameters = dict(inspect.signature(_inner(model).forward).parameters)
        self._parameters = parameters
        first = next(iter(parameters), None)
        taken = [name for name in parameters if name != first]
        self.past = next((name for name in names.PASTS if name in taken), None)
        number = next((name for name in names.NUMBERS if name in taken), None)
        tensor = next((name for name in names.TENSORS if name in taken), None)
        self.place = number or tensor
        self.place_is_number = number is not None
        if self.past is not None and number is None and not self._is_needed(tensor):
            self.place = None
        if first is None or (self.past is None and self.place is None):
            raise NotDrivableError(
                f"{type(model).__name__}.forward({', '.join(parameters)}) takes nothing that it "
                "returned before (past_key_values, cache, start_pos, input_pos, …); give --adapter"
            )
        self._makes = self.past is not None and self._is_needed(self.past)

    @property
    def may_be_told_positions(self) -> bool:
        """Whether it takes position ids, and is not given any."""
        return "position_ids" in self._parameters and self.place is None

    def words(self) -> str:
        """How the model is called, for the report."""
        parts = ["ids", *(f"{name}=…" for name in (self.past, self.place) if name is not None)]
        return f"forward({', '.join(parts)})"

    def settle(self, model: Any) -> None:
        """Where the first call of a text gives nothing back, hand over a cache made beforehand.

        Raises:
            NotDrivableError: no such cache is known.
        """
        self._setup(model, 1)
        if self.past is None or self._makes:
            return
        if any(callable(getattr(model, name, None)) for name in names.MAKERS):
            self._makes = True
            return
        logits, past = split(self._call(model, _two(model), None, 0, cached=True))
        del logits
        if past is None:
            self._makes = True

    def start(self, model: Any, n_sequences: int) -> Any:
        """The cache for a new text, where it is not made by the first call."""
        self._setup(model, n_sequences)
        return made_cache(model, self.past, n_sequences) if self._makes else None

    def uncached(self, model: Any, ids: Any) -> Any:
        """Logits of a text in one call with nothing before it."""
        state = self.start(model, len(ids)) if self._is_needed(self.past) else None
        if self.past is None:
            self._setup(model, len(ids))
        return split(self._call(model, ids, state, 0, cached=False))[0]

    def cached(self, model: Any, ids: Any, state: Any, past: int) -> tuple[Any, Any]:
        """Logits of new tokens, and what came back; where nothing did, what was given."""
        logits, given_back = split(self._call(model, ids, state, past, cached=True))
        return logits, state if given_back is None else given_back

    def _call(self, model: Any, ids: Any, state: Any, past: int, *, cached: bool) -> Any:
        arguments: dict[str, Any] = {}
        if "use_cache" in self._parameters:
            arguments["use_cache"] = cached
        if self.past is not None and (state is not None or self._is_needed(self.past)):
            arguments[self.past] = state
        if self.place is not None:
            tokens = torch.arange(past, past + ids.shape[-1], device=ids.device)
            if self.place == "position_ids":
                tokens = tokens[None]
            arguments[self.place] = past if self.place_is_number else tokens
        return model(ids, **arguments)

    def _is_needed(self, name: str | None) -> bool:
        parameter = None if name is None else self._parameters[name]
        return parameter is not None and parameter.default is parameter.empty

    def _setup(self, model: Any, n_sequences: int) -> None:
        """Make the cache inside the model ready, where it has a method for that."""
        if self.past is not None:
            return
        name = next((name for name in names.SETUPS if hasattr(model, name)), None)
        if name is not None:
            method = getattr(model, name)
            Constructor(method, {}).make(sizes_of(model, n_sequences))


def made_cache(model: Any, past: str | None, n_sequences: int) -> Any:
    """An empty cache from a method of the model, or from the file that the model is defined in.

    Raises:
        NotDrivableError: none is known.
    """
    sizes = sizes_of(model, n_sequences)
    module = sys.modules.get(type(_inner(model)).__module__)
    for owner in (model, module):
        for name in names.MAKERS:
            maker = getattr(owner, name, None)
            if callable(maker):
                return Constructor(maker, {}).make(sizes)
    classes = [] if module is None else _cache_classes(module)
    if len(classes) == 1:
        return Constructor(classes[0], {}).make(sizes)
    if past in ("past_key_values", "cache") and "transformers" in sys.modules:
        return sys.modules["transformers"].DynamicCache()
    found = ", ".join(cls.__name__ for cls in classes) or "no class named …Cache"
    raise NotDrivableError(
        f"{type(model).__name__}.forward gives back nothing to be passed on as {past}, and its "
        f"file has {found} and no make_cache(); give --adapter"
    )


def _inner(model: Any) -> Any:
    """The model that a wrapper calls, whose own forward takes whatever comes."""
    held = dict(model.named_children())
    name = next(iter(held)) if len(held) == 1 else ""
    return _inner(held[name]) if name in WRAPPED else model


def _cache_classes(module: Any) -> list[Any]:
    return [
        thing
        for name, thing in vars(module).items()
        if isinstance(thing, type)
        and "cache" in name.lower()
        and thing.__module__ == module.__name__
    ]


def split(output: Any) -> tuple[Any, Any]:
    """Logits [B, T, V], and what is to be passed on; None: nothing came back.

    Raises:
        NotDrivableError: there are no logits in what came back.
    """
    logits, past = _parts(output)
    if logits is None:
        raise NotDrivableError(f"forward gave {type(output).__name__} without logits")
    return (logits[:, None] if logits.ndim == 2 else logits), past


def _parts(output: Any) -> tuple[Any, Any]:
    if isinstance(output, torch.Tensor):
        return output, None
    if isinstance(output, Mapping):
        found = (output.get(name) for name in names.RETURNED)
        return output.get("logits"), next((one for one in found if one is not None), None)
    if isinstance(output, tuple | list) and not hasattr(output, "logits"):
        is_logits = [isinstance(one, torch.Tensor) and one.ndim >= 2 for one in output]
        at = is_logits.index(True) if any(is_logits) else None
        rest = [one for i, one in enumerate(output) if i != at and not _is_loss(one)]
        return None if at is None else output[at], rest[0] if rest else None
    found = (getattr(output, name, None) for name in names.RETURNED)
    return getattr(output, "logits", None), next((one for one in found if one is not None), None)


def _is_loss(thing: Any) -> bool:
    return thing is None or isinstance(thing, float) or (
        isinstance(thing, torch.Tensor) and thing.ndim == 0
    )  # fmt: skip


def _two(model: Any) -> Any:
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    return torch.zeros(1, 2, dtype=torch.long, device=device)
