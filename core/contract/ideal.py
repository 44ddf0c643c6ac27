"""What a right cache answers: a list of tokens per layer, written from the rules alone.

`Habits` are known ways to be wrong. A cache that breaks one rule breaks others by it; answers that
this model gives too, once it has the habit, follow from that rule and are no finding of their own.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from core.contract.calls import ONE_FOLD, TWO_FOLD, Append, Ask, Call, Sizes

Policy = Literal["refuse", "window", "unbounded"]


@dataclass(frozen=True, slots=True)
class Habits:
    """Ways of being wrong that explain failures of other rules.

    Attributes:
        reads_whole: reading shows the whole buffer, rows never written as zeros (rule 4).
        n_lost: so many of the last rows cannot be used (rule 9).
        counts_refused: a refused append moves the length all the same (rule 11).
    """

    reads_whole: bool = False
    n_lost: int = 0
    counts_refused: bool = False


RIGHT = Habits()


@dataclass(frozen=True, slots=True)
class Expected:
    """What a call should give.

    Attributes:
        refused: whether it should raise; None: it may or may not.
        tokens: what reading shows; None: nothing is read, or nothing is said of it.
        older: tokens that may be shown too: those that left in this very append.
        n_before: how many of `tokens` stand before the older ones: the sinks.
        number: a length or a count of tokens.
    """

    refused: bool | None = False
    tokens: tuple[int | str, ...] | None = None
    older: tuple[int | str, ...] = ()
    n_before: int = 0
    number: int | None = None

    def shown_with(self, n_older: int) -> tuple[int | str, ...]:
        """What is read when so many of the older tokens are shown too."""
        tokens, older = self.tokens or (), self.older[len(self.older) - n_older :]
        return (*tokens[: self.n_before], *older, *tokens[self.n_before :])


@dataclass(slots=True)
class _Layer:
    """What one layer holds.

    Attributes:
        held: tokens, oldest first.
        seen: tokens of this text so far.
        n_more: by how much the length is too large.
        left: tokens that left in the last append.
    """

    held: list[int | str] = field(default_factory=list[int | str])
    seen: int = 0
    n_more: int = 0
    left: tuple[int | str, ...] = ()

    def copy(self) -> "_Layer":
        """A state of its own."""
        return _Layer(list(self.held), self.seen, self.n_more, self.left)


class Ideal:
    """A right cache of one policy and size, or one with known habits."""

    def __init__(
        self,
        policy: Policy,
        sizes: Sizes,
        habits: Habits = RIGHT,
        *,
        counts_seen: bool = False,
        leaves_room: bool = False,
        block_size: int | None = None,
    ) -> None:
        """An empty one.

        With `counts_seen` its length is the number of tokens seen; with `leaves_room`, that of the
        rows that a full window keeps for the next token, which makes it full again. Where rows lie
        in blocks, the whole of what is read is that of its blocks.
        """
        self._block_size = block_size
        self._policy, self._sizes, self._habits = policy, sizes, habits
        self._counts_seen, self._leaves_room = counts_seen, leaves_room
        self._layers: dict[int, _Layer] = {}
        self._saved: dict[int, _Layer] = {}
        self._other: dict[int, _Layer] = {}

    def expected(self, call: Call) -> Expected:
        """What the call should give; it changes what is held."""
        if isinstance(call, Append):
            return self._append(call)
        return {
            "read": self._read,
            "length": self._length,
            "seen": self._seen,
            "reset": self._reset,
            "truncate": self._truncate,
            "snapshot": self._snapshot,
            "restore": self._restore,
            "blocks": self._blocks,
            "fork": self._fork,
            "other": self._swap,
        }.get(call.call, _anything)(call)

    def _layer(self, n: int) -> _Layer:
        return self._layers.setdefault(n, _Layer())

    def _append(self, call: Append) -> Expected:
        layer, n = self._layer(call.layer), len(call.k.tokens)
        if not fits(call, self._sizes):
            return Expected(refused=True)
        room = self._sizes.capacity - self._habits.n_lost
        if self._policy == "refuse" and len(layer.held) + layer.n_more + n > room:
            if self._habits.counts_refused:
                layer.n_more += n
            return Expected(refused=None if n == 0 else True)
        layer.held += _names(call)
        layer.seen += n
        if n:
            layer.left = ()
        if self._policy == "window":
            self._let_go(layer, n)
        return replace(self._reading(layer), refused=None if n == 0 else False)

    def _let_go(self, layer: _Layer, n: int) -> None:
        sinks, capacity = self._sizes.sinks or 0, self._sizes.capacity
        n_over = len(layer.held) - capacity
        if n_over > 0:
            gone = tuple(layer.held[sinks : sinks + n_over])
            del layer.held[sinks : sinks + n_over]
            if n > 1:  # the first rows of a block may read what its last rows may not
                layer.left = gone

    def _shown(self, layer: _Layer) -> tuple[int | str, ...]:
        if not self._habits.reads_whole:
            return tuple(layer.held)
        n, n_whole = len(layer.held), self._sizes.capacity
        if self._block_size is not None:
            n_whole = -(-n // self._block_size) * self._block_size
        return (*layer.held, *["zeros"] * (n_whole - n))

    def _read(self, call: Ask) -> Expected:
        return self._reading(self._layer(call.layer))

    def _reading(self, layer: _Layer) -> Expected:
        n_before = (self._sizes.sinks or 0) if layer.left else 0
        return Expected(tokens=self._shown(layer), older=layer.left, n_before=n_before)

    def _length(self, call: Ask) -> Expected:
        layer = self._layer(call.layer)
        held = layer.seen if self._counts_seen else len(layer.held)
        if self._leaves_room:
            held = min(held, self._sizes.capacity - 1)
        return Expected(number=held + layer.n_more)

    def _seen(self, call: Ask) -> Expected:
        return Expected(number=self._layer(call.layer).seen)

    def _reset(self, call: Ask) -> Expected:
        del call
        self._layers = {}
        return Expected()

    def _truncate(self, call: Ask) -> Expected:
        layers = self._layers.values()
        seen = max((layer.seen for layer in layers), default=0)
        if call.n < 0 or call.n > seen:
            return Expected(refused=None)
        if self._policy == "window" and seen > self._sizes.capacity and call.n < seen - 1:
            return Expected(refused=True)  # a row that a query at n reads has left
        for layer in layers:
            n_gone = layer.seen - call.n
            if n_gone > 0:
                del layer.held[max(0, len(layer.held) - n_gone) :]
                layer.seen = call.n
                layer.left = ()
        return Expected()

    def _snapshot(self, call: Ask) -> Expected:
        del call
        self._saved = {n: layer.copy() for n, layer in self._layers.items()}
        return Expected()

    def _restore(self, call: Ask) -> Expected:
        del call
        self._layers = {n: layer.copy() for n, layer in self._saved.items()}
        return Expected()

    def _blocks(self, call: Ask) -> Expected:
        """The rows that blocks are needed for."""
        del call
        return Expected(number=len(self._layer(0).held))

    def _fork(self, call: Ask) -> Expected:
        del call
        self._other = {n: layer.copy() for n, layer in self._layers.items()}
        return Expected()

    def _swap(self, call: Ask) -> Expected:
        del call
        self._layers, self._other = self._other, self._layers
        return Expected()


def _anything(call: Ask) -> Expected:
    del call
    return Expected(refused=None)


def _names(call: Append) -> list[int | str]:
    """What will be read of the rows of an append."""
    if call.k.fill is not None:
        word = "zeros" if call.k.fill == 0 else f"all {call.k.fill:g}"
        return [word] * len(call.k.tokens)
    special = call.k.special or {}
    return [special.get(place, token) for place, token in enumerate(call.k.tokens)]


def fits(call: Append, sizes: Sizes) -> bool:
    """Whether keys and values belong together and to this cache."""
    k, v = call.k, call.v
    return (
        len(k.tokens) == len(v.tokens)
        and not {k.kind, v.kind} & {ONE_FOLD, TWO_FOLD}
        and (k.n_heads, k.batch, k.d) == (sizes.n_heads, sizes.batch, sizes.d_k)
        and (v.n_heads, v.batch, v.d) == (sizes.n_heads, sizes.batch, sizes.d_v)
    )
