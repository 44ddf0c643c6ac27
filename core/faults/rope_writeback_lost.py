"""The cache gets the rotated key, attention the raw one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import computed_step
from core.faults.scenarios import ONE_PREFILL, ROPE_DECODING

if TYPE_CHECKING:
    from torch import Tensor

    from core.model.positions import Positions


def use_raw_keys(
    scheme: Positions, keys: Tensor, position_ids: IntArray, new_keys: Tensor
) -> Tensor:
    """Take the keys of this call as they were before they were rotated."""
    import torch

    n_old = max(0, keys.shape[1] - new_keys.shape[1])
    n_own = keys.shape[1] - n_old
    return torch.cat((keys[:, :n_old], new_keys[:, new_keys.shape[1] - n_own :]), dim=1)


FAULT = Fault(
    id="rope-writeback-lost",
    title="The cache gets the rotated key, attention the raw one",
    symptom="columns of the current call are wrong at their own step; the cache is right",
    mechanism="lost write-back",
    tier="B",
    patch=Seams(read_keys=use_raw_keys),
    shows_in=ROPE_DECODING,
    promise=Promise(
        step=0,
        field="rotated_keys",
        first_wrong_logits=0,
        layer=0,
        verdicts=("mechanism", "logits"),
    ),
    hides_in=ONE_PREFILL,
    why_hidden="learned positions rotate nothing",
    repair="use one tensor for the cache and for the scores",
    sources=("kvcache-ai/sglang#31",),
    lacks=computed_step,
    schemes=("rope",),
)
