"""How a fault travels: every stage of every step, right, off by so many decades, or wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.readouts.first_difference import first_difference_words, nothing_wrong_words
from core.readouts.per_step import once, per_step
from core.readouts.words import ranges
from core.record import Phase, StepRecord
from core.selection import Selection
from core.verdict import Difference, LogitsVerdict, Stages, StepVerdict

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

CellState = Literal["right", "rounding", "wrong", "pending", "nothing", "not kept"]
"""pending: no verdict yet; nothing: the step has no such stage, or nothing to compare it with;
not kept: the verdict comes from a file that does not hold its stages."""

INTEGER_STAGES = ("admission", "positions", "slots", "mask")
_LAST_STAGES = ("logits", "contents")
STAGE_WORDS = {
    "admission": "outcome, length and seen (Cache)",
    "positions": "position ids (Cache)",
    "slots": "slots of the new rows (Cache)",
    "mask": "readable and visible tokens (Mask)",
    "logits": "what may come next (Next token)",
    "contents": "the tokens held after the step (Cache)",
}
"""What a stage compares, and the dock that shows it; all others are layers."""
_STAGE_OF_FIELD = {
    "outcome": 0,
    "length": 0,
    "seen": 0,
    "position_ids": 1,
    "slots": 2,
    "readable": 3,
    "visible": 3,
}
_N_INTEGER = len(INTEGER_STAGES)


@dataclass(frozen=True, slots=True)
class SpreadCell:
    """One stage of one step.

    Attributes:
        state: how it stands.
        decades: powers of ten by which the error is above its band; infinite where it is not
            finite, 0 where no number is beyond it. None: not wrong, or the stage is an integer's.
        error: the largest error; NaN where it is not finite. None: no number.
        band: error up to which it counts as equal; None: no number.
    """

    state: CellState
    decades: float | None = None
    error: float | None = None
    band: float | None = None


@dataclass(frozen=True, slots=True)
class SpreadColumn:
    """One step; a cell for each stage, in order."""

    step: int
    phase: Phase
    cells: tuple[SpreadCell, ...]

    @property
    def first_wrong(self) -> int | None:
        """The first stage that is wrong; None: none is."""
        return next((i for i, cell in enumerate(self.cells) if cell.state == "wrong"), None)


@dataclass(frozen=True, slots=True)
class SpreadReadout:
    """All steps so far.

    Attributes:
        stages: names of the rows, in the order in which a step passes them.
        columns: one per step.
        current: the step looked at.
        first_wrong: step and stage of the first cell that is wrong; None: none so far.
        sentence: that cell in words.
        selection: what is looked at.
    """

    stages: tuple[str, ...]
    columns: Sequence[SpreadColumn]
    current: int
    first_wrong: tuple[int, int] | None
    sentence: str
    selection: Selection


def spread_readout(view: RunView) -> SpreadReadout:
    """Every stage of every step."""
    columns = per_step(view, spread_column)
    first, sentence = once(view, _whole_run, columns)
    return SpreadReadout(
        stages=stage_names(view.model.config.n_layers),
        columns=columns,
        current=view.selection.step,
        first_wrong=first,
        sentence=sentence,
        selection=view.selection,
    )


def _whole_run(view: RunView) -> tuple[tuple[int, int] | None, str]:
    """Step and stage of the first wrong cell, and the sentence."""
    columns = per_step(view, spread_column)
    found = ((c.step, c.first_wrong) for c in columns)
    first = next(((step, stage) for step, stage in found if stage is not None), None)
    return first, _sentence(view, columns, first)


def stage_names(n_layers: int) -> tuple[str, ...]:
    """Names of the rows."""
    layers = (f"layer {layer}" for layer in range(n_layers))
    return (*INTEGER_STAGES, *layers, *_LAST_STAGES)


def layer_of(stage: int, n_stages: int) -> int | None:
    """The layer that a row belongs to; None: it belongs to the step."""
    is_layer = _N_INTEGER <= stage < n_stages - len(_LAST_STAGES)
    return stage - _N_INTEGER if is_layer else None


def spread_column(record: StepRecord, verdict: StepVerdict | None) -> SpreadColumn:
    """One step; depends on nothing else of the run."""
    cells = tuple(_cells(verdict, n_layers=len(record.live)))
    return SpreadColumn(record.step, record.phase, cells)


def _cells(verdict: StepVerdict | None, n_layers: int) -> Iterable[SpreadCell]:
    n_stages = _N_INTEGER + n_layers + len(_LAST_STAGES)
    if verdict is None:
        return (SpreadCell("pending"),) * n_stages
    logits = _logits_cell(verdict.logits)
    cells = [*_before_the_logits(verdict, n_layers), logits, _contents_cell(verdict)]
    if verdict.is_wrong and all(cell.state != "wrong" for cell in cells):
        # Wrong in what no stage measures: a row that was read, though it changed no residual.
        stage = _stage_of(verdict.first_difference, n_stages)
        cells[stage] = SpreadCell("wrong", None if stage < _N_INTEGER else 0.0)
    return cells


def _before_the_logits(verdict: StepVerdict, n_layers: int) -> Iterable[SpreadCell]:
    stages, is_wrong = verdict.stages, verdict.is_wrong
    if stages is None:
        return (SpreadCell("not kept"),) * (_N_INTEGER + n_layers)
    answers = (stages.admission, stages.positions, stages.slots, stages.mask)
    integers = (_integer_cell(answer, is_wrong=is_wrong) for answer in answers)
    return (*integers, *_layer_cells(stages, n_layers, is_wrong=is_wrong))


def _integer_cell(answer: bool | None, *, is_wrong: bool) -> SpreadCell:  # noqa: FBT001
    if answer is None:
        return SpreadCell("nothing")
    return SpreadCell("right" if answer or not is_wrong else "wrong")


def _contents_cell(verdict: StepVerdict) -> SpreadCell:
    """What is held once the step is over."""
    contents = None if verdict.stages is None else verdict.stages.contents
    if contents is None:
        return SpreadCell("not kept")
    return _integer_cell(contents, is_wrong=verdict.is_wrong)


def _layer_cells(stages: Stages, n_layers: int, *, is_wrong: bool) -> Iterable[SpreadCell]:
    if stages.layer_errors is None or stages.layer_bands is None:
        return (SpreadCell("nothing"),) * n_layers
    return (
        _number_cell(error, band, beyond="wrong" if is_wrong else "rounding")
        for error, band in zip(stages.layer_errors, stages.layer_bands, strict=True)
    )


def _number_cell(error: float, band: float, *, beyond: Literal["wrong", "rounding"]) -> SpreadCell:
    """A residual. Beyond its band it is wrong in a step that is; else it is rounding."""
    if error <= band:
        return SpreadCell("right", None, error, band)
    decades = math.log10(error / band) if math.isfinite(error) else math.inf
    return SpreadCell(beyond, decades if beyond == "wrong" else None, error, band)


def _logits_cell(logits: LogitsVerdict | None) -> SpreadCell:
    if logits is None:
        return SpreadCell("nothing")
    error, above = logits.max_abs_error, logits.wrong_above
    if logits.standing != "wrong":
        return SpreadCell(logits.standing, None, error, logits.band)
    decades = max(0.0, math.log10(error / above)) if math.isfinite(error) else math.inf
    return SpreadCell("wrong", decades, error, logits.band)


def _stage_of(difference: Difference | None, n_stages: int) -> int:
    if difference is not None and difference.field in _STAGE_OF_FIELD:
        return _STAGE_OF_FIELD[difference.field]
    if difference is not None and difference.field == "contents":
        return n_stages - 1
    if difference is None or difference.layer is None:
        return n_stages - len(_LAST_STAGES)
    return _N_INTEGER + difference.layer


def _sentence(view: RunView, columns: Sequence[SpreadColumn], first: tuple[int, int] | None) -> str:
    if first is not None:
        step, stage = first
        words = first_difference_words(view.records[step], view.verdicts[step])
        return f"{words}{_travels(columns[step], stage)}"
    words = nothing_wrong_words(len(columns), len(columns) - len(view.verdicts))
    is_kept = all(cell.state != "not kept" for column in columns for cell in column.cells[:1])
    return words if is_kept else f"{words}; the stages before the logits were not kept"


def _travels(column: SpreadColumn, stage: int) -> str:
    """What else is wrong in the same step: the way from the first stage to the logits."""
    logits = len(column.cells) - len(_LAST_STAGES)
    wrong = [i for i in range(stage + 1, logits + 1) if column.cells[i].state == "wrong"]
    layers = [i - _N_INTEGER for i in wrong if _N_INTEGER <= i < logits]
    parts = [f"{'layer' if len(layers) == 1 else 'layers'} {ranges(layers)}"] if layers else []
    if wrong and wrong[-1] == logits:
        parts.append("the logits")
    return f"; from there it reaches {' and '.join(parts)}" if parts else ""
