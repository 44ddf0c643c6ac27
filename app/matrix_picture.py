"""The matrix as an SVG: a line for each fault, a column for each model and policy."""

from collections.abc import Sequence
from html import escape

from app.matrix_measures import BROKEN, share_of_wrong_texts
from app.matrix_table import words_of
from core.matrix_cell import Cell

# The light theme's colours, as text: this file draws where there is no Qt. A test compares them.
PAPER, TEXT, DIM, FRAME, ALARM = "#FFFFFF", "#1F2328", "#57606A", "#D5D9DE", "#C2410C"
_ROW_PX, _COLUMN_PX, _NAMES_PX, _HEAD_PX, _FOOT_PX, _GAP_PX = 18, 62, 168, 52, 52, 12
_FONT = "DejaVu Sans, sans-serif"
_LEGEND = (
    "number: first wrong step · fill: share of texts that go wrong",
    "ring: wrong, and no text shows it · dot: silent · empty: no such run · !: unusable fault",
)
_LEAST_WIDTH_PX = 480


def picture_of(cells: Sequence[Cell], n_prompts: int) -> str:
    """The text of the SVG file."""
    faults = list(dict.fromkeys(cell.fault for cell in cells))
    columns = list(dict.fromkeys((cell.model, cell.policy) for cell in cells))
    models = list(dict.fromkeys(model for model, _ in columns))
    lefts = {
        column: _NAMES_PX + i * _COLUMN_PX + models.index(column[0]) * _GAP_PX
        for i, column in enumerate(columns)
    }
    width = max(_LEAST_WIDTH_PX, max(lefts.values()) + _COLUMN_PX + _GAP_PX)
    height = _HEAD_PX + len(faults) * _ROW_PX + _FOOT_PX
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="{_FONT}" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
    ]
    for model in models:
        left = min(left for column, left in lefts.items() if column[0] == model)
        parts.append(_text(left, 18, model, TEXT, weight="bold"))
    parts += [_text(left, 40, policy, DIM) for (_, policy), left in lefts.items()]
    parts += [
        _text(_GAP_PX, _HEAD_PX + i * _ROW_PX + 13, fault, TEXT) for i, fault in enumerate(faults)
    ]
    for cell in cells:
        top = _HEAD_PX + faults.index(cell.fault) * _ROW_PX
        parts.append(_cell(lefts[cell.model, cell.policy], top, cell))
    first, second = _LEGEND
    words = f"{n_prompts} prompts a cell · {first}"
    parts += [_text(_GAP_PX, height - 30, words, DIM), _text(_GAP_PX, height - 14, second, DIM)]
    parts.append("</svg>\n")
    return "\n".join(parts)


def _cell(left: int, top: int, cell: Cell) -> str:
    title = escape(f"{cell.fault}, {cell.model}, {cell.policy}: {cell.why_not or words_of(cell)}")
    return f"<g><title>{title}</title>{_drawn(left, top, cell)}</g>"


def _drawn(left: int, top: int, cell: Cell) -> str:
    width, height = _COLUMN_PX - 4, _ROW_PX - 3
    if cell.is_broken:
        return _text(left + 6, top + 12, BROKEN, ALARM)
    if cell.why_not is not None:
        return f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none"/>'
    box = f'<rect x="{left + 0.5}" y="{top + 0.5}" width="{width}" height="{height}" '
    if cell.n_shown == 0:
        dot = f'<circle cx="{left + width / 2}" cy="{top + height / 2}" r="1.5" fill="{DIM}"/>'
        return f'{box}fill="none" stroke="{FRAME}"/>{dot}'
    share = share_of_wrong_texts(cell)
    filled = f'{box}fill="{ALARM}" fill-opacity="{0.75 * share:.2f}" stroke="{ALARM}"/>'
    return filled + _text(left + 6, top + 12, str(cell.first_wrong_step), TEXT)


def _text(x: int, y: int, words: str, colour: str, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-weight="{weight}">{escape(words)}</text>'
