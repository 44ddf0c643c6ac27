"""The tensors of a step with their shapes, any of them in numbers, and the story of a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.readouts.slot_story import slot_story
from core.readouts.tensor_sheet import SheetMaker, TensorEntry, TensorSheet
from core.readouts.words import outcome_name
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class InspectorReadout:
    """What a layer used and produced in a step.

    Attributes:
        step: the step looked at.
        layer: the layer looked at.
        tensors: those that the record holds; empty where nothing was computed.
        why_none: why there are none, in words; empty: there are some.
        story: what became of the slot looked at; empty: there is none.
        sentence: the same in words.
        selection: what is looked at.
    """

    step: int
    layer: int
    tensors: tuple[TensorEntry, ...]
    why_none: str
    story: str
    sentence: str
    selection: Selection
    _maker: SheetMaker

    def sheet(self, tensor_id: str) -> TensorSheet | None:
        """One tensor in numbers, of the head looked at; None: the record does not hold it."""
        return self._maker.sheet(tensor_id)


def inspector_readout(view: RunView) -> InspectorReadout:
    """The tensors of the step and layer that are looked at; none is converted yet."""
    selection, record = view.selection, view.records[view.selection.step]
    maker = SheetMaker(view)
    tensors, story = maker.entries(), slot_story(view)
    why_none = ""
    if not tensors:
        phase, outcome = record.phase.replace("_", " "), outcome_name(record.outcome)
        why_none = f"nothing was computed in step {selection.step}: {phase}, {outcome}"
    shapes = ", ".join(f"{each.id} {list(each.shape)}" for each in tensors)
    said = f"layer {selection.layer}: {shapes}" if tensors else why_none
    return InspectorReadout(
        step=selection.step,
        layer=selection.layer,
        tensors=tensors,
        why_none=why_none,
        story=story,
        sentence="; ".join(part for part in (said, story) if part),
        selection=selection,
        _maker=maker,
    )
