"""As many caches of a class as a model needs, and what each call to them gives back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray
from core.contract.calls import Answer, Append, Ask, Call, Rows, Sizes, Told
from core.contract.plan import Plan
from core.contract.subject import Subject

Pair = tuple[FloatArray, FloatArray]
"""Keys and values [Hkv, m, D]."""


class RefusedError(Exception):
    """The class raised: `words`, in the line `where`, "" where that is not known."""

    def __init__(self, answer: Answer) -> None:
        where = f" ({answer.where})" if answer.where else ""
        super().__init__(f"{': '.join(answer.error or ())}{where}")
        self.is_mistake = answer.is_mistake


class NothingToReadError(Exception):
    """Nothing came back that attention can read, or the class does not answer any more."""


@dataclass(frozen=True, slots=True)
class Back:
    """What there is of a layer after a call.

    Attributes:
        attended: what adding rows gave back to attend to, else what was read after it.
        held: what was read after it; None: this class can only be read by adding rows.
        length: what the cache says; None: it says nothing.
    """

    attended: Pair | None
    held: Pair | None
    length: int | None


class DrivenCaches:
    """The caches; each sequence is played anew for a call, as a rule's is."""

    def __init__(self, subject: Subject, plan: Plan, sizes: Sizes, n_kv_heads: int) -> None:
        """New ones, of these sizes."""
        self._subject, self._plan, self._sizes = subject, plan, sizes
        self._heads = range(1 if plan.has_heads else n_kv_heads)
        self._calls: dict[tuple[int, int], list[Call]] = {}

    def append(self, layer: int, k: FloatArray, v: FloatArray) -> Back:
        """Add rows [Hkv, n, D] to a layer.

        Raises:
            RefusedError: the class raised.
            NothingToReadError: it took them, and gave back nothing that can be read.
        """
        return self._joined(
            [self._after(layer, head, _append(self._layer(layer), *self._of_head(head, k, v)))
             for head in self._heads]
        )  # fmt: skip

    def ask(self, layer: int, call: str, n: int = 0) -> None:
        """Truncate a layer, or reset it, where it has caches of its own.

        Raises:
            RefusedError: the class raised.
        """
        if layer == 0 or not self._plan.surface.takes_layer:
            for head in self._heads:
                self._after(layer, head, Ask(call, n=n))

    def look(self, layer: int) -> Back:
        """What there is of a layer, without another call."""
        return self._joined([self._after(layer, head, None) for head in self._heads])

    def _layer(self, layer: int) -> int:
        return layer if self._plan.surface.takes_layer else 0

    def _of_head(self, head: int, k: FloatArray, v: FloatArray) -> Pair:
        return (k, v) if self._plan.has_heads else (k[head : head + 1], v[head : head + 1])

    def _after(self, layer: int, head: int, call: Call | None) -> Back:
        plan = self._plan
        calls = self._calls.setdefault((layer - self._layer(layer), head), [])
        if call is not None:
            calls.append(call)
        looks: list[Call] = [
            Ask(name, layer=self._layer(layer))
            for name, offer in (("length", "length"), ("read", "read_before"))
            if plan.offers(offer)
        ]
        answers = self._subject.run(self._sizes, [*calls, *looks])
        done = answers[len(calls)] if len(answers) > len(calls) else answers[-1]
        if answers[-1].is_last:
            raise NothingToReadError(": ".join(answers[-1].error or ()))
        if call is not None and done.error is not None:
            raise RefusedError(done)
        seen = answers[len(calls) + 1 :]
        told = [answer.number for answer in seen if answer.number is not None]
        length = told[0] if plan.offers("length") and told else None
        held = self._pair(seen[-1]) if plan.offers("read_before") and seen else None
        return Back(self._pair(done) or held, held, length)

    def _pair(self, answer: Answer) -> Pair | None:
        if answer.pair is None:
            return None
        keys, values = (_of_one_text(told, self._plan.surface.layout) for told in answer.pair)
        return keys, values

    def _joined(self, heads: Sequence[Back]) -> Back:
        """Of all heads."""
        attended, held = ([getattr(b, name) for b in heads] for name in ("attended", "held"))
        return Back(_stacked(attended), _stacked(held), heads[0].length)


def _stacked(pairs: Sequence[Pair | None]) -> Pair | None:
    found = [pair for pair in pairs if pair is not None]
    if len(found) < len(pairs):
        return None
    shapes = {array.shape for pair in found for array in pair}
    if len(shapes) > 1 or len(next(iter(shapes))) != len(("heads", "rows", "size")):
        told = " and ".join(str(list(shape)) for shape in sorted(shapes))
        raise NothingToReadError(f"keys and values of the shapes {told} came back")
    keys, values = (np.concatenate([pair[part] for pair in found]) for part in (0, 1))
    return keys, values


def _of_one_text(told: Told, layout: str) -> FloatArray:
    """[h, n, d] of the only sequence."""
    array = told.array
    if array.ndim != len(layout):
        raise NothingToReadError(f"an array of the shape {list(array.shape)} came back")
    array = array.transpose([layout.index(axis) for axis in "bhnd" if axis in layout])
    if "b" in layout:
        array = array[0]
    return array if "h" in layout else array[None]


def _append(layer: int, k: FloatArray, v: FloatArray) -> Append:
    def rows(array: FloatArray) -> Rows:
        n_heads, n, d = array.shape
        return Rows(tuple(range(n)), n_heads, d, numbers=array[None])

    return Append(layer, rows(k), rows(v))
