"""There is no causal mask once a cache is there."""

import numpy as np

from core.arrays import ABSENT, BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import several_tokens_at_once
from core.faults.scenarios import DECODING, ONE_BY_ONE


def no_mask_with_a_cache(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    """Let every token of a prompt see all rows; a single token sees what it may."""
    if len(query) > 1:
        return np.ones_like(readable)
    return (readable & (key <= query[:, None])) | (key == ABSENT)


FAULT = Fault(
    id="mask-off-with-cache",
    title="No causal mask once a cache is attached",
    symptom="the upper triangle of every prefill is open: a token sees those after it",
    mechanism="mask guarded by “cache is none”",
    tier="A",
    patch=Seams(causal_mask=no_mask_with_a_cache),
    shows_in=DECODING,
    promise=Promise(
        step=0, field="visible", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_BY_ONE,
    why_hidden="every step reads one token, which may see all that is held",
    repair="decide by the number of new and past tokens, not by whether there is a cache",
    sources=("Mikyx-1/TinyLLM#17",),
    lacks=several_tokens_at_once,
)
