"""The caller changes what the cache hands out, in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import DECODING, ONE_PREFILL

if TYPE_CHECKING:
    from torch import Tensor

    from core.model.positions import Positions


def scale_in_place(
    scheme: Positions, keys: Tensor, position_ids: IntArray, new_keys: Tensor
) -> Tensor:
    """Use the keys, and leave them divided by √D in the memory that they were handed out in.

    The scores of this call are right. Where the rows read follow one another, that memory is the
    cache's own: the next call finds what was left there. Rows that had to be gathered are a copy.
    """
    used = keys.clone()
    keys.mul_(keys.shape[-1] ** -0.5)
    return used


FAULT = Fault(
    id="store-alias-out",
    title="The arrays that the cache returns are live",
    symptom="keys shrink by √D at every later read, though nothing is written to their slots",
    mechanism="aliasing of outputs",
    tier="A",
    patch=Seams(read_keys=scale_in_place),
    shows_in=DECODING,
    promise=Promise(
        step=1, field="keys", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="what the only call leaves behind is read by nobody",
    repair="return a copy or something read-only, or never write to what was returned",
    sources=("waybarrios/vllm-mlx#575",),
    lacks=earlier_tokens,
)
