"""Runs the cases, and compares what came of two runs."""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

from core.battery.case import Case, Ids
from core.battery.silence import Silent
from core.engine.seams import Seams
from core.faults.known import BUILT_IN, KnownFaults
from core.model.loading import LoadedModel, load_model
from core.outcome import Ok
from core.record import StepRecord
from core.session import Session
from core.spec import Decode, DTypeName, FaultUse, PolicyName, Prefill, Request, RunSpec
from core.tolerance import largest_gap, wrong_floor
from core.trace import Trace

Adapt = Callable[[Seams], Seams]

_BOTH = 2.0
"""Either of the two computations may be off by a band."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A law that does not hold.

    Attributes:
        found: what differs, in a sentence with its numbers.
    """

    found: str


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two steps that must agree.

    Attributes:
        where: which step that is, in words.
        left: what is asked about.
        right: what it must be; None: there is no such step.
        logits_only: whether only outcome and logits are the same in both, not what is held.
    """

    where: str
    left: StepRecord | None
    right: StepRecord | None
    logits_only: bool = False


Found = Iterable[Pair | Broken] | Silent
"""What a law gives to be compared."""


class Bench:
    """Makes the runs of cases, with the faults that are switched on.

    Attributes:
        is_fine: whether the number type has digits enough to see what a far token does.
    """

    def __init__(
        self,
        faults: tuple[FaultUse, ...] = (),
        adapt: Adapt | None = None,
        dtype: DTypeName = "float64",
        known: KnownFaults = BUILT_IN,
    ) -> None:
        """Use these faults, or an engine of one's own: `adapt` changes its table of seams."""
        self._faults = faults
        self._known = known
        self._adapt = adapt
        self._dtype: DTypeName = dtype
        self.is_fine = dtype in ("float64", "float32")

    def spec(self, case: Case, **changes: object) -> RunSpec:
        """The plain run of a case: its prompt, then its tokens one by one."""
        settings: dict[str, Any] = {
            "model": case.model,
            "prompt_ids": case.prompt,
            "steps": len(case.then),
            "force_ids": case.then,
            "policy": cast("PolicyName", case.policy),
            "capacity": case.capacity,
            "sinks": case.sinks,
            "reassign_positions": case.ranks > 0,
            "chunk": case.chunk or None,
            "dtype": self._dtype,
            "faults": self._faults,
        }
        changed: dict[str, Any] = {**settings, **changes}
        return RunSpec(**changed)

    def session(self, case: Case, adapt: Adapt | None = None, **changes: object) -> Session:
        """A run of a case that has not begun. `adapt` changes the table of this run only."""
        both = _one_after_the_other(self._adapt, adapt)
        spec = self.spec(case, **changes)
        return Session(spec, model_of(case), adapt=both, known=self._known)

    def run(self, case: Case, adapt: Adapt | None = None, **changes: object) -> list[StepRecord]:
        """The records of a run of a case."""
        return self.trace(case, adapt, **changes).records

    def trace(self, case: Case, adapt: Adapt | None = None, **changes: object) -> Trace:
        """The whole run of a case."""
        return self.session(case, adapt, **changes).run()

    def run_of(self, case: Case, requests: Sequence[Request], force_ids: Ids) -> list[StepRecord]:
        """The records of these requests."""
        return self.run(case, requests=tuple(requests), force_ids=force_ids)

    def first_broken(self, found: Found) -> Broken | None:
        """The first pair that does not agree; None: all do, or nothing is said."""
        for item in () if isinstance(found, Silent) else found:
            broken = item if isinstance(item, Broken) else self._compared(item)
            if broken is not None:
                return broken
        return None

    def differ(self, left: StepRecord, right: StepRecord) -> tuple[float, float]:
        """The largest difference of two steps' logits, and up to which they count as equal."""
        if left.logits is None or right.logits is None:
            return (0.0 if left.logits is right.logits else float("inf")), 0.0
        band = _BOTH * wrong_floor(self._dtype, right.logits)
        return largest_gap(left.logits, right.logits), band

    def _compared(self, pair: Pair) -> Broken | None:
        left, right = pair.left, pair.right
        if left is None or right is None:
            lacking = "first" if left is None else "second"
            return Broken(f"{pair.where}: the {lacking} run ended before it")
        if isinstance(left.outcome, Ok) != isinstance(right.outcome, Ok):
            return Broken(f"{pair.where}: {left.outcome} against {right.outcome}")
        if not pair.logits_only and (broken := _held_differ(pair.where, left, right)):
            return broken
        gap, band = self.differ(left, right)
        if gap <= band:
            return None
        return Broken(f"{pair.where}: logits differ by {gap:.3g}, {band:.2g} is rounding")


def prompt_then(case: Case) -> tuple[Request, ...]:
    """Prefill and decodes of a case, as a list that goes on after a refusal."""
    return (Prefill(case.prompt), *(Decode() for _ in case.then))


def zipped(
    where: str,
    left: Sequence[StepRecord],
    right: Sequence[StepRecord],
    *,
    logits_only: bool = False,
) -> list[Pair]:
    """Steps that must agree one by one; where one run is shorter, that is a difference."""
    n = max(len(left), len(right))
    lefts = [*left, *[None] * (n - len(left))]
    rights = [*right, *[None] * (n - len(right))]
    return [
        Pair(f"{where}, step {i}", a, b, logits_only)
        for i, (a, b) in enumerate(zip(lefts, rights, strict=True))
    ]


@cache
def model_of_layers(name: str, n_layers: int) -> LoadedModel:
    """A model with only its first layers."""
    loaded = load_model(name)
    n = min(n_layers, loaded.config.n_layers)
    config = replace(loaded.config, n_layers=n)
    weights = replace(loaded.weights, config=config, layers=loaded.weights.layers[:n])
    return replace(loaded, config=config, weights=weights)


def model_of(case: Case) -> LoadedModel:
    """The model of a case."""
    return model_of_layers(case.model, case.layers)


def another(case: Case, token: int, by: int) -> int:
    """A token that lies `by` further in the model's vocabulary."""
    return (token + by) % model_of(case).config.vocab_size


def copied(session: Session) -> Session:
    """A copy of all that a run consists of, aliasing included."""
    return copy.deepcopy(session)


def _one_after_the_other(first: Adapt | None, second: Adapt | None) -> Adapt | None:
    if first is None or second is None:
        return first or second
    return lambda seams: second(first(seams))


def _held_differ(where: str, left: StepRecord, right: StepRecord) -> Broken | None:
    """Whether two steps leave something else in the cache, slots aside."""
    pairs = (
        ("length", left.reported_length, right.reported_length),
        ("tokens held", left.ledger.token_index.tolist(), right.ledger.token_index.tolist()),
        ("position ids", left.ledger.position_id.tolist(), right.ledger.position_id.tolist()),
    )
    for name, a, b in pairs:
        if a != b:
            return Broken(f"{where}: {name} {a} against {b}")
    return None
