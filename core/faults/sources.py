"""The text of the functions that a run really asks, read from where they are defined.

What is shown as code is what runs: nothing is copied. torch is not needed for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.engine.seams import CORRECT
from core.faults.activation import is_acting
from core.faults.catalog import find_faults
from core.faults.function_source import FunctionSource, OwnCode, source_of
from core.faults.own import SEAM_NAMES
from core.spec import FaultUse

__all__ = [
    "SEAM_NAMES",
    "FunctionSource",
    "SeamSource",
    "correct_source",
    "faulty_sources",
]


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


def faulty_sources(
    uses: tuple[FaultUse, ...], step: int, layer: int, own: Sequence[OwnCode] = ()
) -> tuple[SeamSource, ...]:
    """One for each fault that is on, in their order, as they act in a step and a layer.

    Args:
        uses: the faults that are on.
        step: the step looked at.
        layer: the layer looked at.
        own: what is known of faults from files.

    Raises:
        FaultError: a fault is not known.
    """
    return tuple(
        SeamSource(
            seam=seam,
            correct=source_of(getattr(CORRECT, seam)),
            faulty=faulty,
            fault_id=fault_id,
            fault_title=title,
            is_acting=is_acting(use, step, layer),
            when=_when(use),
        )
        for use in uses
        for fault_id, title, seam, faulty in _replaced(use, own)
    )


def _replaced(
    use: FaultUse, own: Sequence[OwnCode]
) -> Iterator[tuple[str, str, str, FunctionSource]]:
    """Id, title, seam and function of what a use switches on; one that is not loaded, of none."""
    if use.file is not None:
        for code in own:
            if (code.id, code.file) == (use.id, use.file):
                yield code.id, code.title, code.seam, code.source
                return
        return
    for fault in find_faults(use.id):
        function = getattr(fault.patch, fault.seam)
        yield fault.id, fault.title, fault.seam, source_of(function)


def correct_source(seam: str) -> SeamSource:
    """The correct function of a seam."""
    return SeamSource(seam, source_of(getattr(CORRECT, seam)))


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
