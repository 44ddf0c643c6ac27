"""What the oracles say of a step."""

from dataclasses import dataclass
from typing import Literal

from core.arrays import FloatArray
from core.policy_oracle import Expected

Standing = Literal["right", "rounding", "wrong"]

FIELDS = (
    "outcome",
    "length",
    "seen",
    "position_ids",
    "slots",
    "readable",
    "keys",
    "values",
    "rotated_keys",
    "visible",
    "scores",
    "weights",
    "output",
    "residual",
    "logits",
)
"""In the order in which a step uses them: the first six once, then layer by layer, then logits."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a step first differs from what the oracles expect.

    Attributes:
        layer: None for what is decided once per step.
        head: None where the difference belongs to no single head.
        field: one of `FIELDS`.
    """

    layer: int | None
    head: int | None
    field: str


@dataclass(frozen=True, slots=True, eq=False)
class LogitsVerdict:
    """The comparison of a step's logits with the reference that keeps no cache.

    Attributes:
        standing: right within `band`, wrong above `wrong_above` (or not finite), else rounding.
        max_abs_error: largest difference of a logit; NaN where the engine's are not finite.
        kl: Kullback-Leibler divergence from the reference to the engine, in nats.
        band: error up to which the logits count as right.
        wrong_above: error above which they count as wrong.
        reference: [V] the reference's logits, float64.
        reference_token: its greedy choice.
    """

    standing: Standing
    max_abs_error: float
    kl: float
    band: float
    wrong_above: float
    reference: FloatArray
    reference_token: int


@dataclass(frozen=True, slots=True, eq=False)
class StepVerdict:
    """All verdicts of one step.

    Attributes:
        step: the step's number.
        expected: what the specification says should have happened.
        policy: whether outcome, length, seen, position ids and readable sets are as expected.
        mechanism: whether the engine did what it planned: logits as its own position ids and
            readable sets demand, and every row read the row of the token that it stands for.
        logits: None where nothing was computed, or where there is nothing to compare with.
        first_difference: None where nothing differs.
    """

    step: int
    expected: Expected
    policy: Literal["right", "wrong"]
    mechanism: Literal["right", "wrong"]
    logits: LogitsVerdict | None
    first_difference: Difference | None

    @property
    def is_wrong(self) -> bool:
        """Whether any of the three verdicts is wrong."""
        is_off = self.logits is not None and self.logits.standing == "wrong"
        return is_off or "wrong" in (self.policy, self.mechanism)
