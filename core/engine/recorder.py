"""Keeps what the engine used, and finds out from the bytes whose row is really where.

It asks no seam about what it sees: it compares the rows that were handed to the store with the
rows that came back, and never looks into the ledger. So it can say that a row was never written,
or is another token's. The file is long because these are one question: what went in, what came
back, whose it is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from core.arrays import ABSENT, FloatArray, IntArray, frozen
from core.engine.forward import LayerTensors, Watcher
from core.engine.rows import LayerRows, RowSelection, RowStore, is_run, selection
from core.engine.seams import Seams
from core.engine.types import LayerPlan, are_same
from core.record import LayerRecord, LiveRows, Rows

_INT_OF_SIZE = {2: np.int16, 4: np.int32, 8: np.int64}


class Witness(Watcher, Protocol):
    """A watcher of whole steps, who can tell afterwards what was seen."""

    def begin(self, step: int, tokens: IntArray, plans: Sequence[LayerPlan]) -> None:
        """A step is about to compute `tokens` [T] by these plans, one per layer."""
        ...

    def taken(self) -> tuple[LayerRecord, ...]:
        """The records of the step's layers."""
        ...

    def live(self, slots: IntArray, seams: Sequence[Seams]) -> tuple[LiveRows, ...]:
        """What is really in these slots now, per layer."""
        ...

    def lost_sight(self) -> None:
        """Rows were stored without a model pass, and nobody read them back."""
        ...

    def forget_from(self, token_index: int) -> None:
        """Tokens from `token_index` on are no part of the text any more."""
        ...

    def what_is_known(self) -> "Known":
        """What is known of the rows, for another sequence that goes on with copies of them."""
        ...

    def take_over(self, known: "Known") -> None:
        """The rows are said to be copies of another sequence's, of which this is known."""
        ...


def to_host(tensor: Tensor) -> FloatArray:
    """A read-only numpy array of the same numbers; bfloat16 becomes float32, which holds it."""
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.float()
    return _shared_with_numpy(tensor if tensor.is_cpu else tensor.cpu())


def to_host_like(like: Tensor) -> Callable[[Tensor], FloatArray]:
    """`to_host`, without what it asks, for tensors in the number type and place of `like`."""
    return _shared_with_numpy if like.is_cpu and like.dtype is not torch.bfloat16 else to_host


def _shared_with_numpy(tensor: Tensor) -> FloatArray:
    array: FloatArray = tensor.numpy()
    array.setflags(write=False)
    return array


def _bits(rows: FloatArray) -> IntArray:
    """The bytes of rows [2, Hkv, n, D] as integers [n, 2, Hkv, ...], so that NaN equals NaN.

    Rows first, as they lie in the buffer: what is read is compared in one go through memory.
    """
    return rows.transpose(2, 0, 1, 3).view(_INT_OF_SIZE[rows.itemsize])  # pyright: ignore[reportReturnType]  # integers of another size


_NO_ROWS = frozen(np.empty(0, dtype=np.int64))


class _Names:
    """Whose row is where. Layers share one until one of them differs.

    Attributes:
        token: [R] token index whose row was last found at each row; ABSENT: none.
        version: [R] step in which the bytes there were first read; ABSENT: as allocated.
    """

    def __init__(self, token: IntArray, version: IntArray) -> None:
        self.token = token
        self.version = version

    @classmethod
    def unknown(cls, n_rows: int) -> "_Names":
        return cls(np.full(n_rows, ABSENT), np.full(n_rows, ABSENT))

    def written(self, rows: IntArray, tokens: IntArray, step: int) -> None:
        """Rows are about to be written in this step for `tokens`; those past the end are lost."""
        if len(rows) == 1:
            row = int(rows[0])
            if row < len(self.token):
                self.token[row], self.version[row] = tokens[0], step
            return
        is_inside = rows < len(self.token)
        self.token[rows[is_inside]] = tokens[is_inside]
        self.version[rows[is_inside]] = step

    def copy(self) -> "_Names":
        return _Names(self.token.copy(), self.version.copy())


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """What is known of a layer's rows: whose they are, their bytes, and who was handed over."""

    names: _Names
    is_own: bool
    memory: bytes
    given: list[tuple[IntArray, FloatArray]]
    owner: dict[bytes, int]


Known = tuple[KnownRows, ...]
"""One a layer."""


class _RowWatch:
    """The bytes of one layer's rows, as they should be if every store did what it was asked to."""

    def __init__(self, kv: Tensor, names: _Names) -> None:
        """Start from the buffer `kv` [2, Hkv, R, D] as it is; what it may grow by reads zero."""
        self.names = names
        self.is_own = False
        self.surprise: FloatArray | None = None
        self._to_host = to_host_like(kv)
        n_more = len(names.token) - kv.shape[2]
        rows = to_host(torch.nn.functional.pad(kv, (0, 0, 0, n_more)) if n_more else kv)
        bits = _bits(rows)
        self._memory = bytearray(bits.tobytes())
        self._known: IntArray = np.frombuffer(self._memory, bits.dtype).reshape(bits.shape)
        self._known_rows: FloatArray = self._known.view(rows.dtype)  # the same memory
        self.new_rows: FloatArray = np.empty(0)
        self.seen_rows: IntArray = _NO_ROWS
        self._given: list[tuple[IntArray, FloatArray]] = []
        self._owner: dict[bytes, int] = {}

    def own_names(self) -> _Names:
        """The layer's own names, apart from the others' from now on."""
        if not self.is_own:
            self.names, self.is_own = self.names.copy(), True
        return self.names

    def stored(self, tokens: IntArray, rows: IntArray, new_rows: Tensor) -> None:
        """`new_rows` [2, Hkv, T, D] of `tokens` were handed to the store, for `rows`."""
        self.new_rows = self._to_host(new_rows)
        self.surprise = None
        self._given.append((tokens, self.new_rows))
        if len(rows) == 1:
            row = int(rows[0])
            if row < len(self._known):
                self._known_rows[row] = self.new_rows[:, :, 0]
            return
        is_inside = rows < len(self._known)
        self._known[rows[is_inside]] = _bits(self.new_rows)[is_inside]

    def was_read(self, step: int, rows: IntArray, selected: RowSelection, read: Tensor) -> None:
        """`read` [2, Hkv, S, D] came back from `rows`: find out where it is not what was meant."""
        self.seen_rows = rows
        found_rows = self._to_host(read)
        if isinstance(selected, slice) and self._stand_at(selected.start, found_rows):
            return
        bits = _bits(found_rows)
        is_other = bits != self._known[rows]
        if not is_other.any():
            return
        self.surprise = found_rows.copy()  # what reads it may write to it
        names = self.own_names()
        for column in np.flatnonzero(is_other.any(axis=(1, 2, 3))).tolist():
            row, found = int(rows[column]), bits[column]
            self._known[row] = found
            names.token[row] = self._owner_of(found)
            names.version[row] = step

    def _stand_at(self, first_row: int, found_rows: FloatArray) -> bool:
        """Whether `found_rows` [2, Hkv, n, D] are, byte for byte, the known ones from there on.

        One comparison in one pass through memory, since every layer is asked in every step.
        """
        rows_first = np.ascontiguousarray(found_rows.transpose(2, 0, 1, 3))
        return self._memory.startswith(rows_first.data, first_row * self._known.strides[0])

    def forget(self, rows: IntArray, token_index: int) -> None:
        """Tokens from `token_index` on are gone; `rows` are the rows that were theirs."""
        self._learn_owners()
        self._owner = {bits: token for bits, token in self._owner.items() if token < token_index}
        self.names.token[rows] = ABSENT
        # Whatever is read there next is looked at anew, even if its bytes are the old ones.
        self._known[rows] = ~self._known[rows]

    def known(self, names: _Names) -> KnownRows:
        """A copy of what is known, with `names` for the layer's names."""
        given, owner = list(self._given), dict(self._owner)
        return KnownRows(names, self.is_own, bytes(self._memory), given, owner)

    def take_over(self, known: KnownRows) -> None:
        """Go on from what is known of another sequence's rows."""
        self.names, self.is_own = known.names, known.is_own
        self._memory[:] = known.memory
        self._given, self._owner = known.given, known.owner
        self.seen_rows = _NO_ROWS

    def unseen(self, rows: IntArray) -> IntArray:
        """Which of `rows` were not read since rows were last stored, as places in `rows`."""
        is_seen = np.zeros(len(self._known), dtype=bool)
        is_seen[self.seen_rows] = True
        return np.flatnonzero(~is_seen[rows])

    def tokens_at(self, rows: IntArray, unseen: IntArray, layer_rows: LayerRows) -> IntArray:
        """[n] token whose row is at each of `rows` now; the unseen ones are looked at for it."""
        tokens = self.names.token[rows]
        if len(unseen):
            wanted = rows[unseen]
            bits = _bits(to_host(layer_rows.read(selection(wanted, layer_rows.kv.device))))
            is_other = (bits != self._known[wanted]).any(axis=(1, 2, 3))
            for i in np.flatnonzero(is_other).tolist():
                tokens[unseen[i]] = self._owner_of(bits[i])
        return tokens

    def _owner_of(self, bits: IntArray) -> int:
        """The newest token whose key and value have these bytes [2, Hkv, ...]."""
        self._learn_owners()
        return self._owner.get(bits.tobytes(), ABSENT)

    def _learn_owners(self) -> None:
        for tokens, new_rows in self._given:
            bits = _bits(new_rows)
            for i, token in enumerate(tokens.tolist()):
                self._owner[bits[i].tobytes()] = token
        self._given.clear()


class Recorder:
    """Records one step after the other: the `Witness` of every run."""

    def __init__(self, store: RowStore) -> None:
        """Watch the rows of each layer of `store`, before anything is written."""
        names = _Names.unknown(store.n_rows)
        self._store = store
        self._to_host = to_host_like(store.scratch)
        self._watches = tuple(_RowWatch(rows.kv, names) for rows in store.layers)
        self._step = 0
        self._tokens: IntArray = np.empty(0, dtype=np.int64)
        self._layers: list[LayerRecord] = []
        self._asked: tuple[_Names, LayerPlan] | None = None
        self._found: tuple[IntArray, IntArray] = (self._tokens, self._tokens)

    def begin(self, step: int, tokens: IntArray, plans: Sequence[LayerPlan]) -> None:
        """See `Witness`."""
        self._step, self._tokens, self._layers, self._asked = step, tokens, [], None
        shared_plan = plans[0]
        marked: set[int] = set()
        for watch, plan in zip(self._watches, plans, strict=True):
            if plan is not shared_plan:
                watch.own_names()
        for watch, plan in zip(self._watches, plans, strict=True):
            if id(watch.names) not in marked:
                marked.add(id(watch.names))
                watch.names.written(plan.write_rows, tokens, step)

    def taken(self) -> tuple[LayerRecord, ...]:
        """See `Witness`."""
        return tuple(self._layers)

    def stored(self, layer: int, plan: LayerPlan, new_rows: Tensor) -> None:
        """See `Watcher`."""
        self._watches[layer].stored(self._tokens, plan.write_rows, new_rows)

    def was_read(self, layer: int, plan: LayerPlan, rows: RowSelection, read: Tensor) -> None:
        """See `Watcher`."""
        self._watches[layer].was_read(self._step, plan.read_rows, rows, read)

    def computed(self, layer: int, plan: LayerPlan, tensors: LayerTensors) -> None:
        """See `Watcher`."""
        watch, to_host = self._watches[layer], self._to_host
        if self._asked != (watch.names, plan):
            self._asked, rows = (watch.names, plan), plan.read_rows
            self._found = frozen(watch.names.token[rows]), frozen(watch.names.version[rows])
        token, version = self._found
        new_rows = watch.new_rows
        first_read = Rows(plan.write_rows, new_rows)
        if watch.surprise is not None:
            first_read = _first_read(self._step, plan, version, watch.surprise, new_rows)
        self._layers.append(
            LayerRecord(
                plan=plan,
                queries=to_host(tensors.queries),
                new_keys=new_rows[0],
                new_values=new_rows[1],
                row_token=token,
                row_version=version,
                first_read=first_read,
                used_keys=None if tensors.used_keys is None else to_host(tensors.used_keys),
                scores=to_host(tensors.scores),
                weights=to_host(tensors.weights),
                output=to_host(tensors.output),
                residual=to_host(tensors.residual),
            )
        )

    def live(self, slots: IntArray, seams: Sequence[Seams]) -> tuple[LiveRows, ...]:
        """See `Witness`; one object for layers that agree."""
        in_order = frozen(slots if is_run(slots) else np.sort(slots))
        known: dict[tuple[int, int, int], LiveRows] = {}
        every: list[LiveRows] = []
        for watch, layer_rows, table in zip(self._watches, self._store.layers, seams, strict=True):
            key = (id(watch.names), id(table), id(watch.seen_rows))
            found = known.get(key)
            if found is None:
                found, is_sure = _live_rows(
                    in_order, table.slot_mapping(in_order), watch, layer_rows
                )
                found = _shared(found, every)
                if is_sure:
                    known[key] = found
            every.append(found)
        return tuple(every)

    def lost_sight(self) -> None:
        """See `Witness`."""
        for watch in self._watches:
            watch.seen_rows = _NO_ROWS

    def what_is_known(self) -> Known:
        """See `Witness`."""
        copies = {id(watch.names): watch.names.copy() for watch in self._watches}
        return tuple(watch.known(copies[id(watch.names)]) for watch in self._watches)

    def take_over(self, known: Known) -> None:
        """See `Witness`."""
        for watch, rows in zip(self._watches, known, strict=True):
            watch.take_over(rows)

    def forget_from(self, token_index: int) -> None:
        """See `Witness`."""
        forgotten = [np.flatnonzero(w.names.token >= token_index) for w in self._watches]
        for watch, rows in zip(self._watches, forgotten, strict=True):
            watch.forget(rows, token_index)


def _live_rows(
    slots: IntArray, rows: IntArray, watch: _RowWatch, layer_rows: LayerRows
) -> tuple[LiveRows, bool]:
    """What is in the slots of a layer, and whether all of it was known from reading."""
    if are_same(rows, watch.seen_rows):
        return LiveRows(slots, frozen(rows), frozen(watch.names.token[rows])), True
    is_inside = rows < layer_rows.n_allocated
    inside = rows[is_inside]
    unseen = watch.unseen(inside)
    tokens = np.full(len(rows), ABSENT)
    tokens[is_inside] = watch.tokens_at(inside, unseen, layer_rows)
    row = frozen(np.where(is_inside, rows, ABSENT))
    return LiveRows(slots, row, frozen(tokens)), len(unseen) == 0


def _shared(found: LiveRows, known: Iterable[LiveRows]) -> LiveRows:
    """An equal one of those known, else the one found."""
    for other in known:
        if np.array_equal(other.token_index, found.token_index) and np.array_equal(
            other.row, found.row
        ):
            return other
    return found


def _first_read(
    step: int, plan: LayerPlan, version: IntArray, read: FloatArray, new_rows: FloatArray
) -> Rows:
    """Rows whose version is this step: those read, and those written that were not read."""
    is_new = version == step
    is_unread = ~np.isin(plan.write_rows, plan.read_rows)
    rows = np.concatenate((plan.read_rows[is_new], plan.write_rows[is_unread]))
    kv = np.concatenate((read[:, :, is_new], new_rows[:, :, is_unread]), axis=2)
    return Rows(frozen(rows), frozen(kv))
