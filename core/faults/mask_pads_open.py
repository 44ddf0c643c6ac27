"""Padding is read like any other row."""

from core.arrays import ABSENT, PAD, BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import padding
from core.faults.scenarios import DECODING, PADDED


def pads_are_keys(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    """Forget which columns are padding."""
    return (readable & (key <= query[:, None])) | (key == ABSENT) | (key == PAD)


FAULT = Fault(
    id="mask-pads-open",
    title="Pads are ordinary keys",
    symptom="padding has weight at every step: the answer changes with a neighbour's length",
    mechanism="padding mask dropped",
    tier="A",
    patch=Seams(causal_mask=pads_are_keys),
    shows_in=PADDED,
    promise=Promise(
        step=0, field="visible", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=DECODING,
    why_hidden="there is no padding",
    repair="keep the mask of each row at every step, also for n = 1",
    sources=(
        "ml-explore/mlx-lm#1906",
        "Blaizzy/mlx-vlm#1946",
    ),
    lacks=padding,
)
