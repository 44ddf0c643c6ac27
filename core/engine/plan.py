"""Plan: an admitted append in integers, before any tensor is touched."""

from dataclasses import dataclass

import numpy as np

from core.arrays import ABSENT, BoolArray, IntArray, frozen
from core.engine.policies import Numbering, Policy, Room
from core.engine.seams import Seams
from core.engine.types import LayerPlan, Ledger


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """What is to be computed, and the ledger once it is done. T tokens.

    Attributes:
        room: what the policy made of the append.
        ledger: with the new rows counted and entered, before anything leaves.
        past_len: tokens read before, as the engine counts them.
        token_index: [T] of the tokens to compute.
        slots: [T] that they go to.
        readable: for each, the token indices that the policy lets it see, ascending.
        layers: the plan of each layer; one object where layers agree.
    """

    room: Room
    ledger: Ledger
    past_len: int
    token_index: IntArray
    slots: IntArray
    readable: tuple[IntArray, ...]
    layers: tuple[LayerPlan, ...]

    @property
    def highest_position_id(self) -> int:
        """The largest position id that a token gets."""
        return int(self.layers[0].position_ids.max())


class Planner:
    """Asks policy, numbering and seams; owns the order in which they are asked."""

    def __init__(self, policy: Policy, numbering: Numbering, n_rows: int) -> None:
        """Plan for a buffer of `n_rows` rows."""
        self._policy = policy
        self._numbering = numbering
        self._n_rows = n_rows

    def plan(self, room: Room, counted: Ledger, seams: tuple[Seams, ...]) -> Planned:
        """The plan of an append that `admit` let in.

        Args:
            room: what the policy made of it.
            counted: the ledger that `admit` gave.
            seams: each layer's table; layer 0's also decides for the run.
        """
        run, n, before = seams[0], len(room.token_ids), room.ledger
        past_len = run.past_len(before)
        position_ids = frozen(self._numbering.query_position_ids(run.position_ids(past_len, n)))
        slots = frozen(run.next_slots(before, n))
        token_index = frozen(np.arange(before.seen, before.seen + n))
        ledger = counted.with_rows(slots, token_index, position_ids, room.token_ids)
        allowed = self._allowed(token_index, ledger.token_index)
        plans: dict[int, LayerPlan] = {}
        for table in seams:
            if id(table) not in plans:
                plans[id(table)] = self._layer(
                    table, ledger, token_index, position_ids, slots, allowed
                )
        return Planned(
            room=room,
            ledger=ledger,
            past_len=past_len,
            token_index=token_index,
            slots=slots,
            readable=tuple(frozen(ledger.token_index[row]) for row in allowed),
            layers=tuple(plans[id(table)] for table in seams),
        )

    def _allowed(self, query: IntArray, key: IntArray) -> BoolArray:
        """[T, S] what the policy lets each query read; a row without a token is no token."""
        return self._policy.allows(query[:, None], key) & (key != ABSENT)

    def _layer(
        self,
        seams: Seams,
        ledger: Ledger,
        query: IntArray,
        position_ids: IntArray,
        slots: IntArray,
        allowed: BoolArray,
    ) -> LayerPlan:
        """`allowed` [T, n] is the answer for all entries of the ledger, in their order."""
        view_slots = seams.kv_view(ledger)
        read_rows = seams.slot_mapping(view_slots)
        if read_rows.max(initial=-1) >= self._n_rows:
            is_inside = read_rows < self._n_rows
            view_slots, read_rows = view_slots[is_inside], read_rows[is_inside]
        key, key_position_ids = ledger.claims_for(view_slots)
        read_at = self._numbering.read_position_ids(query, key)
        readable = allowed if key is ledger.token_index else self._allowed(query, key)
        return LayerPlan(
            position_ids=position_ids,
            write_rows=frozen(seams.slot_mapping(slots)),
            view_slots=frozen(view_slots),
            read_rows=frozen(read_rows),
            view_token_index=frozen(key),
            view_position_ids=frozen(key_position_ids),
            mask=frozen(seams.causal_mask(query, key, readable)),
            write_position_ids=self._numbering.write_position_ids(position_ids),
            read_position_ids=None if read_at is None else frozen(read_at),
        )
