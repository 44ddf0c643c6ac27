"""The scale of an 8-bit row is never below 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import computed_step
from core.faults.scenarios import DECODING, NARROW

if TYPE_CHECKING:
    from torch import Tensor


def scale_of_at_least_one(rows: Tensor) -> Tensor:
    """Guard against a scale of zero by a scale of one for all small rows."""
    scale = (rows.abs().amax(-1, keepdim=True) / 127).clamp(min=1.0)
    return (rows / scale).round() * scale


FAULT = Fault(
    id="quant-floor",
    title="8-bit scale never below 1",
    symptom="stored rows are whole numbers",
    mechanism="guard against zero made a floor",
    tier="B",
    patch=Seams(quantise=scale_of_at_least_one),
    shows_in=NARROW,
    promise=Promise(
        step=0, field="keys", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=DECODING,
    why_hidden="rows are kept as they are computed",
    repair="replace only a scale of exactly 0",
    sources=(
        "lablup/mlxcel#717",
        "vllm-project/vllm#42580",
    ),
    lacks=computed_step,
)
