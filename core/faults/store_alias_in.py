"""The cache keeps the caller's array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import second_decoded_token
from core.faults.scenarios import DECODING, ONE_DECODE

if TYPE_CHECKING:
    from torch import Tensor

    from core.engine.rows import LayerRows


def keep_reference(rows: LayerRows, write_rows: IntArray, keys: Tensor, values: Tensor) -> None:
    """Hold the caller's memory instead of its contents."""
    for i, row in enumerate(write_rows.tolist()):
        rows.borrow(row, keys[:, i], values[:, i])


FAULT = Fault(
    id="store-alias-in",
    title="The cache keeps the caller's array",
    symptom="every slot decoded so far shows the newest row, with equal weights",
    mechanism="aliasing of inputs",
    tier="A",
    patch=Seams(store=keep_reference),
    shows_in=DECODING,
    promise=Promise(
        step=2, field="keys", first_wrong_logits=2, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_DECODE,
    why_hidden="the scratch array is used again only by the second decoded token",
    repair="copy on append",
    sources=("waybarrios/vllm-mlx#575",),
    lacks=second_decoded_token,
)
