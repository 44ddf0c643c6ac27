"""The rows of a small model, kept by caches of the user's class."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray
from core.contract.calls import Answer, Append, Ask, Call, Rows, Sizes, Told
from core.contract.decode_model import Sight
from core.contract.numbers import EPS, rounded
from core.contract.plan import Plan
from core.contract.subject import Subject

BAND = 1e-3
"""Of a row; rows that are missing or wrong differ by far more, float32 by less."""

Stored = tuple[Sequence[FloatArray], Sequence[FloatArray]]
"""Keys and values of each layer, [Hkv, N, D]."""


class NoRowsError(Exception):
    """The class raised, or gave back what attention cannot read."""

    def __init__(self, layer: int, words: str) -> None:
        super().__init__(words)
        self.layer, self.words = layer, words


class NotTakenError(Exception):
    """The class refuses the first rows of this kind."""


class StrangeTypeError(Exception):
    """Rows come back in a type of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Rows that are not those that belong there.

    Attributes:
        layer: the first layer with such rows.
        words: how they differ.
        preset: id of the fault that gives exactly such rows; None: of none that is known.
    """

    layer: int
    words: str
    preset: str | None


class Caches:
    """As many caches of the class as it takes to hold all layers and heads.

    A class that has no axis of heads, or no layers, gets a cache for each. The whole sequence is
    repeated for every new row: what a class answers may depend on nothing but its calls.

    Attributes:
        dtype: the narrowest type in which rows went in or came back so far.
    """

    def __init__(self, subject: Subject, plan: Plan, sizes: Sizes, dtype: str) -> None:
        """Rows go in as numbers of type `dtype`."""
        self._subject, self._plan, self._sizes = subject, plan, sizes
        self._given = self.dtype = dtype
        self._calls: dict[tuple[int, int], list[Call]] = {}
        self._n_tokens = 0
        self._returned: dict[int, tuple[FloatArray, FloatArray]] = {}

    def begin(self, n_tokens: int) -> None:
        """A step after which there are so many tokens, padding included."""
        self._n_tokens = n_tokens
        self._returned = {}

    def rows_of_layer(
        self, layer: int, k: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """[B, Hkv, n, D] new rows, to the rows [B, Hkv, m, D] that attention reads."""
        if self._plan.has_heads:
            pair = self._asked(layer, 0, k, v)
        else:
            heads = range(k.shape[1])
            pairs = [self._asked(layer, h, k[:, h : h + 1], v[:, h : h + 1]) for h in heads]
            pair = (
                np.concatenate([keys for keys, _ in pairs], axis=1),
                np.concatenate([values for _, values in pairs], axis=1),
            )
        self._returned[layer] = pair
        return pair

    def first_wrong(
        self, right: Stored, sequence: int, n_pads: int, n_new: int, sight: Sight
    ) -> Wrong | None:
        """The first layer whose rows of a sequence are not those that belong there."""
        for layer, pair in sorted(self._returned.items()):
            for n, (array, what) in enumerate(zip(pair, ("keys", "values"), strict=True)):
                look = Look(
                    array[sequence], right[n], layer, self._n_tokens, n_pads, n_new, self.dtype
                )
                found = look.difference(sight)
                if found is not None:
                    words = f"layer {layer}, {what} (inferred): {found}"
                    return Wrong(layer, words, look.preset(sight))
        return None

    def _asked(
        self, layer: int, head: int, k: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        takes_layer = self._plan.surface.takes_layer
        calls = self._calls.setdefault((0 if takes_layer else layer, head), [])
        calls.append(_append(layer if takes_layer else 0, k, v, self._given))
        read = [Ask("read", layer=layer if takes_layer else 0)]
        answers = self._subject.run(self._sizes, [*calls, *read])
        if len(calls) == 1 and answers[min(1, len(answers) - 1)].was_refused:
            error = answers[min(1, len(answers) - 1)].error or ("", "")
            raise NotTakenError(": ".join(error))
        pair = _pair(answers, len(calls), layer)
        self._notice({told.dtype for told in pair})
        found = [_canonical(told.array, self._plan.surface.layout) for told in pair]
        if self._plan.is_whole:
            n = min(self._n_tokens, found[0].shape[2])
            found = [array[:, :, :n] for array in found]
        n_sequences, heads, n_new, size = k.shape
        for array in found:
            if array.shape != (n_sequences, heads, max(n_new, found[0].shape[2]), size):
                shapes = " and ".join(str(list(told.array.shape)) for told in pair)
                words = f"{shapes} came back as keys and values after {n_new} were added"
                raise NoRowsError(layer, words)
        return found[0], found[1]

    def _notice(self, types: set[str]) -> None:
        for dtype in types:
            if dtype not in EPS:
                raise StrangeTypeError(f"rows that come back as {dtype}: that alone moves a logit")
            if EPS[dtype] > EPS[self.dtype]:
                self.dtype = dtype


@dataclass(frozen=True, slots=True)
class Look:
    """The rows [Hkv, m, D] of one layer and sequence that came back, beside the right ones.

    Attributes:
        array: keys, or values.
        right: the same of each layer without a cache, [Hkv, N, D].
        layer: which.
        n_tokens: tokens so far, `n_pads` of padding included.
        n_new: those of this step.
        dtype: the narrowest type that the rows went through.
    """

    array: FloatArray
    right: Sequence[FloatArray]
    layer: int
    n_tokens: int
    n_pads: int
    n_new: int
    dtype: str

    def difference(self, sight: Sight) -> str | None:
        """How the rows differ from those that the new tokens read; None: in nothing."""
        missing = self._missing(sight)
        if missing:
            return f"rows of tokens {_listed(missing)} are missing"
        belong, names = self._belong(sight), self._names(sight)
        if names == belong:
            return None
        return f"rows of tokens {_listed(names)} come back where {_listed(belong)} belong"

    def preset(self, sight: Sight) -> str | None:
        """A fault of ours that gives exactly these rows."""
        missing, belong, names = self._missing(sight), self._belong(sight), self._names(sight)
        n = len(belong)
        if missing and sight.window is not None:
            if 0 in missing and sight.sinks > 0:
                return "sinks-lost"
            return "evict-one-short" if len(missing) == 1 and n == sight.window - 1 else None
        if self._is_of_another_layer(sight):
            return "store-layers-share"
        if n > 2 and not any(name is None for name in names) and sorted(names) == belong:  # pyright: ignore[reportArgumentType]
            turned = {tuple(names[i:] + names[:i]) for i in range(1, n)}
            return "ring-shuffle" if sight.window == n and tuple(belong) in turned else None
        return None

    def _columns(self, sight: Sight) -> list[int]:
        """The token of each row, by its place; below 0: of none."""
        return (sight.tokens_of(self.array.shape[1], self.n_tokens) - self.n_pads).tolist()

    def _missing(self, sight: Sight) -> list[int]:
        places = np.arange(self.n_tokens - self.n_pads)
        needed = sight.readable(places[max(0, len(places) - self.n_new) :], places).any(0)
        held = self._columns(sight)
        return [t for t in places[needed].tolist() if t not in held]

    def _belong(self, sight: Sight) -> list[int]:
        return [t for t in self._columns(sight) if t >= 0]

    def _names(self, sight: Sight) -> list[int | None]:
        right = self.right[self.layer][:, : self.n_tokens - self.n_pads]
        rows = enumerate(self._columns(sight))
        is_pad = range(-self.n_pads, 0)
        return [self._name(self.array[:, r], right, t) for r, t in rows if t not in is_pad]

    def _name(self, row: FloatArray, right: FloatArray, expected: int) -> int | None:
        """The token whose row this is, the expected one before all others; None: of none."""
        band = max(BAND, 4 * EPS[self.dtype] * float(np.abs(right).max(initial=0.0)))
        like = [t for t in range(right.shape[1]) if np.allclose(row, right[:, t], atol=band)]
        return expected if expected in like else next(iter(like), None)

    def _is_of_another_layer(self, sight: Sight) -> bool:
        """Whether all rows but the new ones are another layer's, token by token."""
        old = [(r, t) for r, t in enumerate(self._columns(sight)) if t >= 0][: -self.n_new]
        others = [right for layer, right in enumerate(self.right) if layer != self.layer]
        return bool(old) and any(
            all(self._name(self.array[:, r], right, t) == t for r, t in old) for right in others
        )


def _append(layer: int, k: FloatArray, v: FloatArray, dtype: str) -> Append:
    def rows(array: FloatArray) -> Rows:
        n_sequences, n_heads, n, d = array.shape
        numbers = rounded(array, dtype)
        return Rows(tuple(range(n)), n_heads, d, n_sequences, dtype, numbers=numbers)

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
    """[b, h, n, d]."""
    axes = [axis for axis in "bhnd" if axis in layout]
    array = array.transpose([layout.index(axis) for axis in axes])
    for place, axis in enumerate("bh"):
        if axis not in layout:
            array = np.expand_dims(array, place)
    return array


def _listed(tokens: Sequence[int | None]) -> str:
    return ", ".join("?" if token is None else str(token) for token in tokens)
