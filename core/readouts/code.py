"""The functions behind a step: the right rule, the faulty one that runs, and its live values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from core.faults.sources import (
    SEAM_NAMES,
    FunctionSource,
    SeamSource,
    correct_source,
    faulty_sources,
)
from core.readouts.code_diff import CodeRow, diff_rows, plain_rows
from core.readouts.seam_values import SeamValue, seam_values
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

FIRST_SEAM = "position_ids"
"""What is looked at while no fault is on."""


@dataclass(frozen=True, slots=True)
class CodeSection:
    """One seam.

    Attributes:
        seam: its name.
        correct: the right function.
        faulty: the function of the fault that is on; None: none.
        fault: title of the fault; None: none.
        rows: the lines of both, beside each other.
        values: what it was given and what it answered in the step looked at.
        note: what is to be said of it in this step, in words; empty: nothing.
        sentence: all of it in words.
    """

    seam: str
    correct: FunctionSource
    faulty: FunctionSource | None
    fault: str | None
    rows: tuple[CodeRow, ...]
    values: tuple[SeamValue, ...]
    note: str
    sentence: str


@dataclass(frozen=True, slots=True)
class CodeReadout:
    """The seams of a run.

    Attributes:
        seams: all names, in the order in which a step asks them.
        faulty_seams: those that a fault replaces, one for each fault, in their order.
        first: the one to show while none is chosen.
        step: the step looked at.
        selection: what is looked at.
    """

    seams: tuple[str, ...]
    faulty_seams: tuple[str, ...]
    first: str
    step: int
    selection: Selection
    _view: RunView
    _faulty: tuple[SeamSource, ...]

    def section(self, seam: str) -> CodeSection:
        """The code and the values of one seam; made when asked for."""
        found = [source for source in self._faulty if source.seam == seam]
        acting = [source for source in found if source.is_acting]
        source = (acting or found or [correct_source(seam)])[0]
        values = seam_values(self._view, seam)
        note = _note(source, values.why_none, self.step)
        return CodeSection(
            seam=seam,
            correct=source.correct,
            faulty=source.faulty,
            fault=source.fault_title,
            rows=_rows(source),
            values=values.values,
            note=note,
            sentence=_sentence(source, values.values, note),
        )


def code_readout(view: RunView) -> CodeReadout:
    """The seams of the run that is looked at."""
    selection = view.selection
    faulty = faulty_sources(view.spec.faults, selection.step, selection.layer, view.own)
    seams = tuple(dict.fromkeys(source.seam for source in faulty))
    acting = [source.seam for source in faulty if source.is_acting]
    return CodeReadout(
        seams=SEAM_NAMES,
        faulty_seams=seams,
        first=(*acting, *seams, FIRST_SEAM)[0],
        step=selection.step,
        selection=selection,
        _view=view,
        _faulty=faulty,
    )


@cache
def _rows(source: SeamSource) -> tuple[CodeRow, ...]:
    if source.faulty is None:
        return plain_rows(source.correct.text)
    return diff_rows(source.faulty.text, source.correct.text)


def _note(source: SeamSource, why_none: str | None, step: int) -> str:
    parts: list[str] = []
    if source.faulty is not None and not source.is_acting:
        parts.append(f"the fault acts {source.when}; in step {step} the right function ran")
    if why_none is not None:
        parts.append(why_none)
    return "; ".join(parts)


def _sentence(source: SeamSource, values: tuple[SeamValue, ...], note: str) -> str:
    said = [source.seam if source.fault_title is None else f"{source.seam}: {source.fault_title}"]
    for value in values:
        expected = f", expected {value.expected}" if value.is_wrong else ""
        said.append(f"{value.name} = {value.text}{expected}")
    return "; ".join([*said, *([note] if note else [])])
