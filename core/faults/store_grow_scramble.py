"""Growth keeps the flat order of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import growth
from core.faults.scenarios import GROWING, GROWN_ONCE

if TYPE_CHECKING:
    from torch import Tensor


def resize_flat(kv: Tensor, n_rows: int) -> Tensor:
    """Lay the old numbers out one after the other, whatever head they are of."""
    grown = kv.new_zeros(*kv.shape[:2], n_rows, kv.shape[3])
    grown.view(2, -1)[:, : kv[0].numel()] = kv.reshape(2, -1)
    return grown


FAULT = Fault(
    id="store-grow-scramble",
    title="Growth re-reads flat memory",
    symptom="once the buffer grows, head 0 keeps its old rows and the other heads lose theirs",
    mechanism="resize instead of copy",
    tier="A",
    patch=Seams(grow=resize_flat),
    shows_in=GROWING,
    promise=Promise(
        step=2, field="keys", first_wrong_logits=2, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=GROWN_ONCE,
    why_hidden="eight rows are enough, so nothing grows",
    repair="allocate the larger buffer, then copy [:, :T]",
    sources=("karpathy/nanochat#186",),
    lacks=growth,
)
