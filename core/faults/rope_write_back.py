"""Stored keys are rotated again when they are read, and stay so."""

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


def rotate_where_they_are(
    scheme: Positions, keys: Tensor, position_ids: IntArray, new_keys: Tensor
) -> Tensor:
    """Rotate the rows of earlier calls once more, and write them back to where they were read.

    Rows that do not follow one another were gathered, and what is written back to is a copy.
    """
    n_old = max(0, keys.shape[1] - new_keys.shape[1])
    used = keys.clone()
    used[:, :n_old] = scheme.rotate(keys[:, :n_old], position_ids[:n_old])
    keys.copy_(used)
    return used


FAULT = Fault(
    id="rope-write-back",
    title="Keys rotated again at read are written back",
    symptom="slot j is at (s + 1) · j after step s: every read turns it once more; slot 0 is right",
    mechanism="double rotation, in place",
    tier="B",
    patch=Seams(read_keys=rotate_where_they_are),
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
    repair="rotate once, when writing, and never write what was made for one read",
    sources=(
        "google-deepmind/gemma#392",
        "NeuraLegion/shainet#110",
    ),
    lacks=earlier_tokens,
    schemes=("rope",),
)
