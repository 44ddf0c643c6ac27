"""The part of a written test file that is the same in each: plain code, not run here."""

HEAD = '''\
"""Rules of a KV cache that {name} broke, each in its shortest sequence of calls.

Written by `kvscope check --write-tests`; needs pytest and {library} only. Each test asks, call by
call, for what a right cache answers.
"""

import contextlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
{imports}
FILE = Path({file})
LAYOUT = "{layout}"  # b sequences, h heads, n rows, d head size
N_HEADS, D_K, D_V, BATCH = {n_heads}, {d_k}, {d_v}, {batch}


def load():
    sys.path.insert(0, str(FILE.parent))
    spec = importlib.util.spec_from_file_location("the_file_under_test", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.{name}


def rows(tokens, layer, sign, d, heads=N_HEADS):
    """Rows that can be told apart; a token may also be "zeros", "nan" or "inf"."""
    array = np.zeros((BATCH, heads, len(tokens), d))
    for place, token in enumerate(tokens):
        if not isinstance(token, int):
            array[:, :, place] = {{"zeros": 0, "nan": np.nan, "inf": np.inf}}[token]
            continue
        for b in range(BATCH):
            for h in range(heads):
                code = (1 + (token + 40 * b) % 15, 1 + (token + 40 * b) // 15, 1 + h, 1 + layer)
                array[b, h, place] = [sign * code[i % 4] for i in range(d)]
    axes = "bhnd"
    for axis in "bh":
        if axis not in LAYOUT:
            array, axes = array.take(0, axis=axes.index(axis)), axes.replace(axis, "")
    return {convert}


def keys(tokens, layer=0, d=D_K, heads=N_HEADS):
    return rows(tokens, layer, 1, d, heads)


def values(tokens, layer=0, d=D_V, heads=N_HEADS):
    return rows(tokens, layer, -1, d, heads)


def check_rows(pair, tokens, layer=0, or_else=()):
    """Keys and values are the rows of these tokens, or of another list that is right too."""
    found = [np.array(array, dtype=float) for array in pair]
    for choice in (tokens, *or_else):
        wanted = [np.array(f(choice, layer), dtype=float) for f in (keys, values)]
        if all(w.shape == f.shape for w, f in zip(wanted, found)):
            if all(np.array_equal(w, f, equal_nan=True) for w, f in zip(wanted, found)):
                return
    wanted = np.array(keys(tokens, layer), dtype=float)
    np.testing.assert_array_equal(found[0], wanted, f"keys of tokens {{tokens}}")
    np.testing.assert_array_equal(found[1], np.array(values(tokens, layer), dtype=float))
    raise AssertionError(f"not the rows of tokens {{tokens}}")
'''
