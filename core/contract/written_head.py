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
FILE = {file}
LAYOUT = "{layout}"  # b sequences, h heads, n rows, d head size
N_HEADS, D_K, D_V, BATCH, DTYPE = {n_heads}, {d_k}, {d_v}, {batch}, "{dtype}"
WHOLE = {whole}  # whole buffers come back, of which the first rows count


def imported(file, name):
    """A file as a module; the test fails where it is not there."""
    if not file.is_file():
        pytest.fail(f"{{file}} is not there: say at the head of {{__file__}} where it is")
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


{load}


def row(token, head, layer, d):
    """Numbers that tell token, head and layer; a token may also be "zeros", "nan" or "inf"."""
    if not isinstance(token, int):
        return [{{"zeros": 0.0, "nan": np.nan, "inf": np.inf}}[token]] * d
    code = (1 + token % 15, 1 + token // 15, 1 + head, 1 + layer)
    numbers = [0] * d
    for i in range(max(d, 4)):
        numbers[i % d] += (16 if i >= d else 1) * code[i % 4]
    return numbers


def rows(tokens, layer, sign, d, heads, batch, dtype=DTYPE, parents=None):
    """[b, h, n, d] in the layout of the class; sequence b has tokens of its own, 40 b further."""
    array = np.zeros((batch, heads, len(tokens), d))
    for b, of in enumerate(parents or range(batch)):
        for h in range(heads):
            for place, token in enumerate(tokens):
                token = token + 40 * of if isinstance(token, int) else token
                array[b, h, place] = sign * np.array(row(token, h, layer, d), dtype=float)
    axes = "bhnd"
    for axis in "bh":
        if axis not in LAYOUT:
            array, axes = array.take(0, axis=axes.index(axis)), axes.replace(axis, "")
    array = np.ascontiguousarray(array.transpose([axes.index(axis) for axis in LAYOUT]))
    return {convert}


def keys(tokens, layer=0, d=D_K, heads=N_HEADS, batch=BATCH, **more):
    return rows(tokens, layer, 1, d, heads, batch, **more)


def values(tokens, layer=0, d=D_V, heads=N_HEADS, batch=BATCH, **more):
    return rows(tokens, layer, -1, d, heads, batch, **more)


def attempt(read):
    """What reading gives; None where there is nothing yet and it raises."""
    with contextlib.suppress(Exception):
        return read()


def plain(array):
    if hasattr(array, "detach"):
        array = array.detach().cpu().double().numpy()
    return np.asarray(array, dtype=float)


def check_rows(pair, tokens, or_else=(), **more):
    """Keys and values are the rows of these tokens, or of another list that is right too."""
    if not tokens and (pair is None or any(array is None for array in pair)):
        return
    found = [plain(array) for array in pair]
    for choice in (*or_else, tokens):
        wanted = [plain(made(choice, **more)) for made in (keys, values)]
        shown = [a.take(range(len(choice)), LAYOUT.index("n")) for a in found] if WHOLE else found
        if all(np.array_equal(w, s, equal_nan=True) for w, s in zip(wanted, shown)):
            return
    for w, s, what in zip(wanted, shown, ("keys", "values")):
        np.testing.assert_array_equal(s, w, f"{{what}} of tokens {{tokens}}")


def check_back(pair, tokens, or_else=(), **more):
    """The same of what adding rows gave back, if it gave anything."""
    if isinstance(pair, (tuple, list)) and len(pair) == 2:
        check_rows(pair, tokens, or_else, **more)


def check_number(found, wanted):
    assert isinstance(found, (int, np.integer)) and not isinstance(found, bool), repr(found)
    assert found == wanted
'''

LOAD = """\
def load():
    return imported(FILE, "the_file_under_test").{name}"""
"""How the class is found."""

LOAD_ADAPTED = '''\
class CacheAdapter:
    """What an adapter extends, with the same defaults as where it comes from."""

    layout, library = "hnd", "numpy"
    has_layers, has_sinks, has_dtype, is_window = True, False, False, False
    n_layers = n_heads = d_k = d_v = None


@functools.cache
def adapter():
    shared = types.ModuleType("kvscope_check")
    shared.CacheAdapter = CacheAdapter
    sys.modules[shared.__name__] = shared
    things = vars(imported(ADAPTER, "the_adapter")).values()
    (found,) = [t for t in things if isinstance(t, type) and CacheAdapter in t.__mro__[1:]]
    return found()


def load():
    cls = imported(FILE, "the_file_under_test").{name}
    return functools.partial(adapter().make, cls)'''
"""How it is found, and driven, with an adapter."""

CONVERT = {
    "numpy": "array.astype(dtype)",
    "torch": "torch.from_numpy(array).to(getattr(torch, dtype))",
}
"""How the class's library makes its array, by the library."""

LYING = '''

def lying(array, kind):
    """The same numbers, held in memory in another way, or with one axis too many."""
    n, d = LAYOUT.index("n"), LAYOUT.index("d")
    if kind == "meta":
        return array.to("meta")
    if kind == "read_only":
        array.setflags(write=False)
        return array
    if kind.startswith("with_a_leading_axis"):
        stack = np.stack if isinstance(array, np.ndarray) else torch.stack
        return stack([array] * int(kind[-1]))
    copied = np.ascontiguousarray if isinstance(array, np.ndarray) else lambda a: a.contiguous()
    if kind == "transposed":
        return copied(array.swapaxes(n, d)).swapaxes(n, d)
    many = [slice(None)] * array.ndim
    if kind == "strided":
        many[n] = slice(None, None, 2)
        twice = array.repeat if isinstance(array, np.ndarray) else array.repeat_interleave
        return twice(2, n)[tuple(many)]
    many[n] = slice(None, None, -1)
    return copied(array[tuple(many)])[tuple(many)]
'''
"""For rows that do not lie in memory as usual."""

FIRST = '''

def first(pair, n):
    """The first rows of keys and of values."""
    return [plain(array).take(range(n), LAYOUT.index("n")) for array in pair]
'''
"""For rows that came before others."""

BLOCKS = '''

def check_blocks(found, n_blocks, allowed):
    """Each block is free or owned, once; none is lost. How many there are."""
    free, texts = found
    owned = [block for text in texts for block in text]
    every = [*free, *owned]
    assert len(set(every)) == len(every), found
    assert n_blocks is None or len(every) == n_blocks, found
    assert len(owned) in allowed, found
    return len(every)
'''
"""For blocks of a pool."""

IN_TIME = '''

def in_time(test):
    """The test fails where a call does not come back."""

    @functools.wraps(test)
    def timed():
        outcome = []

        def run():
            try:
                outcome.append(test())
            except BaseException as error:
                outcome.append(error)

        threading.Thread(target=run, daemon=True).start()
        for _ in range(100):
            if outcome:
                break
            time.sleep(0.1)
        assert outcome, "no answer within 10 s"
        if outcome[0] is not None:
            raise outcome[0]

    return timed
'''
"""For calls that do not come back."""
