"""What a model does while it is called, seen from outside: attention, and rows of tables.

A mode of torch sees every call of a torch function from Python, and hooks tell in which module it
was made. Code that was compiled, or that runs in C++ of its own, shows nothing here.
"""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from .products import Product, fused, product_of

HIDDEN_BELOW = -1000.0
"""A score under this is masked: masks add -inf, -1e9, the smallest number or -1e4."""

PRODUCTS = ("matmul", "__matmul__", "__rmatmul__", "bmm", "baddbmm", "einsum")
N_KEPT = 4
UNSEEN = (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError)
"""What comes of looking at a call in a form that is not known; it was not seen, then."""


@dataclass
class Attention:
    """One call of a softmax over keys, or of fused attention, of the first text of the batch.

    Attributes:
        layer: by the first number in the name of the module; None: it has none.
        queries, keys, values: [H, T or S, D]; None: not seen.
        visible: [T, S], in any head.
        weights: [T, S], mean of the heads.
        output: [H, T, D]; None: not seen.
        flag: fused attention was told is_causal=True.
    """

    layer: int | None
    queries: Any
    keys: Any
    visible: Any
    weights: Any
    flag: bool = False
    values: Any = None
    output: Any = None


@dataclass
class Seen:
    """Of one call of the model.

    Attributes:
        attentions: in the order in which they were made.
        tables: name of a table -> the rows looked up, one list per look-up.
    """

    attentions: list[Attention] = field(default_factory=list)
    tables: dict[str, list[list[int]]] = field(default_factory=dict)


class Watch(TorchFunctionMode):
    """Sees what happens while it is entered; `seen` has it."""

    def __init__(self, model: Any) -> None:
        """Of this model."""
        super().__init__()
        self.seen = Seen()
        self._names = {id(module): name for name, module in model.named_modules()}
        self._tables = _tables(model)
        self._path: list[str] = []
        self._products: list[Product] = []
        self._waiting: tuple[Attention, Any] | None = None
        self._hooks: list[Any] = []

    def __enter__(self) -> Watch:
        """Begin to look."""
        self._hooks = [
            register_module_forward_pre_hook(self._enters),
            register_module_forward_hook(self._leaves),
        ]
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """Look no more."""
        super().__exit__(*error)
        for hook in self._hooks:
            hook.remove()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """A call of a torch function."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        with suppress(*UNSEEN):
            self._look(name, args, kwargs, result)
        return result

    def _enters(self, module: Any, inputs: Any) -> None:
        del inputs
        self._path.append(self._names.get(id(module), ""))

    def _leaves(self, module: Any, inputs: Any, output: Any) -> None:
        del module, inputs, output
        if self._path:
            self._path.pop()

    @property
    def _layer(self) -> int | None:
        for path in reversed(self._path):
            numbers = re.findall(r"(?:^|\.)(\d+)(?:\.|$)", path)
            if numbers:
                return int(numbers[0])
        return None

    def _look(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        if name in PRODUCTS:
            self._multiplied(name, args, result)
        elif name in ("softmax", "_softmax"):
            self._normalised(args[0], result)
        elif name == "scaled_dot_product_attention":
            self._attended(args, kwargs, result)
        elif name == "embedding":
            self._looked_up(_first_of(kwargs, "weight", args, 1), args[0])
        elif name in ("__getitem__", "index_select", "narrow") and id(args[0]) in self._tables:
            self._indexed(name, args)
        elif name == "cos" and args[0].ndim >= 2:
            self._turned(args[0])

    def _multiplied(self, name: str, args: Any, result: Any) -> None:
        """Queries by keys, or, after a softmax, weights by values."""
        product = product_of(name, args, result)
        if product is None:
            return
        if self._waiting is not None and product.first.shape[-2:] == self._waiting[1]:
            attention, _ = self._waiting
            attention.values = product.second.transpose(-2, -1).clone()
            attention.output = product.result.clone()
            self._waiting = None
            return
        self._products = [*self._products[1 - N_KEPT :], product]

    def _normalised(self, scores: Any, weights: Any) -> None:
        if scores.ndim < 3:
            return
        shape = scores.shape[-2:]
        fitting = [one for one in self._products if one.result.shape[-2:] == shape]
        if not fitting:
            return
        product = fitting[-1]
        self._products = []
        first = scores.reshape(-1, *shape)[: _n_heads(scores)]
        hidden = (first < HIDDEN_BELOW) | first.isnan()
        shown = weights.reshape(-1, *shape)[: _n_heads(scores)].float()
        attention = Attention(
            self._layer,
            product.first.clone(),
            product.second.clone(),
            (~hidden).any(0),
            shown.mean(0),
        )
        self.seen.attentions.append(attention)
        self._waiting = (attention, shape)

    def _attended(self, args: Any, kwargs: Any, result: Any) -> None:
        call = fused(args, kwargs, result)
        self.seen.attentions.append(Attention(self._layer, **call))
        self._waiting = None

    def _looked_up(self, table: Any, ids: Any) -> None:
        name = self._tables.get(id(table))
        if name is not None:
            rows = ids[0] if ids.ndim > 1 else ids.reshape(-1)
            self.seen.tables.setdefault(name, []).append(rows.reshape(-1).tolist())

    def _indexed(self, name: str, args: Any) -> None:
        """Which rows an index takes: the same index, on a tensor of row numbers."""
        table = args[0]
        long = [axis for axis, size in enumerate(table.shape) if size > 1]
        if not long or table.ndim > 3:
            return
        shape = [1] * table.ndim
        shape[long[0]] = table.shape[long[0]]
        numbers = torch.arange(table.shape[long[0]], device=table.device).view(shape)
        taken = getattr(torch.Tensor, name)(numbers.expand(table.shape), *args[1:])
        columns = table.shape[-1] if long[0] != table.ndim - 1 else 1
        rows = taken.reshape(-1, columns)[:, 0] if taken.numel() % columns == 0 else taken
        self.seen.tables.setdefault(self._tables[id(table)], []).append(rows.reshape(-1).tolist())

    def _turned(self, angles: Any) -> None:
        """The first column of rotary angles: that pair turns by 1 for each position."""
        rows = angles.reshape(-1, *angles.shape[-2:])[0][:, 0].tolist()
        if all(abs(row - round(row)) < 1e-3 for row in rows):
            self.seen.tables.setdefault("rotary angles", []).append([round(row) for row in rows])


def _n_heads(scores: Any) -> int:
    """Leading rows of [B, H, T, S], flattened, that belong to the first text."""
    return scores.shape[-3] if scores.ndim >= 4 else 1


def _first_of(kwargs: Any, name: str, args: Any, at: int) -> Any:
    return kwargs[name] if name in kwargs else args[at]


def _tables(model: Any) -> dict[int, str]:
    """id -> name of the tensors that a model holds and may look positions up in: no masks."""
    found: dict[int, str] = {}
    for path, module in model.named_modules():
        dot = f"{path}." if path else ""
        own = (module.named_parameters(recurse=False), module.named_buffers(recurse=False))
        for name, tensor in (*chain(*own), *vars(module).items()):
            is_table = isinstance(tensor, torch.Tensor) and tensor.ndim >= 2
            if is_table and not _is_mask(tensor):
                found[id(tensor)] = f"{dot}{name}"
    return found


def _is_mask(table: Any) -> bool:
    """Of booleans, or square, its first row with one number for all columns but the first."""
    size = table.shape[-1]
    if table.dtype == torch.bool or table.shape[-2] != size or size < 3:
        return table.dtype == torch.bool
    with suppress(*UNSEEN):
        first = table[(0,) * (table.ndim - 1)]
        return bool((first[1:] == first[1]).all() and first[0] != first[1])
    return False
