"""The matrix as text: for a terminal, as Markdown, as CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields

from app.matrix_measures import SILENT, no_run_sign, number_words, of_texts
from core.matrix_cell import Cell

LEGEND = (
    "Each cell: first step with a wrong verdict (the median) · largest logit error · texts that "
    "stay right, of those put to the test (a token was chosen from wrong logits, or the run went "
    "otherwise; *untried*: none was) · wrong answers to story questions, which a model of random "
    "weights is not asked. "
    "Right is what the run without the fault says under the same policy. *silent*: no verdict is "
    "wrong in any run; –: the fault's scenario does not go with the policy; !: the fault's own "
    "function cannot be used."
)


def text_of(cells: Sequence[Cell], n_prompts: int) -> str:
    """A table for a terminal."""
    parts = [f"{n_prompts} prompts a cell\n{LEGEND.replace('*', '')}\n"]
    for model, rows in _by_model(cells):
        head = ["fault", *_policies(rows)]
        lines = [head, *([fault, *map(words_of, row)] for fault, row in _by_fault(rows))]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        parts.append(f"\n{_model_words(model, rows)}\n")
        parts += [
            "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
            + "\n"
            for line in lines
        ]
    return "".join(parts)


def markdown_of(cells: Sequence[Cell], n_prompts: int) -> str:
    """The same as Markdown, with a sum for each model."""
    made_by = f"Made by `kvscope matrix --prompts {n_prompts}`."
    parts = [f"# Faults by scheme and policy\n\n{made_by} {LEGEND}\n"]
    for model, rows in _by_model(cells):
        policies = _policies(rows)
        parts.append(f"\n## {_model_words(model, rows)}\n\n{sum_of(rows)}\n\n")
        parts.append(f"| fault | {' | '.join(policies)} |\n|{' --- |' * (len(policies) + 1)}\n")
        parts += [
            f"| {fault} | {' | '.join(map(words_of, row))} |\n" for fault, row in _by_fault(rows)
        ]
    return "".join(parts)


def csv_of(cells: Sequence[Cell]) -> str:
    """A line for each cell, with all that was measured."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [part.name for part in fields(Cell)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(cell) for cell in cells)
    return file.getvalue()


def words_of(cell: Cell) -> str:
    """A cell in a few signs."""
    if cell.why_not is not None:
        return no_run_sign(cell)
    if cell.n_shown == 0:
        return SILENT
    is_in_some = cell.n_shown < cell.n_runs
    shown = f" (in {cell.n_shown}/{cell.n_runs})" if is_in_some else ""
    words = [f"{cell.first_wrong_step}{shown}", number_words(cell.largest_error)]
    words.append(of_texts(cell))
    if cell.n_questions:
        words.append(f"{cell.n_wrong_answers}/{cell.n_questions}")
    return " · ".join(words)


def sum_of(cells: Sequence[Cell]) -> str:
    """How weak an alarm the text is, in a sentence."""
    wrong = [cell for cell in cells if cell.first_wrong_logits is not None]
    n_runs, n_chosen = sum(cell.n_runs for cell in wrong), sum(cell.n_chosen for cell in wrong)
    n_same = sum(cell.n_same_chosen for cell in wrong)
    if n_runs == 0:
        return "No fault makes a logit wrong here."
    parts = [
        f"{len(wrong)} cells have wrong logits; in {n_chosen} of their {n_runs} runs a token is "
        f"chosen from them, and {n_same} of these ({100 * n_same / max(1, n_chosen):.0f} %) still "
        "say what the right run says"
    ]
    if n_runs > n_chosen:
        n_other = sum(cell.n_other_text for cell in wrong) - (n_chosen - n_same)
        parts.append(f"of the other {n_runs - n_chosen}, {n_other} say something else")
    n_questions = sum(cell.n_questions for cell in wrong)
    if n_questions:
        n_right = n_questions - sum(cell.n_wrong_answers for cell in wrong)
        parts.append(
            f"{n_right} of {n_questions} story questions ({100 * n_right / n_questions:.0f} %) get "
            "the same answer"
        )
    return "; ".join(parts) + "."


def _by_model(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    models = dict.fromkeys(cell.model for cell in cells)
    return [(model, [cell for cell in cells if cell.model == model]) for model in models]


def _by_fault(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    faults = dict.fromkeys(cell.fault for cell in cells)
    return [(fault, [cell for cell in cells if cell.fault == fault]) for fault in faults]


def _policies(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.policy for cell in cells))


def _model_words(model: str, cells: Sequence[Cell]) -> str:
    scheme = cells[0].scheme
    return model if model == scheme else f"{model} ({scheme})"
