"""All layers write to one buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import DECODING, ONE_PREFILL

if TYPE_CHECKING:
    from torch import Tensor


def one_buffer_for_all(
    n_layers: int, shape: tuple[int, int, int, int], like: Tensor
) -> tuple[Tensor, ...]:
    """Give every layer the same memory."""
    return (like.new_zeros(shape),) * n_layers


FAULT = Fault(
    id="store-layers-share",
    title="All layers write the same buffer",
    symptom="the earlier rows of every layer are those of the last one",
    mechanism="missing layer index",
    tier="A",
    patch=Seams(allocate=one_buffer_for_all),
    shows_in=DECODING,
    promise=Promise(
        step=1, field="keys", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="in its first call each layer reads right after it wrote",
    repair="index the buffers by layer",
    sources=("TrenTorch/TrenTorch#141",),
    lacks=earlier_tokens,
)
