"""Plan: an admitted append in integers, before any tensor is touched."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from core.arrays import ABSENT, PAD, BoolArray, IntArray, as_ids, frozen
from core.engine.policies import Numbering, Policy, Room
from core.engine.seams import Seams
from core.engine.types import LayerPlan, Ledger, are_all, are_same, highest

_NO_TOKENS = as_ids(())


class Planned(NamedTuple):
    """What is to be computed, and the ledger once it is done. T tokens.

    Attributes:
        room: what the policy made of the append.
        ledger: with the new rows counted and entered, before anything leaves.
        past_len: tokens read before, as the engine counts them.
        token_ids: [T] to compute, padding first.
        token_index: [T] of them; ABSENT: padding.
        slots: [T] that they go to.
        readable: for each, the token indices that the policy lets it see, ascending.
        layers: the plan of each layer; one object where layers agree.
    """

    room: Room
    ledger: Ledger
    past_len: int
    token_ids: IntArray
    token_index: IntArray
    slots: IntArray
    readable: tuple[IntArray, ...]
    layers: tuple[LayerPlan, ...]

    @property
    def highest_position_id(self) -> int:
        """The largest position id that a token gets."""
        return highest(self.layers[0].position_ids)


class Planner:
    """Asks policy, numbering and seams; owns the order in which they are asked."""

    def __init__(
        self, policy: Policy, numbering: Numbering, n_rows: int, row_shape: tuple[int, int]
    ) -> None:
        """Plan for a buffer of `n_rows` rows, each of a `row_shape`: heads, size of a head."""
        self._policy = policy
        self._numbering = numbering
        self._n_rows = n_rows
        self._n_heads, self._d_head = row_shape

    def plan(
        self, room: Room, counted: Ledger, seams: tuple[Seams, ...], pad_ids: IntArray
    ) -> Planned:
        """The plan of an append that `admit` let in.

        Args:
            room: what the policy made of it.
            counted: the ledger that `admit` gave.
            seams: each layer's table; layer 0's also decides for the run.
            pad_ids: padding that comes before the tokens, at position 0.
        """
        run, n, before = seams[0], len(room.token_ids), room.ledger
        if len(pad_ids):
            before = replace(before, n_pads=len(pad_ids))
        past_len = run.past_len(before, (self._n_heads, before.length, self._d_head))
        n_ahead = _rows_ahead(before, past_len)
        if n_ahead:
            before, counted = before.count(n_ahead, 0), counted.count(n_ahead, 0)
        numbers = run.position_ids(past_len, n, before)
        position_ids = frozen(self._numbering.query_position_ids(numbers))
        token_index = frozen(np.arange(before.seen, before.seen + n))
        token_ids, n_pad = room.token_ids, len(pad_ids)
        if n_pad:
            token_ids = _led_by(pad_ids, token_ids)
            position_ids = _led_by(np.zeros_like(pad_ids), position_ids)
            token_index = _led_by(np.full(n_pad, ABSENT), token_index)
            counted = replace(counted, n_pads=n_pad)
        slots = frozen(run.next_slots(before, n + n_pad))
        ledger = counted.with_rows(slots, token_index, position_ids, token_ids)
        query = np.where(token_index == ABSENT, PAD, token_index) if n_pad else token_index
        allowed = self._allowed(run, query, self._told(ledger, ledger.slot, ledger.token_index))
        readable = _chosen(ledger.token_index, allowed[n_pad:])
        if n_pad:
            readable = [_NO_TOKENS] * n_pad + readable
        return Planned(
            room=room,
            ledger=ledger,
            past_len=past_len,
            token_ids=token_ids,
            token_index=token_index,
            slots=slots,
            readable=tuple(readable),
            layers=self._layers(seams, ledger, query, position_ids, slots, allowed),
        )

    def _layers(
        self,
        seams: tuple[Seams, ...],
        ledger: Ledger,
        query: IntArray,
        position_ids: IntArray,
        slots: IntArray,
        allowed: BoolArray,
    ) -> tuple[LayerPlan, ...]:
        """Each layer's plan; layers that share a table share one."""
        plans: dict[int, LayerPlan] = {}
        of_layer: list[LayerPlan] = []
        for layer, table in enumerate(seams):
            plan = plans.get(id(table))
            if plan is None:
                plan = self._layer(table, seams[0], ledger, query, position_ids, slots, allowed)
                plans[id(table)] = plan
            rotate_at = table.layer_position_ids(position_ids, layer)
            of_layer.append(self._rotated_at(plan, *rotate_at, of_layer))
        return tuple(of_layer)

    def _allowed(self, run: Seams, query: IntArray, key: IntArray) -> BoolArray:
        """[T, S] what the policy lets each query read; a row without a token is no token.

        Padding reads padding, so that none of its rows has nothing to see.
        """
        allowed = self._policy.allows(query[:, None], key, run.in_window) & (key >= 0)
        if query[0] == PAD:
            allowed |= (query[:, None] == PAD) & (key == PAD)
        return allowed

    def _told(self, ledger: Ledger, slots: IntArray, claims: IntArray) -> IntArray:
        """[S] the token indices that are claimed for `slots`, with padding told apart."""
        return np.where(ledger.is_pad(slots), PAD, claims) if ledger.n_pads else claims

    def _rotated_at(
        self, plan: LayerPlan, queries: IntArray, keys: IntArray, known: list[LayerPlan]
    ) -> LayerPlan:
        """The plan with queries and new keys rotated elsewhere than at their position ids.

        An equal one that an earlier layer has already is taken again, so that they share it.
        """
        if queries is plan.position_ids and keys is plan.position_ids:
            return plan
        write_at = self._numbering.write_position_ids(keys)
        for other in known:
            if (
                other.mask is plan.mask
                and are_same(other.queries_at, queries)
                and _are_same(other.write_position_ids, write_at)
            ):
                return other
        return replace(
            plan,
            query_position_ids=frozen(queries),
            write_position_ids=None if write_at is None else frozen(write_at),
        )

    def _layer(
        self,
        seams: Seams,
        run: Seams,
        ledger: Ledger,
        query: IntArray,
        position_ids: IntArray,
        slots: IntArray,
        allowed: BoolArray,
    ) -> LayerPlan:
        """`allowed` [T, n] is the answer for all entries of the ledger, in their order."""
        view_slots = seams.kv_view(ledger)
        read_rows = seams.slot_mapping(view_slots)
        if highest(read_rows) >= self._n_rows:
            is_inside = read_rows < self._n_rows
            view_slots, read_rows = view_slots[is_inside], read_rows[is_inside]
        key, key_position_ids = ledger.claims_for(view_slots)
        told = self._told(ledger, view_slots, key)
        read_at = self._numbering.read_position_ids(query, key)
        readable = allowed if key is ledger.token_index else self._allowed(run, query, told)
        return LayerPlan(
            position_ids=position_ids,
            write_rows=frozen(seams.slot_mapping(slots)),
            view_slots=frozen(view_slots),
            read_rows=frozen(read_rows),
            view_token_index=key,
            view_position_ids=key_position_ids,
            mask=frozen(seams.causal_mask(query, told, readable)),
            write_position_ids=self._numbering.write_position_ids(position_ids),
            read_position_ids=None if read_at is None else frozen(read_at),
        )


def _led_by(pads: IntArray, numbers: IntArray) -> IntArray:
    """The numbers of padding, and those of the tokens behind it."""
    return frozen(np.concatenate((pads, numbers)))


def _chosen(numbers: IntArray, is_chosen: BoolArray) -> list[IntArray]:
    """For each row of `is_chosen` [T, n], those of frozen `numbers` [n]; itself where all are."""
    if are_all(is_chosen):
        return [numbers] * len(is_chosen)
    return [numbers if are_all(row) else frozen(numbers[row]) for row in is_chosen]


def _rows_ahead(ledger: Ledger, past_len: int) -> int:
    """Rows to be counted as held because more was read, it is said, than there are tokens for.

    0 unless `past_len` is above the tokens seen: a cursor that is ahead leaves rows behind it that
    nobody wrote.
    """
    n_unread = past_len - max(ledger.seen - ledger.origin, len(ledger.slot))
    return max(0, len(ledger.slot) + n_unread - ledger.length) if n_unread > 0 else 0


def _are_same(some: IntArray | None, others: IntArray | None) -> bool:
    if some is None or others is None:
        return some is others
    return are_same(some, others)
