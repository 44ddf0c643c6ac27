"""The offset that was kept moves on."""

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import several_tokens_at_once
from core.faults.scenarios import ONE_PREFILL, ROPE_DECODING


def offset_by_reference(position_ids: IntArray, layer: int) -> tuple[IntArray, IntArray]:
    """Rotate queries at an offset that the append has moved on in the meantime."""
    return position_ids + len(position_ids), position_ids


FAULT = Fault(
    id="pos-captured-alias",
    title="The saved offset moves",
    symptom="a token is n positions away from its own key: the diagonal distance is n, not 0",
    mechanism="mutable counter handed out by reference",
    tier="A",
    patch=Seams(layer_position_ids=offset_by_reference),
    shows_in=ROPE_DECODING,
    promise=Promise(
        step=0, field="scores", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="learned positions are added, not rotated into queries and keys",
    repair="hand out a plain number, or a copy",
    sources=("ml-explore/mlx-lm#1097",),
    lacks=several_tokens_at_once,
    schemes=("rope",),
)
