"""Products of two matrices and fused attention, brought to one shape."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

HIDDEN_BELOW = -1000.0


@dataclass
class Product:
    """first [H, I, K] by second [H, J, K], summed over K, of the first text of the batch.

    Attributes:
        result: [H, I, J].
    """

    first: Any
    second: Any
    result: Any


def product_of(name: str, args: Any, result: Any) -> Product | None:
    """The operands of a product; None: in a form that is not known."""
    if name == "einsum":
        return _einsum(args, result)
    a, b = (args[1], args[0]) if name == "__rmatmul__" else args[-2:]
    if name != "baddbmm" and (a.ndim < 3 or b.ndim < 3):
        return None
    return Product(_of_first(a), _of_first(b).transpose(-2, -1), _of_first(result))


def _einsum(args: Any, result: Any) -> Product | None:
    equation = args[0].replace(" ", "")
    operands = args[1] if isinstance(args[1], tuple | list) else args[1:]
    inputs, _, out = equation.partition("->")
    letters = inputs.split(",")
    if len(letters) != 2 or len(out) < 3 or "." in equation:
        return None
    a, b = letters
    i, j = out[-2:]
    summed = [x for x in a if x in b and x not in out]
    if i not in a or i in b or j not in b or j in a or len(summed) != 1:
        return _swapped(a, b, out, operands, result)
    first = torch.einsum(f"{a}->{out[:-2]}{i}{summed[0]}", operands[0])
    second = torch.einsum(f"{b}->{out[:-2]}{j}{summed[0]}", operands[1])
    return Product(_of_first(first), _of_first(second), _of_first(result))


def _swapped(a: str, b: str, out: str, operands: Any, result: Any) -> Product | None:
    """Weights by values into [B, T, H, D]: the axes of the result in the usual order."""
    if len(a) != 4 or len(b) != 4 or len(out) != 4:
        return None
    summed = next((x for x in a if x in b and x not in out), None)
    i = next((x for x in a if x not in b), None)
    j = next((x for x in b if x not in a), None)
    if summed is None or i is None or j is None:
        return None
    lead = "".join(x for x in a if x in b and x in out)
    first = torch.einsum(f"{a}->{lead}{i}{summed}", operands[0])
    second = torch.einsum(f"{b}->{lead}{j}{summed}", operands[1])
    third = torch.einsum(f"{out}->{lead}{i}{j}", result)
    return Product(_of_first(first), _of_first(second), _of_first(third))


def fused(args: Any, kwargs: Any, result: Any) -> dict[str, Any]:
    """What scaled_dot_product_attention was told, and the weights that follow from it."""
    order = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    told = {**dict(zip(order, args, strict=False)), **kwargs}
    q, k, v = (_of_first(told[name]) for name in order[:3])
    scale = told.get("scale") or 1 / math.sqrt(q.shape[-1])
    n_repeats = q.shape[0] // k.shape[0]
    scores = (q @ k.repeat_interleave(n_repeats, 0).transpose(-2, -1)).float() * scale
    flag = bool(told.get("is_causal", False))
    if flag:  # fused attention aligns it top-left
        open_ = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~open_, -math.inf)
    mask = told.get("attn_mask")
    if mask is not None:
        mask = mask.expand(*(1,) * (4 - mask.ndim), *mask.shape) if mask.ndim < 4 else mask
        mask = mask[0]
        scores = (
            scores.masked_fill(~mask, -math.inf)
            if mask.dtype == torch.bool
            else scores + mask.float()
        )
    return {
        "queries": q.clone(),
        "keys": k.clone(),
        "values": v.clone(),
        "visible": (scores > HIDDEN_BELOW).any(0),
        "weights": scores.softmax(-1).nan_to_num(0.0).mean(0),
        "output": _of_first(result).clone(),
        "flag": flag,
    }


def _of_first(tensor: Any) -> Any:
    """[H, I, J] of the first text; one head where there is no axis of heads."""
    if tensor.ndim >= 4:
        return tensor.reshape(-1, *tensor.shape[-3:])[0]
    return tensor[:1]
