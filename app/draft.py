"""What a person asks to be run: a run specification whose prompt is still a text."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from core.faults.fault import Scenario, forced_ids, with_prompt
from core.spec import (
    DTypeName,
    FaultUse,
    KvDTypeName,
    PolicyName,
    Prefill,
    Request,
    RunSpec,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """The form's contents. Nothing is checked here: `spec` does, once there is a tokenizer.

    Attributes:
        model: a known name, or the path of a checkpoint folder.
        prompt: text of the first prefill.
        prompt_ids: its exact tokens where a trace gives them; None: the tokenizer reads `prompt`.
        steps: decode steps to plan; more can be asked for later.
        then: requests after the prefill; None: decode steps.
        rest: text whose tokens are forced after the prompt's, unless `force_ids` says which.
        force_ids: the first generated tokens; None leaves one to the engine.
        policy: as in RunSpec, and so are all others.
    """

    model: str
    prompt: str
    prompt_ids: tuple[int, ...] | None = None
    steps: int = 0
    then: tuple[Request, ...] | None = None
    rest: str = ""
    force_ids: tuple[int | None, ...] = ()
    policy: PolicyName = "refuse"
    capacity: int = 128
    sinks: int = 0
    reassign_positions: bool = False
    chunk: int | None = None
    faults: tuple[FaultUse, ...] = ()
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    device: str = "cpu"
    dtype: DTypeName = "float32"
    n_pad: int = 0
    kv_dtype: KvDTypeName | None = None
    growable: bool = False
    n_sequences: int = 1

    @classmethod
    def of_scenario(cls, scenario: Scenario, faults: tuple[str, ...] = ()) -> "Draft":
        """The run of a scenario, with these faults switched on."""
        return cls(
            model=scenario.model,
            prompt=scenario.prompt,
            steps=0 if scenario.then is not None else scenario.steps,
            then=scenario.then,
            rest=scenario.rest,
            policy=scenario.policy,
            capacity=scenario.capacity,
            sinks=scenario.sinks,
            chunk=scenario.chunk,
            n_pad=scenario.n_pad,
            kv_dtype=scenario.kv_dtype,
            growable=scenario.growable,
            n_sequences=scenario.n_sequences,
            faults=tuple(FaultUse(fault_id) for fault_id in faults),
        )

    @classmethod
    def of_spec(cls, spec: RunSpec, prompt: str) -> "Draft":
        """The form of a run that was read from a file; `prompt` is how its tokens read."""
        first, *rest = spec.requests or (None,)
        is_scripted = isinstance(first, Prefill)
        return cls(
            model=spec.model,
            prompt=prompt,
            prompt_ids=first.token_ids if isinstance(first, Prefill) else spec.prompt_ids,
            steps=spec.steps,
            then=tuple(request for request in rest if request) if is_scripted else None,
            force_ids=spec.force_ids,
            policy=spec.policy,
            capacity=spec.capacity,
            sinks=spec.sinks,
            reassign_positions=spec.reassign_positions,
            chunk=spec.chunk,
            faults=spec.faults,
            temperature=spec.temperature,
            top_k=spec.top_k,
            top_p=spec.top_p,
            seed=spec.seed,
            device=spec.device,
            dtype=spec.dtype,
            n_pad=first.n_pad if isinstance(first, Prefill) else 0,
            kv_dtype=spec.kv_dtype,
            growable=spec.growable,
            n_sequences=spec.n_sequences,
        )

    def with_text(self, model: str, prompt: str) -> "Draft":
        """The same for another model or prompt: exact tokens, read or forced, are void with it."""
        if (model, prompt) == (self.model, self.prompt):
            return self
        rest = self.rest if prompt == self.prompt else ""
        changed = replace(self, model=model, prompt=prompt, rest=rest)
        return replace(changed, prompt_ids=None, force_ids=())

    def _requests(self, ids: tuple[int, ...]) -> tuple[Request, ...] | None:
        if self.then is None:
            return None
        return (Prefill(ids, self.n_pad), *with_prompt(self.then, ids))

    def spec(self, encode: Callable[[str], tuple[int, ...]]) -> RunSpec:
        """The run specification.

        Raises:
            SpecError: a setting that cannot be used; the message says what would do.
        """
        ids = encode(self.prompt) if self.prompt_ids is None else self.prompt_ids
        forced = self.force_ids
        if self.rest and not forced:
            forced = forced_ids(encode, ids, self.prompt + self.rest)
        return RunSpec(
            model=self.model,
            prompt_ids=ids,
            steps=self.steps,
            policy=self.policy,
            capacity=self.capacity,
            sinks=self.sinks,
            reassign_positions=self.reassign_positions,
            chunk=self.chunk,
            faults=self.faults,
            force_ids=forced,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            seed=self.seed,
            device=self.device,
            dtype=self.dtype,
            kv_dtype=self.kv_dtype,
            growable=self.growable,
            n_sequences=self.n_sequences,
            requests=self._requests(ids),
        )
