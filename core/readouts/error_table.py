"""How far each tensor of a step is from the reference's: fields down, layers across.

It needs a forward of the reference for itself, so it is made when it is looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.compare import Detail, FieldGap, Step, gaps_of_layer
from core.record import StepRecord
from core.tolerance import beyond
from core.trace_json import finite_or_text
from core.verdict import StepVerdict

TENSORS = ("keys", "values", "rotated_keys", "scores", "weights", "output", "residual")
"""Fields that every layer has, in the order in which it uses them."""


@dataclass(frozen=True, slots=True)
class ErrorCell:
    """A field in a layer.

    Attributes:
        error: its largest error, of those beyond their band if there is one; NaN where it is not
            finite.
        band: up to which that error counts as equal.
        head: the head it is in; None: the field belongs to none.
        is_off: whether any error is beyond its band.
    """

    error: float
    band: float
    head: int | None
    is_off: bool


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The largest errors of a step.

    Attributes:
        step: the step.
        cells: field to one cell a layer; None: none of its rows can be compared.
        logits: of the last token that is kept; wrong above `wrong_above`.
        wrong_above: error above which logits are wrong.
    """

    step: int
    cells: dict[str, tuple[ErrorCell | None, ...]]
    logits: ErrorCell
    wrong_above: float


def error_table(
    records: Sequence[StepRecord], verdict: StepVerdict, detail: Detail, number_kind: str
) -> ErrorTable | None:
    """The table of a step; None: nothing was computed, or there is nothing to compare with.

    Args:
        records: of the run, at least up to the step.
        verdict: of the step.
        detail: the reference's own values for it (`core.judge.Judge.detail`).
        number_kind: number type of the engine, and how rows are narrowed.
    """
    logits = verdict.logits
    step = Step(records[: verdict.step + 1], verdict.expected, number_kind)
    if logits is None or not step.record.layers:
        return None
    layers = [
        {gap.field: _cell(gap) for gap in gaps_of_layer(step, layer, detail)}
        for layer in range(len(step.record.layers))
    ]
    return ErrorTable(
        step=verdict.step,
        cells={field: tuple(cells.get(field) for cells in layers) for field in TENSORS},
        logits=ErrorCell(
            logits.max_abs_error, logits.band, None, is_off=logits.standing != "right"
        ),
        wrong_above=logits.wrong_above,
    )


def _cell(gap: FieldGap) -> ErrorCell:
    bands = np.broadcast_to(gap.bands, gap.off_by.shape)
    is_off = beyond(gap.off_by, bands)
    of_interest = is_off if is_off.any() else np.ones_like(is_off)
    # What is no number comes before all others.
    rank = np.where(np.isnan(gap.off_by), np.inf, gap.off_by)
    place = int(np.argmax(np.where(of_interest, rank, -1.0)))
    head = int(np.unravel_index(place, gap.off_by.shape)[0]) if gap.has_heads else None
    return ErrorCell(
        float(gap.off_by.flat[place]), float(bands.flat[place]), head, bool(is_off.any())
    )


def table_lines(table: ErrorTable) -> Iterator[str]:
    """The table as text; an error beyond its band is marked with *."""
    n_layers = len(table.cells["output"])
    yield (
        f"Largest errors in step {table.step}, by layer (* beyond the band up to which it counts "
        "as equal)"
    )
    rows = [["", *(f"layer {layer}" for layer in range(n_layers))]]
    rows.extend([field, *map(_cell_text, cells)] for field, cells in table.cells.items())
    rows.append(["logits", _cell_text(table.logits)])
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(n_layers + 1)]
    for row in rows:
        padded = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        yield f"  {'  '.join(padded)}".rstrip()


def _cell_text(cell: ErrorCell | None) -> str:
    if cell is None:
        return "–"
    return f"{cell.error:.1e}{'*' if cell.is_off else ''}"


def errors_json(table: ErrorTable) -> dict[str, object]:
    """By field, the errors and their bands, one a layer; those of the logits are single numbers."""
    by_field: dict[str, object] = {
        field: {
            "error": [None if cell is None else finite_or_text(cell.error) for cell in cells],
            "band": [None if cell is None else finite_or_text(cell.band) for cell in cells],
            "head": [None if cell is None else cell.head for cell in cells],
        }
        for field, cells in table.cells.items()
    }
    logits = table.logits
    by_field["logits"] = {
        "error": finite_or_text(logits.error),
        "band": finite_or_text(logits.band),
    }
    return by_field
