"""A row of padding has nothing to see."""

from core.arrays import ABSENT, PAD, BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import padding
from core.faults.scenarios import DECODING, PADDED


def pads_see_nothing(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    """Hide padding from every query, from padding too."""
    return (readable & (key <= query[:, None]) & (key != PAD)) | (key == ABSENT)


FAULT = Fault(
    id="mask-nan-row",
    title="A row with nothing to see gives NaN",
    symptom="every logit is NaN from step 0 on, and the token chosen is number 0",
    mechanism="softmax over an empty set",
    tier="A",
    patch=Seams(causal_mask=pads_see_nothing),
    shows_in=PADDED,
    promise=Promise(
        step=0, field="output", first_wrong_logits=0, layer=1, verdicts=("mechanism", "logits")
    ),
    hides_in=DECODING,
    why_hidden="there is no padding",
    repair="let an empty row see itself, or define its output as 0",
    sources=("ml-explore/mlx#2608",),
    lacks=padding,
)
