"""What a fault is: one wrong function on one seam, where it shows and where it hides."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from core.engine.seams import CORRECT, Seams
from core.errors import FaultError
from core.spec import Decode, PolicyName, Prefill, Probe, Rollback, RunSpec


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run that shows something; a `RunSpec` once a tokenizer has read the prompt.

    Attributes:
        prompt: text of the first prefill.
        capacity: slots.
        steps: decode steps after it (unless `then` says what follows).
        then: requests after the prefill; None: `steps` decodes.
        policy: what happens when there is no room.
        model: model name.
    """

    prompt: str
    capacity: int
    steps: int = 5
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
            steps=self.steps if self.then is None else 0,
            policy=self.policy,
            capacity=self.capacity,
            requests=requests,
        )


@dataclass(frozen=True, slots=True)
class Promise:
    """What a fault shows first in its scenario.

    Attributes:
        step: first step with any verdict wrong.
        field: first field that differs there (the order of `core.compare.FIELDS`).
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
        tier: "A" is offered first, "B" on the second page.
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
    tier: str
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
