"""Stored keys are rotated again when they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import ROPE_DECODING, ROPE_ONE_PREFILL

if TYPE_CHECKING:
    from torch import Tensor

    from core.model.positions import Positions


def rotate_again(
    scheme: Positions, keys: Tensor, position_ids: IntArray, new_keys: Tensor
) -> Tensor:
    """Rotate the rows of earlier calls once more, each at its own position."""
    import torch

    n_old = max(0, keys.shape[1] - new_keys.shape[1])
    old = scheme.rotate(keys[:, :n_old], position_ids[:n_old])
    return torch.cat((old, keys[:, n_old:]), dim=1)


FAULT = Fault(
    id="rope-on-read",
    title="Stored keys rotated again at read",
    symptom="scores use the distance p − 2j for earlier keys; slot 0 and the newest are right",
    mechanism="double rotation",
    tier="A",
    patch=Seams(read_keys=rotate_again),
    shows_in=ROPE_DECODING,
    promise=Promise(
        step=1,
        field="rotated_keys",
        first_wrong_logits=1,
        layer=0,
        verdicts=("mechanism", "logits"),
    ),
    hides_in=ROPE_ONE_PREFILL,
    why_hidden="in the first call there are no earlier keys",
    repair="rotate once: when writing, or when reading, never both",
    sources=(
        "google-deepmind/gemma#392",
        "NeuraLegion/shainet#110",
    ),
    lacks=earlier_tokens,
    schemes=("rope",),
)
