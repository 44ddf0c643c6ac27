"""One request in, one record out: plan in integers, compute in tensors, commit.

Reading order: `Engine.step`, `_append` (admission, then plan, compute, commit), then plan.py and
forward.py. The engine knows no fault, policy or layout by name: it asks `Seams`, a `Policy` and a
`Numbering`. More than 300 lines, because each kind of request is planned, carried out and committed
here, one method each; what they need beside that has files of its own.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch

from core.arrays import ABSENT, FloatArray, as_ids
from core.engine.forward import Model, prepare, run_layers
from core.engine.plan import Planned, Planner
from core.engine.policies import Numbering, Policy
from core.engine.recorder import Witness, to_host
from core.engine.rows import RowStore
from core.engine.sampling import Sampling
from core.engine.seams import Seams
from core.engine.types import Append, Ledger, highest
from core.outcome import OK, Ok, Outcome, PositionLimit, Refused
from core.record import LayerRecord, Phase, StepRecord

_NO_IDS = as_ids([])

LayerSeams = tuple[Seams, ...]
"""The table that each layer asks in one step; layer 0's also takes the decisions of the run."""


@dataclass(frozen=True, slots=True)
class AppendTokens:
    """Read these tokens: a prompt, a part of one, or a single decoded token.

    Attributes:
        phase: what the step is called.
        token_ids: the tokens.
        forced_next: the token to be read next; None: the engine chooses.
        is_new_text: forget what was read before.
        n_common: tokens that a new text shares with the old one from the start, whose rows may
            stay; None: nothing stays.
        n_pad: rows of padding that come before the tokens.
        n_rejected: of the last tokens, how many are taken back once they were read.
        rank: where the engine chooses, how many better tokens are passed over.
    """

    phase: Phase
    token_ids: tuple[int, ...]
    forced_next: int | None = None
    is_new_text: bool = False
    n_common: int | None = None
    n_rejected: int = 0
    n_pad: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True)
class RollBack:
    """Take the newest `n` tokens back; `next_token` is read next."""

    n: int
    next_token: int | None
    phase: Phase = "rollback"


@dataclass(frozen=True, slots=True)
class ProbeRows:
    """Append rows that hold no token: keys [L, Hkv, n, D] and values [L, Hkv, m, D]."""

    keys: torch.Tensor
    values: torch.Tensor
    phase: Phase = "probe"


@dataclass(frozen=True, slots=True)
class ReorderBeams:
    """Each beam goes on from the text of its parent."""

    parents: tuple[int, ...]
    phase: Phase = "reorder"


StepRequest = AppendTokens | RollBack | ProbeRows | ReorderBeams


class Engine:
    """Decodes one sequence with a bounded cache, and records every step.

    Attributes:
        which: the number of its sequence.
        beams: the engines of all sequences, itself included.
    """

    def __init__(
        self,
        model: Model,
        policy: Policy,
        numbering: Numbering,
        sampling: Sampling,
        seams_at: Callable[[int], LayerSeams],
        store: RowStore,
        witness: Witness,
        capacity: int,
    ) -> None:
        """Start with an empty cache.

        Args:
            model: the model, in its number type and place.
            policy: what happens when there is no room.
            numbering: which position ids tokens get and keep.
            sampling: how the next token is chosen.
            seams_at: step number to the table of each layer.
            store: buffers with room for the capacity, and for a chunk beside it where the policy
                evicts at commit.
            witness: who keeps what happens.
            capacity: slots that the policy grants.
        """
        self._model = model
        self._policy = policy
        self._numbering = numbering
        self._sampling = sampling
        self._seams_at = seams_at
        self._store = store
        self._grows = store.n_allocated < store.n_rows
        self._witness = witness
        row_shape = model.config.n_kv_heads, model.config.d_head
        self._planner = Planner(policy, numbering, store.n_rows, row_shape)
        self._ledger = Ledger(capacity)
        self._step = 0
        self.which = 0
        self.beams: tuple[Engine, ...] = (self,)

    @property
    def _n_allocated(self) -> int:
        """Rows that a buffer has now, where it grows; else 0."""
        return self._store.n_allocated if self._grows else 0

    @property
    def store(self) -> RowStore:
        """The buffers."""
        return self._store

    def copied(self, witness: Witness) -> "Engine":
        """Another engine that goes on from here by itself, watched by `witness`.

        All of the torch state is copied, aliasing included; only the model is shared.
        """
        as_they_are = {id(self._model): self._model, id(self._witness): witness, id(self.beams): ()}
        other = deepcopy(self, as_they_are)
        other.beams = (other,)
        return other

    @property
    def dtype(self) -> torch.dtype:
        """Number type of weights and cache."""
        return self._model.weights.dtype

    def step(self, request: StepRequest, number: int | None = None) -> StepRecord:
        """Carry one request out, or refuse it; either way there is a record.

        The step has this `number`, or follows the engine's last one.
        A caller who is in torch's inference mode already saves entering it.
        """
        if number is not None:
            self._step = number
        seams = self._seams_at(self._step)
        n_threads = torch.get_num_threads()
        torch.set_num_threads(1)  # so that the same run gives the same bits
        try:
            if torch.is_inference_mode_enabled():
                record = self._carry_out(request, seams)
            else:
                with torch.inference_mode():
                    record = self._carry_out(request, seams)
        finally:
            torch.set_num_threads(n_threads)
        self._step += 1
        return record

    def _carry_out(self, request: StepRequest, seams: LayerSeams) -> StepRecord:
        match request:
            case AppendTokens():
                return self._append(request, seams)
            case RollBack():
                return self._roll_back(request, seams)
            case ProbeRows():
                return self._probe(request, seams)
            case ReorderBeams():
                return self._reorder(request, seams)

    def _append(self, request: AppendTokens, seams: LayerSeams) -> StepRecord:
        start, read_ids = self._start(request, seams[0])
        new_ids = as_ids(read_ids)
        n_short = seams[0].overflow(start, request.n_pad + len(new_ids))
        room = self._policy.make_room(start, new_ids, n_short)
        n_tokens = len(room.token_ids)
        n = request.n_pad + n_tokens
        counted, outcome = seams[0].admit(room.ledger, Append(n, n, n_tokens, room.n_lacking))
        token_index = tuple(range(start.seen, start.seen + len(new_ids)))
        if not isinstance(outcome, Ok):
            self._ledger = counted
            return self._bare_record(seams, request, outcome, read_ids, token_index, n_short)
        pad_id = self._model.config.eos_token_id or 0
        pad_ids = as_ids([pad_id] * request.n_pad) if request.n_pad else _NO_IDS
        planned = self._planner.plan(room, counted, seams, pad_ids)
        limit = self._model.config.position_limit
        if limit is not None and planned.highest_position_id >= limit:
            self._ledger = start
            outcome = PositionLimit(limit, planned.highest_position_id)
            return self._bare_record(seams, request, outcome, read_ids, token_index, n_short)
        self._store.dead.let_go(self._store.layers, room.ledger, seams)
        logits = self._compute(planned, seams, request.n_rejected)
        self._commit(planned, n_short, seams[0])
        if request.n_rejected:
            target = start.seen + len(new_ids) - request.n_rejected
            self._ledger = seams[0].crop(self._ledger, request.n_rejected)
            self._witness.forget_from(target)
        return self._full_record(request, seams, planned, read_ids, token_index, n_short, logits)

    def _start(self, request: AppendTokens, run: Seams) -> tuple[Ledger, tuple[int, ...]]:
        """The ledger that the tokens are added to, and those of them that are to be read."""
        ledger, token_ids = self._ledger, request.token_ids
        if not request.is_new_text:
            return ledger, token_ids
        if request.n_common is None:
            self._witness.forget_from(0)
            return run.reset(ledger), token_ids
        n_kept = run.reusable(request.n_common, len(token_ids))
        if n_kept < ledger.seen:
            ledger = run.crop(ledger, ledger.seen - n_kept)
        self._witness.forget_from(n_kept)
        return ledger, token_ids[min(n_kept, len(token_ids) - 1) :]

    def _compute(self, planned: Planned, seams: LayerSeams, n_rejected: int) -> torch.Tensor:
        """Logits [V] of the last token that is kept."""
        prepared = {plan: prepare(self._model, plan) for plan in set(planned.layers)}
        layers = [
            (prepared[plan], table) for plan, table in zip(planned.layers, seams, strict=True)
        ]
        if self._grows:
            top = max(
                max(highest(plan.write_rows), highest(plan.read_rows)) for plan in planned.layers
            )
            self._store.reach(top + 1, [table.grow for table in seams])
        self._witness.begin(self._step, planned.token_index, planned.layers)
        token_ids = planned.token_ids
        last = len(token_ids) - 1 - n_rejected
        return run_layers(self._model, self._store, layers, token_ids, self._witness, last)

    def _commit(self, planned: Planned, n_short: int, run: Seams) -> None:
        held = run.join(planned.room.ledger, planned.ledger)
        self._ledger = self._numbering.renumber(self._policy.evict(held, n_short, run.evict))

    def _roll_back(self, request: RollBack, seams: LayerSeams) -> StepRecord:
        ledger, target = self._ledger, self._ledger.seen - request.n
        outcome: Outcome = OK
        if target < 0:
            outcome = Refused(request.n, ledger.seen)
        else:
            needed = self._policy.rollback_needs(ledger, target)
            n_held = int(np.isin(needed, ledger.token_index).sum())
            if n_held < len(needed):
                outcome = Refused(len(needed), n_held)
        if isinstance(outcome, Ok):
            self._ledger = self._numbering.renumber(seams[0].crop(ledger, request.n))
            self._witness.forget_from(target)
        record = self._bare_record(seams, request, outcome)
        return replace(record, next_token=request.next_token, n_rolled_back=request.n)

    def _probe(self, request: ProbeRows, seams: LayerSeams) -> StepRecord:
        n_keys, n_values = request.keys.shape[2], request.values.shape[2]
        ledger, n = self._ledger, max(n_keys, n_values)
        n_short = seams[0].overflow(ledger, n)
        lacking = self._policy.make_room(ledger, _NO_IDS, n_short).n_lacking
        counted, outcome = seams[0].admit(ledger, Append(n_keys, n_values, 0, lacking))
        if isinstance(outcome, Ok):
            slots = seams[0].next_slots(ledger, n)
            top = max(highest(table.slot_mapping(slots)) for table in seams)
            self._store.reach(top + 1, [table.grow for table in seams])
            self._store.dead.let_go(self._store.layers, ledger, seams)
            none = np.full(n, ABSENT, dtype=np.int64)
            counted = counted.with_rows(slots, none, none, none)
            for layer, table in enumerate(seams):
                rows = table.slot_mapping(slots)
                keys, values = request.keys[layer], request.values[layer]
                table.store(self._store.layers[layer], rows, keys, values)
            self._witness.lost_sight()
        self._ledger = counted
        record = self._bare_record(seams, request, outcome, n_short=n_short)
        return replace(record, n_probed=(n_keys, n_values))

    def _reorder(self, request: ReorderBeams, seams: LayerSeams) -> StepRecord:
        beams, parents = self.beams, request.parents
        for layer, table in enumerate(seams):
            table.reorder([beam._store.layers[layer].kv for beam in beams], parents)
        ledgers = [beams[parent]._ledger for parent in parents]
        known = [beams[parent]._witness.what_is_known() for parent in parents]
        for beam, ledger, witness in zip(beams, ledgers, known, strict=True):
            beam._ledger = ledger
            beam._witness.take_over(witness)
        return replace(self._bare_record(seams, request, OK), parents=parents)

    def _full_record(
        self,
        request: AppendTokens,
        seams: LayerSeams,
        planned: Planned,
        read_ids: tuple[int, ...],
        token_index: tuple[int, ...],
        n_short: int,
        logits: torch.Tensor,
    ) -> StepRecord:
        host_logits = to_host(logits)
        predicted = self._sampling.choose(host_logits, self._step)
        chosen = predicted if request.rank == 0 else _ranked(host_logits, request.rank)
        forced = request.forced_next
        return StepRecord(
            step=self._step,
            request=self.which,
            phase=request.phase,
            token_ids=read_ids,
            token_index=token_index,
            outcome=OK,
            ledger=self._ledger,
            reported_length=seams[0].reported_length(self._ledger),
            n_short=n_short,
            past_len=planned.past_len,
            n_skipped=planned.room.n_skipped,
            n_recomputed=planned.room.n_recomputed,
            slots=planned.slots,
            readable=planned.readable,
            layers=self._witness.taken(),
            live=self._witness.live(self._ledger.counted_slots, seams),
            logits=host_logits,
            predicted=predicted,
            next_token=chosen if forced is None else forced,
            is_forced=forced is not None or request.rank > 0,
            n_allocated=self._n_allocated,
            n_padding=request.n_pad,
            n_rejected=request.n_rejected,
            prompt_ids=_whole_prompt(request),
        )

    def _bare_record(
        self,
        seams: LayerSeams,
        request: StepRequest,
        outcome: Outcome,
        token_ids: tuple[int, ...] = (),
        token_index: tuple[int, ...] = (),
        n_short: int = 0,
    ) -> StepRecord:
        """The record of a step in which nothing was computed."""
        no_layers: tuple[LayerRecord, ...] = ()
        return StepRecord(
            step=self._step,
            request=self.which,
            phase=request.phase,
            token_ids=token_ids,
            token_index=token_index,
            outcome=outcome,
            ledger=self._ledger,
            reported_length=seams[0].reported_length(self._ledger),
            n_short=n_short,
            past_len=None,
            n_skipped=0,
            n_recomputed=0,
            slots=_NO_IDS,
            readable=(),
            layers=no_layers,
            live=self._witness.live(self._ledger.counted_slots, seams),
            logits=None,
            predicted=None,
            next_token=None,
            is_forced=False,
            n_allocated=self._n_allocated,
            n_padding=request.n_pad if isinstance(request, AppendTokens) else 0,
            n_rejected=request.n_rejected if isinstance(request, AppendTokens) else 0,
            prompt_ids=_whole_prompt(request),
        )


def _ranked(logits: FloatArray, rank: int) -> int:
    """The token that `rank` others are better than."""
    return int(np.argsort(-logits, kind="stable")[rank])


def _whole_prompt(request: StepRequest) -> tuple[int, ...]:
    """The new prompt, where rows of the old text may be used again."""
    if isinstance(request, AppendTokens) and request.n_common is not None:
        return request.token_ids
    return ()
