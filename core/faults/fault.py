"""What a fault is: one wrong function on one seam, where it shows and where it hides."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from core.engine.seams import CORRECT, Seams
from core.errors import FaultError
from core.model.config import Scheme
from core.record import StepRecord
from core.spec import (
    KvDTypeName,
    NewPrompt,
    PolicyName,
    Prefill,
    Request,
    RunSpec,
)

ALL_SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
PROMPT_TOKENS = 7
"""Tokens of every scenario's prompt in its own model: the first decode reads token 7."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run that shows something; a `RunSpec` once a tokenizer has read the prompt.

    Attributes:
        prompt: text of the first prefill; seven tokens in the scenario's own model.
        capacity: slots, for that many tokens; a model that splits the prompt into more gets as
            many slots more, so that the cache fills at the same step.
        steps: decode steps after it; 0 where `then` says what follows.
        then: requests after the prefill; None: `steps` decodes. A new prompt without tokens reads
            the same prompt again.
        policy: what happens when there is no room.
        model: model name.
        rest: text that is forced after the prompt, so that what follows stands at the same place
            whatever is broken; empty: the engine chooses every token.
        sinks: slots kept for the first tokens.
        chunk: tokens per prefill step; None: the whole prompt at once.
        n_pad: rows of padding before the prompt; only with `then`.
        kv_dtype: how rows are narrowed; None: not.
        growable: whether the buffer grows as it is needed.
        n_sequences: beams.
    """

    prompt: str
    capacity: int
    steps: int
    then: tuple[Request, ...] | None = None
    policy: PolicyName = "refuse"
    model: str = "learned"
    rest: str = ""
    sinks: int = 0
    chunk: int | None = None
    n_pad: int = 0
    kv_dtype: KvDTypeName | None = None
    growable: bool = False
    n_sequences: int = 1

    def spec(self, encode: Callable[[str], tuple[int, ...]]) -> RunSpec:
        """The run specification, with the prompt's token ids."""
        prompt_ids = encode(self.prompt)
        then = None if self.then is None else with_prompt(self.then, prompt_ids)
        requests = None if then is None else (Prefill(prompt_ids, self.n_pad), *then)
        return RunSpec(
            model=self.model,
            prompt_ids=prompt_ids,
            steps=self.steps,
            policy=self.policy,
            capacity=self.capacity + len(prompt_ids) - PROMPT_TOKENS,
            sinks=self.sinks,
            chunk=self.chunk,
            kv_dtype=self.kv_dtype,
            growable=self.growable,
            n_sequences=self.n_sequences,
            force_ids=forced_ids(encode, prompt_ids, self.prompt + self.rest),
            requests=requests,
        )


def with_prompt(then: Sequence[Request], prompt_ids: tuple[int, ...]) -> tuple[Request, ...]:
    """Requests in which a new prompt without tokens reads these."""
    return tuple(
        dataclasses.replace(request, token_ids=request.token_ids or prompt_ids)
        if isinstance(request, NewPrompt)
        else request
        for request in then
    )


def forced_ids(
    encode: Callable[[str], tuple[int, ...]], prompt_ids: tuple[int, ...], text: str
) -> tuple[int, ...]:
    """What of a text's tokens comes after a prompt's; none where they do not begin with it."""
    token_ids, n = encode(text), len(prompt_ids)
    return token_ids[n:] if token_ids[:n] == prompt_ids else ()


@dataclass(frozen=True, slots=True)
class Promise:
    """What a fault shows first in its scenario.

    Attributes:
        step: first step with any verdict wrong.
        field: first field that differs there (the order of `core.verdict.FIELDS`).
        first_wrong_logits: first step with wrong logits; None: never.
        layer: layer of that field; None: decided once per step.
        verdicts: which verdicts are wrong in that step: of "policy", "mechanism", "logits".
    """

    step: int
    field: str
    first_wrong_logits: int | None
    layer: int | None = None
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A named, wrong replacement of exactly one seam.

    Attributes:
        id: its name, final.
        title: one line, in the field's words.
        symptom: what a person sees, in one line.
        tier: "A" for what is met most, "B" for the rest.
        patch: the correct table with one function replaced.
        shows_in: the scenario that shows it.
        promise: what it shows there.
        hides_in: a scenario in which every verdict stays right; None: it shows wherever
            anything is computed.
        why_hidden: the reason, in one line.
        repair: the correct rule, in one line.
        sources: public reports, "owner/repository#number".
        mechanism: what goes wrong, in the field's words.
        schemes: position schemes in which it shows; in the others every verdict stays right.
        lacks: from the records of a run in which it shows nothing, what it needs and did not get;
            None there: it got it all. See `core.faults.lacking`.
    """

    id: str
    title: str
    symptom: str
    tier: Literal["A", "B"]
    patch: Seams
    shows_in: Scenario
    promise: Promise
    hides_in: Scenario | None
    why_hidden: str
    repair: str
    sources: tuple[str, ...]
    lacks: Callable[[Sequence[StepRecord]], str | None] | None = None
    mechanism: str = ""
    schemes: tuple[Scheme, ...] = ALL_SCHEMES

    def __post_init__(self) -> None:
        """Raise FaultError unless exactly one seam is replaced."""
        changed = changed_seams(self.patch)
        if len(changed) != 1:
            raise FaultError(f"{self.id} replaces {len(changed)} seams; it must be exactly one")

    @property
    def seam(self) -> str:
        """Name of the seam that is wrong."""
        return changed_seams(self.patch)[0]


def changed_seams(patch: Seams) -> tuple[str, ...]:
    """Names of the functions that are not the correct ones."""
    names = (field.name for field in dataclasses.fields(Seams))
    return tuple(name for name in names if getattr(patch, name) is not getattr(CORRECT, name))
