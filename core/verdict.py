"""What the oracles say of a step."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from core.arrays import FloatArray
from core.policy_oracle import Expected

Standing = Literal["right", "rounding", "wrong"]
OffRows = tuple[tuple[tuple[int, int], ...], ...]
"""[L] for each layer (first, end) of runs of physical rows, ascending; empty: none in any layer."""

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
    "contents",
)
"""In the order in which a step uses them: the first six once, then layer by layer, then logits.

`contents` is what is held once the step is over: which tokens, and at which position ids. That is
decided at commit, when the logits are there, and so it comes last: a step that is wrong elsewhere
too names that, and one that only leaves the wrong tokens behind names this.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a step first differs from what the oracles expect.

    Attributes:
        layer: None for what is decided once per step.
        head: None where the difference belongs to no single head.
        field: one of `FIELDS`.
        error: largest error of a tensor, of that head where there is one; NaN where it is not
            finite. None: no tensor, rows that are not there at all, or not kept.
        band: error up to which that number counts as equal; None as above.
    """

    layer: int | None
    head: int | None
    field: str
    error: float | None = dataclasses.field(default=None, compare=False)
    band: float | None = dataclasses.field(default=None, compare=False)


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


@dataclass(frozen=True, slots=True)
class Stages:
    """How a step stands at each stage that it passes, in order: how far a fault has spread.

    Unlike `first_difference` every stage is asked, also of a step that is right, and also after
    the first that is wrong.

    Attributes:
        admission: whether outcome, length and seen are as specified.
        positions: whether the new tokens, and their keys, got the right position ids in every
            layer. None, here and in `mask`: no token was computed, or none should have been.
        slots: whether each new row has a free slot of its own, and each row read is that of the
            token that it stands for. None: no token was computed.
        mask: whether the mask lets each new token see the rows that stand for the tokens that it
            may read, and no others.
        layer_errors: [L] largest error of the residual after each layer, over the new tokens; in
            the last layer of the last token, whose logits are the only ones. NaN where not finite.
            None: there is nothing to compare with.
        layer_bands: [L] error up to which each counts as equal.
        contents: whether the tokens held after the step, and their position ids, are as
            specified. None: read from a file that does not have it.
    """

    admission: bool
    positions: bool | None
    slots: bool | None
    mask: bool | None
    layer_errors: tuple[float, ...] | None
    layer_bands: tuple[float, ...] | None
    contents: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StepVerdict:
    """All verdicts of one step.

    Attributes:
        step: the step's number.
        expected: what the specification says should have happened.
        policy: whether outcome, length, seen, position ids and readable sets are as expected, and
            whether the ledger keeps the tokens that are to be held, at the position ids that they
            are to have. Whether their rows are really there is the mechanism's part.
        mechanism: whether the engine did what it planned: logits as its own position ids and
            readable sets demand, and every row read the row of the token that it stands for.
        logits: None where nothing was computed, or where there is nothing to compare with.
        first_difference: None where nothing differs.
        stages: None: read from a file that does not have them.
        off_rows: rows read in the step (in one that computed nothing, in the last that did) whose
            bytes are not what the reference computes for the token that is there.
    """

    step: int
    expected: Expected
    policy: Literal["right", "wrong"]
    mechanism: Literal["right", "wrong"]
    logits: LogitsVerdict | None
    first_difference: Difference | None
    stages: Stages | None = None
    off_rows: OffRows = ()

    @property
    def is_wrong(self) -> bool:
        """Whether any of the three verdicts is wrong."""
        is_off = self.logits is not None and self.logits.standing == "wrong"
        return is_off or "wrong" in (self.policy, self.mechanism)
