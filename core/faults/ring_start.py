"""The ring is read from the wrong slot."""

import numpy as np

from core.arrays import IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import ring_partly_filled
from core.faults.scenarios import RING, ROPE_ONE_PREFILL


def start_at_the_cursor(ledger: Ledger) -> IntArray:
    """Read from the slot that is written next, as if the ring had come round already."""
    counted, size = ledger.counted_slots, ledger.capacity
    n = len(counted)
    if n > size or n == ledger.recent[1]:  # a full ring, or a prompt read as it comes
        return counted
    return (n + np.arange(n)) % size


FAULT = Fault(
    id="ring-start",
    title="The ring is read from the wrong slot",
    symptom="while the ring is not full, unwritten slots are read and the newest rows are missed",
    mechanism="wrap arithmetic",
    tier="A",
    patch=Seams(kv_view=start_at_the_cursor),
    shows_in=RING,
    promise=Promise(
        step=1, field="keys", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ROPE_ONE_PREFILL,
    why_hidden="a prompt is read as it comes",
    repair="start at the slot of the oldest token kept",
    sources=("huggingface/transformers#47708",),
    lacks=ring_partly_filled,
)
