"""Rows that can be told apart by their contents, exact in every number type."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import numpy as np

BASE = 15
"""Token serials below BASE² have rows of their own."""


def rows(layer: int, tokens: list[int], n_heads: int, d: int, sign: int = 1) -> np.ndarray:
    """[n_heads, len(tokens), d] float64: layer, head and token in small integers.

    No component is above 255, so that bfloat16 holds each exactly; none is 0, so that a row of
    zeros is never one of them. Values are the negatives of keys (`sign` -1).
    """
    out = np.zeros((n_heads, len(tokens), d))
    for head in range(n_heads):
        for place, token in enumerate(tokens):
            digits = (1 + token % BASE, 1 + token // BASE, 1 + head, 1 + layer)
            for component in range(max(d, len(digits))):
                digit = digits[component % len(digits)]
                weight = 16 if component >= d else 1
                out[head, place, component % d] += weight * digit
    return sign * np.minimum(out, 255)
