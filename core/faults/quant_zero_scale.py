"""The scale of 8-bit rows is zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import computed_step
from core.faults.scenarios import DECODING, NARROW

if TYPE_CHECKING:
    from torch import Tensor


def scale_never_set(rows: Tensor) -> Tensor:
    """Multiply the steps of a row by a scale that nobody stored."""
    scale = rows.abs().amax(-1, keepdim=True) / 127
    scale = scale.masked_fill(scale == 0, 1.0)
    return (rows / scale).round() * rows.new_zeros(1)


FAULT = Fault(
    id="quant-zero-scale",
    title="8-bit rows with a scale of zero",
    symptom="every row reads zero: all weights are exactly 1/m, and attention gives nothing",
    mechanism="scale buffer never written",
    tier="B",
    patch=Seams(quantise=scale_never_set),
    shows_in=NARROW,
    promise=Promise(
        step=0, field="keys", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=DECODING,
    why_hidden="rows are kept as they are computed",
    repair="store the scale with the row",
    sources=("InfiniTensor/InfiniLM#553",),
    lacks=computed_step,
)
