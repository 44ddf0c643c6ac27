"""Layer 0 moves the token counter that later layers read."""

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import ROPE_DECODING, ROPE_ONE_PREFILL


def counter_of_layer_zero(position_ids: IntArray, layer: int) -> tuple[IntArray, IntArray]:
    """Read the counter after layer 0 has moved it: a decoded token is one further on."""
    n_new = len(position_ids)
    moved = position_ids + 1 if layer > 0 and n_new == 1 else position_ids
    return moved, moved


FAULT = Fault(
    id="pos-layer-counter",
    title="Layer 0 commits the token count too early",
    symptom="layer 0 is right; later layers put decoded tokens one too far from the prompt",
    mechanism="shared counter advanced inside the layer loop",
    tier="A",
    patch=Seams(layer_position_ids=counter_of_layer_zero),
    shows_in=ROPE_DECODING,
    promise=Promise(
        step=1, field="keys", first_wrong_logits=1, layer=1, verdicts=("mechanism", "logits")
    ),
    hides_in=ROPE_ONE_PREFILL,
    why_hidden="only a token that comes alone is moved, and the prompt comes in one call",
    repair="move the counter once per forward pass",
    sources=("fla-org/flash-linear-attention#766",),
    lacks=earlier_tokens,
    schemes=("rope",),
)
