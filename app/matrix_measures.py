"""What of a cell of the matrix is shown: a few signs, a shade, a sentence."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from core.matrix_cell import Cell

NO_RUN, BROKEN, SILENT, NOT_ASKED, UNTRIED = "–", "!", "silent", "unasked", "untried"
_LEAST_ERROR, _MOST_ERROR = 0.1, 30.0
"""Errors between which the shade grows: the mildest known fault, and logits with nothing right."""

_PALE = 0.4
"""Most faults show in every run: their number is the news, not the shade."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One of the numbers of a cell.

    Attributes:
        title: what it is called.
        shade: what its shade says.
        signs: it, in a few signs, of a cell that has runs.
        share: 0 to 1, how much the cell is shaded.
    """

    title: str
    shade: str
    signs: Callable[[Cell], str]
    share: Callable[[Cell], float]


def number_words(error: float) -> str:
    """A largest error: one digit after the point from 0.1 on, else its size."""
    if not math.isfinite(error):
        return str(error)
    return f"{error:.1f}" if error >= 0.1 else f"{error:.0e}"


def signs_of(measure: Measure, cell: Cell) -> str:
    """A cell in a few signs."""
    return measure.signs(cell) if cell.why_not is None else no_run_sign(cell)


def no_run_sign(cell: Cell) -> str:
    """Of a cell without a run: none is possible, or the fault itself is broken."""
    return BROKEN if cell.is_broken else NO_RUN


def of_texts(cell: Cell) -> str:
    """Texts that stay right, of those that were put to the test."""
    return f"{cell.n_same_chosen}/{cell.n_tried}" if cell.n_tried else UNTRIED


def share_of(measure: Measure, cell: Cell) -> float:
    """How much a cell is shaded, 0 to 1."""
    return 0.0 if cell.why_not is not None else measure.share(cell)


def share_of_wrong_texts(cell: Cell) -> float:
    """Of those put to the test; 0 where none was."""
    return 1 - cell.n_same_chosen / cell.n_tried if cell.n_tried else 0.0


def sentence_of(cell: Cell) -> str:
    """All of a cell in words."""
    where = f"{cell.fault}, {_model_words(cell)}, {cell.policy}"
    if cell.why_not is not None:
        why = "the fault cannot be used" if cell.is_broken else "no such run"
        return f"{where}: {why}, {cell.why_not}"
    parts = [_shown_words(cell), _logits_words(cell)]
    parts.append(_text_words(cell))
    if cell.n_questions:
        parts.append(f"{cell.n_wrong_answers} of {cell.n_questions} questions answered wrongly")
    else:
        parts.append("no question asked, a random model knows no stories")
    return f"{where}: {'; '.join(parts)}"


def _model_words(cell: Cell) -> str:
    return cell.model if cell.model == cell.scheme else f"{cell.model} ({cell.scheme})"


def _shown_words(cell: Cell) -> str:
    if cell.first_wrong_step is None:
        return f"silent, no verdict is wrong in any of {cell.n_runs} runs"
    return f"first wrong at step {cell.first_wrong_step}, in {cell.n_shown} of {cell.n_runs} runs"


def _text_words(cell: Cell) -> str:
    if cell.n_tried == 0:
        return "no token was chosen from wrong logits: the text stays right"
    return f"the text stays right in {cell.n_same_chosen} of {cell.n_tried} that could tell"


def _logits_words(cell: Cell) -> str:
    if math.isnan(cell.largest_error):
        return "logits are not finite"
    return f"logits off by up to {number_words(cell.largest_error)}"


def _of_answers(cell: Cell) -> str:
    return f"{cell.n_wrong_answers}/{cell.n_questions}" if cell.n_questions else NOT_ASKED


def _error_share(cell: Cell) -> float:
    """By decades, where logits are wrong at all."""
    if cell.first_wrong_logits is None:
        return 0.0
    if not math.isfinite(cell.largest_error):
        return 1.0
    span = math.log(_MOST_ERROR / _LEAST_ERROR)
    share = math.log(max(cell.largest_error, _LEAST_ERROR) / _LEAST_ERROR) / span
    return min(1.0, 0.2 + 0.8 * share)


MEASURES = (
    Measure(
        title="First wrong step",
        shade="share of runs in which a verdict is wrong",
        signs=lambda cell: SILENT if cell.n_shown == 0 else str(cell.first_wrong_step),
        share=lambda cell: _PALE * cell.n_shown / cell.n_runs,
    ),
    Measure(
        title="Largest logit error",
        shade="size of the error, where logits are wrong",
        signs=lambda cell: number_words(cell.largest_error),
        share=_error_share,
    ),
    Measure(
        title="Texts that stay right",
        shade="share of texts that go wrong; untried: no token was chosen from wrong logits",
        signs=of_texts,
        share=share_of_wrong_texts,
    ),
    Measure(
        title="Wrong answers",
        shade="share of wrong answers; unasked: a random model knows no stories",
        signs=_of_answers,
        share=lambda cell: cell.n_wrong_answers / cell.n_questions if cell.n_questions else 0.0,
    ),
)
