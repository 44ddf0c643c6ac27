"""8-bit rows are read without their scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import computed_step
from core.faults.scenarios import DECODING, NARROW

if TYPE_CHECKING:
    from torch import Tensor


def forget_the_scale(rows: Tensor) -> Tensor:
    """Keep the steps and forget how large a step is."""
    scale = rows.abs().amax(-1, keepdim=True) / 127
    scale = scale.masked_fill(scale == 0, 1.0)
    return (rows / scale).round()


FAULT = Fault(
    id="quant-no-descale",
    title="8-bit rows read without their scale",
    symptom="scores are blown up by one over the scale: one weight becomes 1.0",
    mechanism="missing descale",
    tier="B",
    patch=Seams(quantise=forget_the_scale),
    shows_in=NARROW,
    promise=Promise(
        step=0, field="keys", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=DECODING,
    why_hidden="rows are kept as they are computed",
    repair="multiply by the scale when reading",
    sources=(
        "lablup/mlxcel#717",
        "vllm-project/vllm#42580",
    ),
    lacks=computed_step,
)
