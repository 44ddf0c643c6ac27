"""The whole buffer takes part."""

import numpy as np

from core.arrays import IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import unwritten_slots
from core.faults.scenarios import DECODING, EXACT_PREFILL


def whole_buffer(ledger: Ledger) -> IntArray:
    """Read every slot there is, written or not."""
    return np.arange(ledger.capacity)


FAULT = Fault(
    id="mask-unwritten",
    title="The whole buffer takes part",
    symptom="slots never written share the weight e^0/Z; it fades as the buffer fills",
    mechanism="unwritten slots take part",
    tier="A",
    patch=Seams(kv_view=whole_buffer),
    shows_in=DECODING,
    promise=Promise(
        step=0, field="visible", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=EXACT_PREFILL,
    why_hidden="a prompt that fills the buffer leaves no slot unwritten",
    repair="read exactly the live slots",
    sources=("meta-pytorch/gpt-fast#233", "huggingface/transformers#30414"),
    lacks=unwritten_slots,
)
