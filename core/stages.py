"""How a step stands at every stage that it passes: how far a fault has spread.

`core.compare` names the first difference of a step; here every stage is asked, in units that can be
drawn beside each other. Integers are right or wrong, the residual after a layer has an error.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import ABSENT, FloatArray
from core.compare import has_good_slots
from core.outcome import Ok
from core.policy_oracle import Expected
from core.record import LayerRecord, StepRecord
from core.reference import ReferenceRun
from core.rounding import Rounding
from core.tolerance import field_band, gap
from core.verdict import Stages


@dataclass(frozen=True, slots=True)
class LayerErrors:
    """See `core.verdict.Stages`: [L] errors and bands."""

    errors: tuple[float, ...]
    bands: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedStep:
    """A step whose last computed token stands in a `row` of a passage."""

    record: StepRecord
    passage_id: int
    row: int

    @property
    def n_new(self) -> int:
        """New tokens that were computed and have a row: the last rows of the step's tensors.

        A token that should have fallen out before it was computed has none.
        """
        return min(len(self.record.token_ids) - self.record.n_skipped, self.row + 1)

    @property
    def first_row(self) -> int:
        """The row of the first of them."""
        return self.row - self.n_new + 1


def stages_of(
    record: StepRecord,
    before: StepRecord | None,
    expected: Expected,
    layers: LayerErrors | None,
    *,
    contents: bool,
) -> Stages:
    """What the oracles say of each stage of a step.

    Args:
        record: the step.
        before: the step before it.
        expected: what the specification says of it.
        layers: how far its residuals are from the reference's.
        contents: whether what it leaves behind is as specified.
    """
    is_planned = record.is_computed and isinstance(expected.outcome, Ok)
    return Stages(
        admission=(
            record.outcome == expected.outcome
            and record.reported_length == expected.length
            and record.ledger.seen == expected.seen
        ),
        positions=_are_positions_right(record, expected) if is_planned else None,
        slots=_are_slots_right(record, before) if record.is_computed else None,
        mask=_is_mask_right(record, expected) if is_planned else None,
        layer_errors=None if layers is None else layers.errors,
        layer_bands=None if layers is None else layers.bands,
        contents=contents,
    )


def first_rows(steps: Iterable[PlacedStep]) -> dict[int, int]:
    """By passage, the row of the first new token of any of the steps."""
    by_passage = _by_passage(steps)
    return {number: min(s.first_row for s in steps) for number, steps in by_passage.items()}


def errors_by_step(
    steps: Iterable[PlacedStep],
    run: Callable[[int], ReferenceRun],
    dtype: str,
    rounding: Rounding,
) -> dict[int, LayerErrors]:
    """How far each step's residuals are from those of the passage that it stands in.

    Args:
        steps: steps, of any passages.
        run: number to a run over that passage, with residuals from `first_rows` on.
        dtype: number type of the engine.
        rounding: what it may do at each step.
    """
    found: dict[int, LayerErrors] = {}
    for number, placed in _by_passage(steps).items():
        errors = _layer_errors(placed, run(number), dtype, rounding)
        found |= {step.record.step: mine for step, mine in zip(placed, errors, strict=True)}
    return found


def _by_passage(steps: Iterable[PlacedStep]) -> dict[int, list[PlacedStep]]:
    found: dict[int, list[PlacedStep]] = {}
    for step in steps:
        found.setdefault(step.passage_id, []).append(step)
    return found


def _layer_errors(
    steps: Sequence[PlacedStep], run: ReferenceRun, dtype: str, rounding: Rounding
) -> list[LayerErrors]:
    """Of steps of one passage."""
    by_layer = [
        _errors_of_layer(steps, run, layer, dtype, rounding) for layer in range(len(run.residuals))
    ]
    by_step = zip(*by_layer, strict=True)
    return [LayerErrors(*zip(*one, strict=True)) for one in by_step]


def _errors_of_layer(
    steps: Sequence[PlacedStep],
    run: ReferenceRun,
    layer: int,
    dtype: str,
    rounding: Rounding,
) -> Iterator[tuple[float, float]]:
    """Error and band of each step."""
    residual = run.residuals[layer]
    n_tokens = run.values[layer].shape[1]
    is_last = layer + 1 == len(run.residuals)
    counts = [1 if is_last else step.n_new for step in steps]
    rows = np.concatenate(
        [np.arange(step.row - n + 1, step.row + 1) for step, n in zip(steps, counts, strict=True)]
    )
    mine = np.concatenate(
        [step.record.layers[layer].residual[-n:] for step, n in zip(steps, counts, strict=True)]
    )
    right = residual[rows - (n_tokens - len(residual))]
    starts = np.cumsum([0, *counts[:-1]])
    errors = np.maximum.reduceat(gap(mine, right).max(axis=1), starts)
    bands = np.maximum.reduceat(_row_bands(dtype, right), starts)
    for step, error, band in zip(steps, errors[:, None], bands[:, None], strict=True):
        limit = rounding.limits(step.record.step, "residual", layer, band, error)
        yield float(error[0]), float(limit[0])


def _row_bands(dtype: str, right: FloatArray) -> FloatArray:
    """[rows] the band of each; that of several rows together is the largest of them."""
    finite = np.where(np.isfinite(right), right, 0.0)
    return field_band(dtype, np.ones(1)) * np.maximum(1.0, np.abs(finite).max(axis=1))


def _are_positions_right(record: StepRecord, expected: Expected) -> bool:
    """In every layer, for each token as a query and for its key where it is rotated when stored."""
    if record.position_ids != expected.position_ids:
        return False
    computed = [position for position in expected.position_ids if position is not None]
    right = np.array(computed, dtype=np.int64)
    for layer in _distinct(record.layers):
        given = (layer.plan.position_ids, layer.plan.write_position_ids)
        for positions in given:
            if positions is not None and not np.array_equal(
                positions[len(positions) - len(right) :], right
            ):
                return False
    return True


def _are_slots_right(record: StepRecord, before: StepRecord | None) -> bool:
    return has_good_slots(record, before) and all(
        np.array_equal(layer.row_token, layer.plan.view_token_index)
        for layer in _distinct(record.layers)
    )


def _is_mask_right(record: StepRecord, expected: Expected) -> bool:
    n_loose = expected.n_loose
    n_new = len(record.token_ids) - record.n_skipped
    readable = [np.array(tokens, dtype=np.int64) for tokens in expected.readable[-n_new:]]
    for layer in _distinct(record.layers):
        for seen, right in zip(layer.plan.mask[-n_new:], readable, strict=True):
            named = layer.plan.view_token_index[seen]
            tokens = named[named != ABSENT]
            if len(named) - len(tokens) != n_loose or not np.array_equal(np.sort(tokens), right):
                return False
    return True


def _distinct(layers: Sequence[LayerRecord]) -> Iterator[LayerRecord]:
    """One of each set of layers that share their plan and what they read."""
    seen: set[tuple[int, int]] = set()
    for layer in layers:
        key = (id(layer.plan), id(layer.row_token))
        if key not in seen:
            seen.add(key)
            yield layer
