"""The text of the functions that a run really asks, read from where they are defined.

What is shown as code is what runs: nothing is copied. torch is not needed for it.
"""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from core.engine.seams import CORRECT, Seams
from core.faults.activation import is_acting
from core.faults.catalog import find_faults
from core.spec import FaultUse

SEAM_NAMES: tuple[str, ...] = tuple(field.name for field in fields(Seams))
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function as it stands in its file.

    Attributes:
        name: its own name.
        text: its lines.
        file: its file, from the program's folder on; a foreign file by its name.
        line: number of its first line there.
    """

    name: str
    text: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class SeamSource:
    """What one seam should ask, and what a fault lets it ask.

    Attributes:
        seam: name of the seam.
        correct: the function of the correct table.
        faulty: the function of the fault that is on; None: no fault replaces this seam.
        fault_id: the fault; None: none.
        fault_title: its title; None: no fault.
        is_acting: whether the faulty function was asked in the step and layer looked at.
        when: when and where the fault acts, in words; empty: always, everywhere.
    """

    seam: str
    correct: FunctionSource
    faulty: FunctionSource | None = None
    fault_id: str | None = None
    fault_title: str | None = None
    is_acting: bool = False
    when: str = ""


def faulty_sources(uses: tuple[FaultUse, ...], step: int, layer: int) -> tuple[SeamSource, ...]:
    """One for each fault that is on, in their order, as they act in a step and a layer.

    Raises:
        FaultError: a fault is not known.
    """
    return tuple(
        SeamSource(
            seam=fault.seam,
            correct=_source_of(getattr(CORRECT, fault.seam)),
            faulty=_source_of(getattr(fault.patch, fault.seam)),
            fault_id=fault.id,
            fault_title=fault.title,
            is_acting=is_acting(use, step, layer),
            when=_when(use),
        )
        for use in uses
        for fault in find_faults(use.id)
    )


def correct_source(seam: str) -> SeamSource:
    """The correct function of a seam."""
    return SeamSource(seam, _source_of(getattr(CORRECT, seam)))


@cache
def _source_of(function: Callable[..., Any]) -> FunctionSource:
    """A function's text; where its file is not there, a line that says so."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        lines, line = inspect.getsourcelines(function)
        file = Path(inspect.getsourcefile(function) or "")
    except (OSError, TypeError):
        return FunctionSource(name, f"# the source of {name} is not there to be read", "", 0)
    shown = file.relative_to(_ROOT) if file.is_relative_to(_ROOT) else Path(file.name)
    return FunctionSource(name, textwrap.dedent("".join(lines)).rstrip(), shown.as_posix(), line)


def _when(use: FaultUse) -> str:
    parts: list[str] = []
    if use.last_step is not None:
        parts.append(f"in steps {use.first_step} to {use.last_step}")
    elif use.first_step > 0:
        parts.append(f"from step {use.first_step} on")
    if use.layers is not None:
        noun = "layer" if len(use.layers) == 1 else "layers"
        parts.append(f"in {noun} {', '.join(map(str, use.layers))}")
    return ", ".join(parts)
