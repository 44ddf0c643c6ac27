"""Layer 0 moves the token counter that later layers read, in every call."""

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import computed_step
from core.faults.scenarios import DECODING, ROPE_DECODING


def counter_after_layer_zero(position_ids: IntArray, layer: int) -> tuple[IntArray, IntArray]:
    """Read the counter after layer 0 has moved it by the tokens of the call, a prompt's too."""
    moved = position_ids + len(position_ids) if layer > 0 else position_ids
    return moved, moved


FAULT = Fault(
    id="pos-layer-prefill",
    title="Layer 0 commits the token count too early, in the prefill too",
    symptom="layers from 1 on keep the prompt at P to 2P - 1: decoded tokens seem P - 1 too near",
    mechanism="shared counter advanced inside the layer loop, whatever the length of the call",
    tier="B",
    patch=Seams(layer_position_ids=counter_after_layer_zero),
    shows_in=ROPE_DECODING,
    promise=Promise(step=0, field="keys", first_wrong_logits=1, layer=1, verdicts=("mechanism",)),
    hides_in=DECODING,
    why_hidden="learned positions enter once, below layer 0, and no layer rotates",
    repair="move the counter once per forward pass",
    sources=("fla-org/flash-linear-attention#766",),
    lacks=computed_step,
    schemes=("rope",),
)
