"""The account of a step of a driven run, in the form of our own.

What the class does not tell is inferred. A slot is a place in the text while all tokens stay; where
tokens leave, each new one is said to take the lowest slot that is free. A physical row is not known
of any class: it is called by the slot's number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray, as_ids, frozen
from core.contract.decode_model import LayerNumbers, Sight
from core.driven.rows import LayerWatch
from core.engine.types import LayerPlan, Ledger, lowest_free
from core.record import LayerRecord, LiveRows, Rows

UNKNOWN = -1
"""Key of a row that came back and belongs to no append. Below it stand the keys of a probe's rows;
all others are token indices."""


@dataclass(frozen=True, slots=True)
class TextSight(Sight):
    """What a token sees of rows that came back; those of no token are let through.

    Attributes:
        order: key of every row that was added, the new ones included, oldest first.
    """

    order: tuple[int, ...] = ()

    def readable(self, queries: IntArray, tokens: IntArray) -> BoolArray:
        """[queries, rows] whether one may see the other."""
        rule = Sight(self.window, self.sinks)  # zero-argument super() does not go with slots
        return rule.readable(queries, tokens) | (tokens < 0)

    def tokens_of(self, n_rows: int, n_seen: int) -> IntArray:
        """[n_rows] key of each row: sinks, then the newest; what is too much stands at the end."""
        return claims(self.order, n_rows, self.sinks)


def claims(order: Sequence[int], n_rows: int, sinks: int) -> IntArray:
    """[n_rows] keys that rows which come back are taken for."""
    n_more = n_rows - len(order)
    if n_more >= 0:
        return as_ids([*order, *[UNKNOWN] * n_more])
    n_sinks = min(sinks, n_rows)
    return as_ids([*order[:n_sinks], *order[len(order) - (n_rows - n_sinks) :]])


@dataclass(slots=True)
class Books:
    """What is known of the caches: kept from step to step.

    Attributes:
        capacity: of the caches.
        watches: one a layer.
        order: keys of the rows added so far, those that left included, oldest first.
        slot_of: key -> slot, of the rows that are taken to be held.
        token_ids: what was read, by token index.
        live: what was inferred of each layer last.
    """

    capacity: int
    watches: tuple[LayerWatch, ...]
    order: list[int] = field(default_factory=list[int])
    slot_of: dict[int, int] = field(default_factory=dict[int, int])
    token_ids: list[int] = field(default_factory=list[int])
    live: tuple[LiveRows, ...] = ()

    @property
    def seen(self) -> int:
        """Tokens of the text read so far."""
        return len(self.token_ids)

    def slots_for(self, n: int) -> IntArray:
        """[n] slots for new rows: free ones, lowest first."""
        return frozen(lowest_free(as_ids(sorted(self.slot_of.values())), n))

    def add(self, keys: IntArray, slots: IntArray) -> None:
        """Rows were taken."""
        self.order += keys.tolist()
        self.slot_of |= dict(zip(keys.tolist(), slots.tolist(), strict=True))

    def keep_only(self, keys: Iterable[int]) -> None:
        """Only these rows are taken to be held."""
        kept = set(keys)
        self.slot_of = {key: slot for key, slot in self.slot_of.items() if key in kept}

    def forget_from(self, token: int) -> None:
        """Tokens from here on are no part of the text any more."""
        del self.token_ids[token:]
        self.order = [key for key in self.order if key < token]
        self.keep_only(self.order)
        for watch in self.watches:
            watch.forget_from(token)

    def slots_of(self, keys: IntArray) -> IntArray:
        """[m] slots of rows that are taken for these; those of none get free ones."""
        used = [self.slot_of.get(key) for key in keys.tolist()]
        taken = {slot for slot in used if slot is not None} | set(self.slot_of.values())
        free = iter(lowest_free(as_ids(sorted(taken)), len(used)).tolist())
        return as_ids([next(free) if slot is None else slot for slot in used])

    def ledger(self, length: int) -> Ledger:
        """What the caches are said to hold, `length` rows."""
        keys = [key for key in self.order if key in self.slot_of]
        tokens = as_ids([max(key, ABSENT) for key in keys])
        ids = [ABSENT if key < 0 else self.token_ids[key] for key in keys]
        return Ledger(
            self.capacity,
            length,
            self.seen,
            slot=as_ids([self.slot_of[key] for key in keys]),
            token_index=tokens,
            position_id=tokens,
            token_id=as_ids(ids),
        )

    def take_stock(self, ledger: Ledger, held: Sequence[FloatArray], sinks: int) -> None:
        """Infer what is in each counted slot from the rows [2, Hkv, m, D] of each layer."""
        slots, found = frozen(np.sort(ledger.counted_slots)), list[LiveRows]()
        for watch, rows in zip(self.watches, held, strict=True):
            keys = claims(self.order, rows.shape[2], sinks)
            names = watch.name(rows, keys).tolist()
            named = dict(zip(self.slots_of(keys).tolist(), names, strict=True))
            row = [slot if slot in named else ABSENT for slot in slots.tolist()]
            tokens = [named.get(slot, ABSENT) for slot in slots.tolist()]
            found.append(_shared(LiveRows(slots, as_ids(row), as_ids(tokens)), found))
        self.live = tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class LayerStep:
    """What went into a layer and came out of it.

    Attributes:
        given: [2, Hkv, T, D] the new rows.
        read: [2, Hkv, m, D] those that came back.
        numbers: what the model made of them.
    """

    given: FloatArray
    read: FloatArray
    numbers: LayerNumbers


def layer_records(
    books: Books, step: int, tokens: IntArray, slots: IntArray, layers: Sequence[LayerStep]
) -> tuple[LayerRecord, ...]:
    """The layers of a step that read `tokens` [T], said to be in `slots` [T]."""
    records: list[LayerRecord] = []
    for watch, layer in zip(books.watches, layers, strict=True):
        plan = _plan(books, tokens, slots, layer.numbers, records)
        is_unread = ~np.isin(slots, plan.view_slots)
        unread = Rows(slots[is_unread], layer.given[:, :, is_unread])
        found = watch.read(step, plan.view_slots, plan.view_token_index, layer.read, unread)
        same = [r.row_token for r in records if np.array_equal(r.row_token, found.token)]
        numbers = layer.numbers
        records.append(
            LayerRecord(
                plan=plan,
                queries=frozen(numbers.queries),
                new_keys=frozen(layer.given[0]),
                new_values=frozen(layer.given[1]),
                row_token=same[0] if same else found.token,
                row_version=found.version,
                first_read=found.first_read,
                used_keys=None,
                scores=frozen(numbers.scores),
                weights=frozen(numbers.weights),
                output=frozen(numbers.output),
                residual=frozen(numbers.residual),
            )
        )
    return tuple(records)


def _plan(
    books: Books,
    tokens: IntArray,
    slots: IntArray,
    numbers: LayerNumbers,
    known: Sequence[LayerRecord],
) -> LayerPlan:
    """What the layer took the rows for; that of an earlier layer where it is the same."""
    claimed = frozen(np.where(numbers.tokens < 0, ABSENT, numbers.tokens))
    for record in known:
        plan = record.plan
        if np.array_equal(plan.view_token_index, claimed) and np.array_equal(
            plan.mask, numbers.mask
        ):
            return plan
    view = books.slots_of(numbers.tokens)
    return LayerPlan(
        position_ids=tokens,
        write_rows=slots,
        view_slots=view,
        read_rows=view,
        view_token_index=claimed,
        view_position_ids=claimed,
        mask=frozen(numbers.mask),
        write_position_ids=tokens,
        read_position_ids=None,
    )


def _shared(found: LiveRows, known: Sequence[LiveRows]) -> LiveRows:
    """An equal one of those known, else the one found."""
    for other in known:
        if np.array_equal(other.token_index, found.token_index) and np.array_equal(
            other.row, found.row
        ):
            return other
    return found
