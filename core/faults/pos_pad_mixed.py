"""A position is the column, but only when decoding."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import padding
from core.faults.scenarios import DECODING, PADDED


def column_when_decoding(ledger: Ledger, held: tuple[int, int, int]) -> int:
    """Number a decoded token by its column, which counts padding; the prompt by its tokens."""
    return held[1]


FAULT = Fault(
    id="pos-pad-mixed",
    title="Left padding counted in decode but not in prefill",
    symptom="distances from decoded tokens to the prompt are too large by the number of pads",
    mechanism="row position from the column index",
    tier="A",
    patch=Seams(past_len=column_when_decoding),
    shows_in=PADDED,
    promise=Promise(
        step=1,
        field="position_ids",
        first_wrong_logits=1,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=DECODING,
    why_hidden="without padding a column is a place in the text",
    repair="one rule for a row, in every phase",
    sources=(
        "unslothai/unsloth#3803",
        "huggingface/transformers#18104",
    ),
    lacks=padding,
)
