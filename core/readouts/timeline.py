"""The run as a line of steps: how each ended, and how far its logits are from the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.outcome import Ok
from core.readouts.per_step import once, per_step
from core.readouts.places import place_words
from core.readouts.words import compared_outcome
from core.record import Phase, StepRecord
from core.selection import Selection
from core.verdict import Standing, StepVerdict

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """One step.

    Attributes:
        step: its number.
        phase: what was asked.
        n_tokens: tokens that it read.
        length: length of the cache after it; None: not known.
        is_refused: whether it ended otherwise than carried out.
        outcome: how it ended, in words, and how it should have.
        is_pending: whether there is no verdict yet.
        policy: None: pending, or nobody can judge it.
        mechanism: likewise.
        logits: None: pending, or nothing to compare.
        max_abs_error: largest difference of a logit; None: pending, nothing to compare, or the
            logits are not finite.
        is_finite: whether the logits, if there are any, are finite.
        band: error up to which the logits count as right; None as above.
        wrong_above: error above which they count as wrong; None as above.
        difference: where it first differs, in words; None: nowhere, or pending.
    """

    step: int
    phase: Phase
    n_tokens: int
    length: int | None
    is_refused: bool
    outcome: str
    is_pending: bool
    policy: Literal["right", "wrong"] | None
    mechanism: Literal["right", "wrong"] | None
    logits: Standing | None
    max_abs_error: float | None
    is_finite: bool
    band: float | None
    wrong_above: float | None
    difference: str | None

    @property
    def is_wrong(self) -> bool:
        """Whether any of the three verdicts is wrong."""
        return "wrong" in (self.policy, self.mechanism, self.logits)

    @property
    def is_judged(self) -> bool:
        """Whether there is any verdict."""
        return not (self.policy is None and self.mechanism is None and self.logits is None)


@dataclass(frozen=True, slots=True)
class TimelineReadout:
    """All steps so far.

    Attributes:
        points: one per step.
        current: the step looked at.
        capacity: slots that the policy grants; None: not known.
        first_wrong: first step with any verdict wrong; None: none so far.
        n_pending: steps without a verdict.
        sentence: the verdict of the step looked at and the first wrong one, in words.
        selection: what is looked at.
    """

    points: tuple[TimelinePoint, ...]
    current: int
    capacity: int | None
    first_wrong: int | None
    n_pending: int
    sentence: str
    selection: Selection


def timeline_readout(view: RunView) -> TimelineReadout:
    """Every step of the run."""
    points = per_step(view, timeline_point)
    first_wrong, n_pending = once(view, _whole_run, points)
    current = points[view.selection.step]
    return TimelineReadout(
        points=points,
        current=current.step,
        capacity=view.spec.capacity,
        first_wrong=first_wrong,
        n_pending=n_pending,
        sentence="; ".join(_sentence(current, points, first_wrong, n_pending)),
        selection=view.selection,
    )


def _whole_run(view: RunView) -> tuple[int | None, int]:
    """The first wrong step, and how many are pending."""
    points = per_step(view, timeline_point)
    first_wrong = next((point.step for point in points if point.is_wrong), None)
    return first_wrong, sum(point.is_pending for point in points)


def timeline_point(record: StepRecord, verdict: StepVerdict | None) -> TimelinePoint:
    """One step; depends on nothing else of the run."""
    logits = None if verdict is None else verdict.logits
    error = None if logits is None else logits.max_abs_error
    is_finite = error is None or math.isfinite(error)
    expected = None if verdict is None else verdict.expected.outcome
    first = None if verdict is None else verdict.first_difference
    return TimelinePoint(
        step=record.step,
        phase=record.phase,
        n_tokens=len(record.token_ids) if isinstance(record.outcome, Ok) else 0,
        length=record.reported_length,
        is_refused=not isinstance(record.outcome, Ok),
        outcome=compared_outcome(record, expected),
        is_pending=verdict is None,
        policy=None if verdict is None else verdict.policy,
        mechanism=None if verdict is None else verdict.mechanism,
        logits=None if logits is None else logits.standing,
        max_abs_error=error if is_finite else None,
        is_finite=is_finite,
        band=None if logits is None else logits.band,
        wrong_above=None if logits is None else logits.wrong_above,
        difference=None if first is None else place_words(first),
    )


def _sentence(
    current: TimelinePoint,
    points: tuple[TimelinePoint, ...],
    first_wrong: int | None,
    n_pending: int,
) -> list[str]:
    words = [f"step {current.step} of {points[-1].step}, {current.phase.replace('_', ' ')}"]
    if "should" in current.outcome:
        words.append(current.outcome)
    elif current.is_refused:
        words.append(current.outcome.split(":")[0])
    words.append(_verdict_words(current))
    if first_wrong is None:
        words.append("no step is wrong" + (f" so far, {n_pending} pending" if n_pending else ""))
    else:
        where = points[first_wrong].difference
        words.append(f"first wrong step: {first_wrong}" + (f", in {where}" if where else ""))
    return words


def _verdict_words(point: TimelinePoint) -> str:
    if point.is_pending:
        return "verdict pending"
    parts = [f"policy {point.policy}", f"mechanism {point.mechanism}"]
    if point.logits is None:
        return ", ".join([*parts, "no logits"])
    error = "not finite" if point.max_abs_error is None else f"off by {point.max_abs_error:.3g}"
    thresholds = f"right up to {point.band:.3g}, wrong above {point.wrong_above:.3g}"
    return ", ".join([*parts, f"logits {point.logits}: {error} ({thresholds})"])
