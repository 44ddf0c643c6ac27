"""From a spec to a running engine: objects are chosen here once, by name, and nowhere else."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import torch

from core.engine.dead_rows import DeadRows, LeftAlone, Poisoned
from core.engine.engine import Engine, LayerSeams
from core.engine.forward import Model
from core.engine.policies import ByRank, Kept, Numbering, Policy, Refuse, Reprefill, Window
from core.engine.recorder import Recorder, Witness
from core.engine.rehearsal import Nobody, Rehearsal
from core.engine.rows import RowStore
from core.engine.sampling import Greedy, Sampled, Sampling
from core.engine.seams import Seams
from core.errors import SpecError
from core.faults.activation import activate
from core.faults.guard import blaming
from core.faults.known import BUILT_IN, KnownFaults
from core.model.config import ModelConfig
from core.model.devices import resolve_device, resolve_dtype
from core.model.loading import LoadedModel
from core.record import StepRecord
from core.script import Script
from core.script_beams import BeamScript
from core.spec import Decode, FaultUse, NewPrompt, Prefill, RunSpec, Verify
from core.trace import ModelInfo, Trace

_POLICIES: dict[str, Callable[[RunSpec], Policy]] = {
    "refuse": lambda spec: Refuse(),
    "window": lambda spec: Window(spec.capacity),
    "reprefill": lambda spec: Reprefill(spec.capacity),
    "sinks": lambda spec: Window(spec.capacity, spec.sinks),
}


class Session:
    """One run: asks the engine for one step after the other and keeps the records.

    Attributes:
        loaded: the model as it was loaded.
        trace: what happened so far.
        own: where the functions of faults from files stand.
    """

    def __init__(
        self,
        spec: RunSpec,
        loaded: LoadedModel,
        make_witness: Callable[[RowStore], Witness] = Recorder,
        adapt: Callable[[Seams], Seams] | None = None,
        known: KnownFaults = BUILT_IN,
    ) -> None:
        """Make the engine of a spec, watched by a recorder or another witness.

        Every table of seams is first given to `adapt`, whose answer the engine asks. The faults of
        the spec are looked up in `known`.

        Raises:
            SpecError: a setting that does not fit the model.
            DeviceError: a device or number type that is not there.
            FaultError: faults that cannot be combined, or one whose file is not loaded.
        """
        _check_fits(spec, loaded.config)
        self.loaded = loaded
        path = None if loaded.path is None else str(loaded.path)
        self.trace = Trace(spec, ModelInfo(spec.model, path, loaded.config))
        make_script = Script if spec.n_sequences == 1 else BeamScript
        self._script = make_script(spec, loaded.config)
        self.trace.end = self._script.end
        self._known = known
        self.own = tuple(fault.where for fault in known.own_of(spec.faults))
        with blaming(self.own):
            self._engines = _engines(spec, loaded, make_witness, adapt, known)
        self._dtype = self._engines[0].dtype

    def advance(self) -> StepRecord | None:
        """The next step's record; None when the run is over (`trace.end` says why).

        Raises:
            FaultError: a fault from a file fails, or answers what cannot be used.
        """
        trace = self.trace
        request = self._script.next_request(len(trace.records), self._dtype)
        if request is None:
            return None
        with blaming(self.own):
            record = self._engines[self._script.which].step(request, len(trace.records))
        self._script.done(record)
        trace.records.append(record)
        trace.end = self._script.end
        return record

    def rehearsal(self) -> Rehearsal | None:
        """The next step, to be tried out on copies of the torch state; None: the run is over.

        What is tried out leaves no trace here.
        """
        number = len(self.trace.records)
        request = self._script.next_request(number, self._dtype)
        if request is None:
            return None
        return Rehearsal(self._engines[self._script.which].copied(Nobody()), request, number)

    def run(self) -> Trace:
        """The trace, once the run is over."""
        with torch.inference_mode():
            while self.advance() is not None:
                pass
        return self.trace

    def decode_more(self, n: int) -> None:
        """Ask for `n` more decode steps than the spec has; the trace's spec says so."""
        more = tuple(Decode() for _ in range(n))
        spec = self.trace.spec
        if spec.requests is None:
            self.trace.spec = replace(spec, steps=spec.steps + n)
        else:
            self.trace.spec = replace(spec, requests=spec.requests + more)
        self._script.add(more)
        self.trace.end = self._script.end

    def branch(
        self, step: int, *, token: int | None = None, faults: tuple[FaultUse, ...] = ()
    ) -> "Session":
        """A run that repeats this one up to `step` and goes on differently; this one stays.

        Args:
            step: the first step that may differ.
            token: read in that step instead of the one that was; None: the same.
            faults: acting from that step on, beside those that act already.

        Raises:
            SpecError: a step that is not there, or one that read no chosen token.
            FaultError: faults that cannot be combined.
        """
        spec = self.trace.spec
        if not 0 <= step < len(self.trace.records):
            raise SpecError(
                f"step {step} is not there; the run has steps 0 to {len(self.trace.records) - 1}"
            )
        if token is not None and spec.n_sequences > 1:
            raise SpecError("a token of one of several sequences cannot be changed; change a fault")
        uses = tuple(replace(use, first_step=max(step, use.first_step)) for use in faults)
        spec = replace(spec, faults=spec.faults + uses)
        if token is not None:
            spec = replace(spec, force_ids=self._force_ids_with(step, token))
        child = Session(spec, self.loaded, known=self._known)
        while len(child.trace.records) < step and child.advance() is not None:
            pass
        return child

    def _force_ids_with(self, step: int, token: int) -> tuple[int | None, ...]:
        """The spec's forced tokens, with `token` for the one read in `step`."""
        is_chosen = step > 0 and any(at == step - 1 for at, _ in self._script.generated)
        if self.trace.records[step].phase != "decode" or not is_chosen:
            raise SpecError(
                f"step {step} read no token that the step before it chose; "
                "choose a decode step that follows a computed one"
            )
        n_before = sum(at < step for at, _ in self._script.generated)
        forced = list(self.trace.spec.force_ids)
        forced.extend([None] * (n_before - len(forced)))
        forced[n_before - 1] = token
        return tuple(forced)


def _engines(
    spec: RunSpec,
    loaded: LoadedModel,
    make_witness: Callable[[RowStore], Witness],
    adapt: Callable[[Seams], Seams] | None,
    known: KnownFaults,
) -> tuple[Engine, ...]:
    """One a sequence."""
    engines = tuple(
        _engine(spec, loaded, make_witness, adapt, known) for _ in range(spec.n_sequences)
    )
    for which, engine in enumerate(engines):
        engine.which, engine.beams = which, engines
    return engines


def _engine(
    spec: RunSpec,
    loaded: LoadedModel,
    make_witness: Callable[[RowStore], Witness],
    adapt: Callable[[Seams], Seams] | None,
    known: KnownFaults,
) -> Engine:
    device = resolve_device(spec.device)
    weights = loaded.weights.to(resolve_dtype(spec.dtype, device), device)
    config = loaded.config
    numbering: Numbering = Kept()
    if spec.reassign_positions:
        numbering = ByRank(spec.capacity, spec.sinks)
    policy = _POLICIES[spec.policy](spec)
    n_rows = spec.capacity + (spec.longest_append if policy.evicts_at_commit else 0)
    dead: DeadRows = Poisoned() if spec.poison else LeftAlone()
    seams_at = _adapted(activate(spec.faults, config.n_layers, known).tables(), adapt)
    with torch.inference_mode():  # as all steps are: views of what was made outside take longer
        store = RowStore.allocate(
            config.n_layers,
            config.n_kv_heads,
            n_rows,
            config.d_head,
            weights.embedding,
            seams_at(0)[0].allocate,
            spec.first_rows if spec.growable else None,
            dead,
        )
    return Engine(
        model=Model.of(weights, is_quantised=spec.kv_dtype is not None),
        policy=policy,
        numbering=numbering,
        sampling=_sampling(spec),
        seams_at=seams_at,
        store=store,
        witness=make_witness(store),
        capacity=spec.capacity,
    )


def _adapted(
    seams_at: Callable[[int], LayerSeams], adapt: Callable[[Seams], Seams] | None
) -> Callable[[int], LayerSeams]:
    if adapt is None:
        return seams_at
    adapted = cache(adapt)
    return lambda step: tuple(adapted(seams) for seams in seams_at(step))


def _sampling(spec: RunSpec) -> Sampling:
    if spec.temperature == 0:
        return Greedy()
    return Sampled(spec.temperature, spec.top_k, spec.top_p, spec.seed)


def _check_fits(spec: RunSpec, config: ModelConfig) -> None:
    limit = config.position_limit
    if limit is not None and spec.capacity > limit:
        raise SpecError(
            f"capacity {spec.capacity} is above the {limit} positions of {spec.model}; "
            f"choose at most {limit}",
            field="capacity",
        )
    if spec.reassign_positions and limit is not None:
        raise SpecError(
            f"positions cannot be re-assigned in {spec.model}: a learned position is part of "
            "every kept row and cannot be changed later; choose a RoPE or ALiBi model",
            field="reassign_positions",
        )
    for request in spec.all_requests:
        if isinstance(request, Prefill | NewPrompt | Verify):
            _check_ids_fit(spec, config, spec.field_of(request), request.token_ids)
    _check_ids_fit(spec, config, "force_ids", spec.force_ids)


def _check_ids_fit(
    spec: RunSpec, config: ModelConfig, field: str, token_ids: tuple[int | None, ...]
) -> None:
    for token in token_ids:
        if token is not None and not 0 <= token < config.vocab_size:
            raise SpecError(
                f"token id {token} is outside the vocabulary of {spec.model}, "
                f"0 to {config.vocab_size - 1}",
                field=field,
            )
