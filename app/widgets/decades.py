"""How far a number is beyond its band, as a colour, a sign, and a rank."""

import math

from PySide6.QtGui import QColor

from app.theme import Theme
from core.readouts.spread import CellState, SpreadCell

FULL_DECADES = 6
"""From so many powers of ten above its band on, a cell has the full alarm colour."""
SEVERITY: dict[CellState, int] = {
    "nothing": 0,
    "right": 1,
    "not kept": 2,
    "rounding": 3,
    "pending": 4,
    "wrong": 10,
}
WORST_CODE = SEVERITY["wrong"] + FULL_DECADES
_FAINTEST = 0.22
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def heat(theme: Theme, cell: SpreadCell) -> QColor:
    """White inside the band, then towards alarm by decades above it."""
    return theme.mixed(theme.alarm, _share(cell))


def contrast(a: QColor, b: QColor) -> float:
    """Contrast ratio of two colours, from 1 to 21."""
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def code(cell: SpreadCell) -> int:
    """How bad a cell is, for the worst of several to be shown: never hidden by what is right."""
    if cell.state != "wrong":
        return SEVERITY[cell.state]
    decades = FULL_DECADES if cell.decades is None else min(FULL_DECADES, cell.decades)
    return SEVERITY["wrong"] + round(decades)


def amount(cell: SpreadCell) -> str:
    """The sign of a wrong cell: ✕, N for what is not finite, else a power of ten."""
    if cell.decades is None:
        return "✕"
    if math.isinf(cell.decades):
        return "N"
    return power(round(cell.decades)) if cell.decades >= 0.5 else "✕"


def power(exponent: int) -> str:
    """Ten to a power, in small figures."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def _share(cell: SpreadCell) -> float:
    if cell.state != "wrong":
        return 0.0
    return 1.0 if cell.decades is None else _wrong_share(cell.decades)


def _wrong_share(decades: float) -> float:
    return _FAINTEST + (1 - _FAINTEST) * min(1.0, decades / FULL_DECADES)


def _luminance(colour: QColor) -> float:
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
