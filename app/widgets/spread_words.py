"""What a cell of Spread is, in words."""

import math

from core.readouts.spread import CellState, SpreadCell

_WORDS: dict[CellState, str] = {
    "nothing": "nothing to compare in this step",
    "right": "right",
    "not kept": "not kept in the file",
    "rounding": "rounding: beyond the band, in a step that is not wrong",
    "pending": "verdict pending",
    "wrong": "wrong",
}


def told(cell: SpreadCell) -> str:
    """Its state, its error and its band, each in a line."""
    words = _WORDS[cell.state]
    if cell.error is None or cell.band is None:
        return words
    error = f"{cell.error!r}" if math.isfinite(cell.error) else "not finite"
    times = f"{cell.error / cell.band:.3g} × its band" if math.isfinite(cell.error) else ""
    return "\n".join(
        line
        for line in (f"{words} {times}".strip(), f"largest error {error}", f"band {cell.band!r}")
        if line
    )
