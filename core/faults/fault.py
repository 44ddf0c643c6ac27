"""What a fault is: one wrong function on one seam, where it shows and where it hides."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.engine.seams import CORRECT, Seams
from core.errors import FaultError
from core.spec import Decode, PolicyName, Prefill, Probe, Rollback, RunSpec

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
        then: requests after the prefill; None: `steps` decodes.
        policy: what happens when there is no room.
        model: model name.
    """

    prompt: str
    capacity: int
    steps: int
    then: tuple[Decode | Rollback | Probe, ...] | None = None
    policy: PolicyName = "refuse"
    model: str = "learned"

    def spec(self, encode: Callable[[str], tuple[int, ...]]) -> RunSpec:
        """The run specification, with the prompt's token ids."""
        prompt_ids = encode(self.prompt)
        requests = None if self.then is None else (Prefill(prompt_ids), *self.then)
        return RunSpec(
            model=self.model,
            prompt_ids=prompt_ids,
            steps=self.steps,
            policy=self.policy,
            capacity=self.capacity + len(prompt_ids) - PROMPT_TOKENS,
            requests=requests,
        )


@dataclass(frozen=True, slots=True)
class Promise:
    """What a fault shows first in its scenario.

    Attributes:
        step: first step with any verdict wrong.
        field: first field that differs there (the order of `core.verdict.FIELDS`).
        first_wrong_logits: first step with wrong logits; None: never.
    """

    step: int
    field: str
    first_wrong_logits: int | None


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
        hides_in: a scenario in which every verdict stays right.
        why_hidden: the reason, in one line.
        repair: the correct rule, in one line.
        sources: public reports, "owner/repository#number".
    """

    id: str
    title: str
    symptom: str
    tier: Literal["A", "B"]
    patch: Seams
    shows_in: Scenario
    promise: Promise
    hides_in: Scenario
    why_hidden: str
    repair: str
    sources: tuple[str, ...]

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
