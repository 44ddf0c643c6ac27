"""Beams swap tokens and keep their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import reordered_beams
from core.faults.scenarios import BEAMS, BEAMS_IN_PLACE

if TYPE_CHECKING:
    from torch import Tensor


def leave_rows(rows: Sequence[Tensor], parents: Sequence[int]) -> None:
    """Leave every row where it is."""


FAULT = Fault(
    id="beam-no-reorder",
    title="Beams swap tokens but not rows",
    symptom="a beam that goes on from another one attends to its own old rows",
    mechanism="cache reorder missing",
    tier="A",
    patch=Seams(reorder=leave_rows),
    shows_in=BEAMS,
    promise=Promise(
        step=5, field="keys", first_wrong_logits=5, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=BEAMS_IN_PLACE,
    why_hidden="every beam goes on from itself",
    repair="gather keys and values of every layer by the parents",
    sources=(
        "huggingface/transformers#46612",
        "huggingface/transformers#34232",
        "PaddlePaddle/PaddleNLP#6672",
    ),
    lacks=reordered_beams,
)
