"""The rows of a small model, kept by caches of the user's class."""

from collections.abc import Sequence

import numpy as np

from core.arrays import FloatArray
from core.contract.calls import Answer, Append, Ask, Call, Rows, Sizes, Told
from core.contract.decode_model import Sight
from core.contract.plan import Plan
from core.contract.subject import Subject

WIDE = frozenset(("float32", "float64"))
BAND = 1e-3
"""Of a logit, or of a row; rows that are missing or wrong differ by far more, float32 by less."""

Stored = tuple[Sequence[FloatArray], Sequence[FloatArray]]
"""Keys and values of each layer, [Hkv, N, D]."""


class NoRowsError(Exception):
    """The class raised, or gave back what attention cannot read."""

    def __init__(self, layer: int, words: str) -> None:
        super().__init__(words)
        self.layer, self.words = layer, words


class NarrowError(Exception):
    """Rows come back in a type whose rounding alone would move a logit by more than the band."""


class Caches:
    """As many caches of the class as it takes to hold all layers and heads.

    A class that has no axis of heads, or no layers, gets a cache for each. The whole sequence is
    repeated for every new row: what a class answers may depend on nothing but its calls.
    """

    def __init__(self, subject: Subject, plan: Plan, sizes: Sizes) -> None:
        self._subject, self._plan, self._sizes = subject, plan, sizes
        self._calls: dict[tuple[int, int], list[Call]] = {}
        self._n_tokens = 0
        self._returned: dict[int, tuple[FloatArray, FloatArray]] = {}

    def begin(self, n_tokens: int) -> None:
        """A step after which there are so many tokens."""
        self._n_tokens = n_tokens
        self._returned = {}

    def rows_of_layer(
        self, layer: int, k: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """[Hkv, n, D] new rows, to the rows [Hkv, m, D] that attention reads."""
        if self._plan.has_heads:
            pair = self._asked(layer, 0, k, v)
        else:
            heads = [self._asked(layer, h, k[h : h + 1], v[h : h + 1]) for h in range(len(k))]
            pair = (
                np.concatenate([keys for keys, _ in heads]),
                np.concatenate([values for _, values in heads]),
            )
        self._returned[layer] = pair
        return pair

    def first_wrong(self, right: Stored, n_new: int, sight: Sight) -> tuple[int, str] | None:
        """The first layer whose rows are not those that belong there, and how they differ."""
        for layer, pair in sorted(self._returned.items()):
            for array, wanted, what in zip(pair, right, ("keys", "values"), strict=True):
                found = _difference(array, wanted[layer], self._n_tokens, n_new, sight)
                if found is not None:
                    return layer, f"layer {layer}, {what} (inferred): {found}"
        return None

    def _asked(
        self, layer: int, head: int, k: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        takes_layer = self._plan.surface.takes_layer
        calls = self._calls.setdefault((0 if takes_layer else layer, head), [])
        calls.append(_append(layer if takes_layer else 0, k, v, self._sizes.dtype))
        read = [Ask("read", layer=layer if takes_layer else 0)]
        answers = self._subject.run(self._sizes, [*calls, *read])
        pair = _pair(answers, len(calls), layer)
        if not {told.dtype for told in pair} <= WIDE:
            narrow = next(told.dtype for told in pair if told.dtype not in WIDE)
            raise NarrowError(f"rows that come back as {narrow}: that alone moves a logit")
        found = [_canonical(told.array, self._plan.surface.layout) for told in pair]
        if self._plan.is_whole:
            n = min(self._n_tokens, found[0].shape[1])
            found = [array[:, :n] for array in found]
        heads, n_new, size = k.shape
        for array in found:
            if array.shape != (heads, max(n_new, found[0].shape[1]), size):
                shapes = " and ".join(str(list(told.array.shape)) for told in pair)
                words = f"{shapes} came back as keys and values after {n_new} were added"
                raise NoRowsError(layer, words)
        return found[0], found[1]


def _append(layer: int, k: FloatArray, v: FloatArray, dtype: str) -> Append:
    def rows(array: FloatArray) -> Rows:
        n_heads, n, d = array.shape
        return Rows(tuple(range(n)), n_heads, d, dtype=dtype, numbers=array[None])

    return Append(layer, rows(k), rows(v))


def _pair(answers: Sequence[Answer], n_calls: int, layer: int) -> tuple[Told, Told]:
    """What the last append gave back, or else what was read after it."""
    last = answers[n_calls] if len(answers) > n_calls else answers[-1]
    if last.error is not None:
        raise NoRowsError(layer, ": ".join(last.error))
    read = answers[-1]
    pair = last.pair or read.pair
    if pair is None:
        raise NoRowsError(layer, ": ".join(read.error) if read.error else "nothing came back")
    return pair


def _canonical(array: FloatArray, layout: str) -> FloatArray:
    """[h, n, d] of the first sequence."""
    axes = [axis for axis in "bhnd" if axis in layout]
    array = array.transpose([layout.index(axis) for axis in axes])
    if "b" in layout:
        array = array[0]
    return array if "h" in layout else array[None]


def _difference(
    array: FloatArray, right: FloatArray, n_tokens: int, n_new: int, sight: Sight
) -> str | None:
    """How rows [Hkv, m, D] differ from those that the new tokens read; None: in nothing."""
    tokens = sight.tokens_of(array.shape[1], n_tokens)
    places = np.arange(n_tokens)
    needed = sight.readable(places[n_tokens - n_new :], places).any(0)
    missing = [t for t in places[needed].tolist() if t not in tokens]
    if missing:
        return f"rows of tokens {_listed(missing)} are missing"
    names = [_name(array[:, r], right[:, :n_tokens], t) for r, t in enumerate(tokens.tolist())]
    if names == tokens.tolist():
        return None
    belong = [t for t in tokens.tolist() if t >= 0]
    return f"rows of tokens {_listed(names)} come back where {_listed(belong)} belong"


def _name(row: FloatArray, right: FloatArray, expected: int) -> int | None:
    """The token whose row this is, the expected one before all others; None: of none."""
    like = [t for t in range(right.shape[1]) if np.allclose(row, right[:, t], atol=BAND)]
    return expected if expected in like else next(iter(like), None)


def _listed(tokens: Sequence[int | None]) -> str:
    return ", ".join("?" if token is None else str(token) for token in tokens)
