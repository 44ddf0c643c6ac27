"""The causal mask is taken from row 0."""

import numpy as np

from core.arrays import BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import DECODING, ONE_PREFILL


def mask_top_left(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    """Let new row i see columns 0 to i, wherever its token stands."""
    return np.tri(len(query), len(key), dtype=np.bool_)


FAULT = Fault(
    id="mask-top-left",
    title="Causal mask taken from row 0",
    symptom="each decoded token sees slot 0 only: weight exactly 1.0 there in every head",
    mechanism="causal alignment: top-left instead of bottom-right",
    tier="A",
    patch=Seams(causal_mask=mask_top_left),
    shows_in=DECODING,
    promise=Promise(
        step=1, field="visible", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="in a prefill without a past, row i is the token i",
    repair="compare token indices: row i sees past + i + 1 tokens",
    sources=("pytorch/pytorch#144858", "google/flax#5591"),
    lacks=earlier_tokens,
)
