"""Key heads are repeated in the wrong order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import grouped_heads
from core.faults.scenarios import ONE_PREFILL, ROPE_DECODING

if TYPE_CHECKING:
    from torch import Tensor


def tile_heads(heads: Tensor, n_rep: int) -> Tensor:
    """Repeat all key heads one after the other: 0 1 0 1."""
    return heads.repeat(*(1,) * (heads.ndim - 3), n_rep, 1, 1)


FAULT = Fault(
    id="gqa-tile",
    title="Key heads repeated in the wrong order",
    symptom="heads 0 and H - 1 are right, those between read another key head",
    mechanism="tile instead of interleave",
    tier="A",
    patch=Seams(repeat_kv=tile_heads),
    shows_in=ROPE_DECODING,
    promise=Promise(
        step=0, field="scores", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="with as many key heads as query heads nothing is repeated",
    repair="repeat each key head n_rep times in a row: 0 0 1 1",
    sources=(
        "onnx/onnx#7274",
        "apple/axlearn#842",
    ),
    lacks=grouped_heads,
    schemes=("rope",),
)
