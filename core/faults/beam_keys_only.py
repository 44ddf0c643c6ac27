"""Beams swap keys and keep their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import reordered_beams
from core.faults.scenarios import BEAMS, BEAMS_IN_PLACE

if TYPE_CHECKING:
    from torch import Tensor


def copy_keys_only(rows: Sequence[Tensor], parents: Sequence[int]) -> None:
    """Copy the keys of each parent, and leave the values."""
    import torch

    keys = torch.stack(list(rows))[list(parents), 0]
    for beam, mine in enumerate(rows):
        mine[0].copy_(keys[beam])


FAULT = Fault(
    id="beam-keys-only",
    title="Beams swap keys but not values",
    symptom="a beam that goes on from another one finds the right rows and takes the wrong values",
    mechanism="half of the cache reordered",
    tier="B",
    patch=Seams(reorder=copy_keys_only),
    shows_in=BEAMS,
    promise=Promise(
        step=5, field="values", first_wrong_logits=5, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=BEAMS_IN_PLACE,
    why_hidden="every beam goes on from itself",
    repair="gather keys and values of every layer by the parents",
    sources=(
        "huggingface/transformers#46612",
        "huggingface/transformers#34232",
    ),
    lacks=reordered_beams,
)
