"""A step that is tried out on copies: what would it say if some rows were others?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from core.arrays import FloatArray, IntArray
from core.engine.engine import Engine, StepRequest
from core.engine.forward import LayerTensors
from core.engine.recorder import Known
from core.engine.rows import RowSelection, RowStore
from core.engine.seams import Seams
from core.engine.types import LayerPlan
from core.record import LayerRecord, LiveRows


class Nobody:
    """A witness who keeps nothing."""

    def begin(self, step: int, tokens: IntArray, plans: Sequence[LayerPlan]) -> None:
        """See `core.engine.recorder.Witness`, as for all that follows."""

    def stored(self, layer: int, plan: LayerPlan, new_rows: torch.Tensor) -> None:
        """Nobody looks."""

    def was_read(self, layer: int, plan: LayerPlan, rows: RowSelection, read: torch.Tensor) -> None:
        """Nobody looks."""

    def computed(self, layer: int, plan: LayerPlan, tensors: LayerTensors) -> None:
        """Nobody looks."""

    def taken(self) -> tuple[LayerRecord, ...]:
        """Nothing."""
        return ()

    def live(self, slots: IntArray, seams: Sequence[Seams]) -> tuple[LiveRows, ...]:
        """Nothing."""
        return ()

    def lost_sight(self) -> None:
        """Nobody looks."""

    def forget_from(self, token_index: int) -> None:
        """Nothing is known."""

    def what_is_known(self) -> Known:
        """Nothing."""
        return ()

    def take_over(self, known: Known) -> None:
        """Nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """A step about to be made.

    Attributes:
        engine: a copy of the engine, made before the step; it is never run itself.
        request: what is asked.
        number: the step's number.
    """

    engine: Engine
    request: StepRequest
    number: int

    def logits(self, change: Callable[[RowStore], None]) -> FloatArray | None:
        """[V] what the step says if `change` was made to the rows before it; None: it refuses."""
        engine = self.engine.copied(Nobody())
        with torch.inference_mode():
            change(engine.store)
            return engine.step(self.request, self.number).logits
