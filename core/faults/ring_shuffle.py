"""The rows of a full ring come in another order."""

import numpy as np

from core.arrays import IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rows_that_leave
from core.faults.scenarios import WIDE_WINDOW, WINDOW


def slot_order(ledger: Ledger) -> IntArray:
    """Read a full ring from somewhere else than its oldest row."""
    counted = ledger.counted_slots
    return np.roll(counted, 1) if len(counted) > ledger.capacity else counted


FAULT = Fault(
    id="ring-shuffle",
    title="A full ring is read out of token order",
    symptom="softmax does not care about order, so logits stay right; masks by place do not",
    mechanism="wrap arithmetic: rows are returned in ring order",
    tier="B",
    patch=Seams(kv_view=slot_order),
    shows_in=WINDOW,
    promise=Promise(
        step=2, field="visible", first_wrong_logits=None, layer=0, verdicts=("mechanism",)
    ),
    hides_in=WIDE_WINDOW,
    why_hidden="the ring never comes round",
    repair="return the rows oldest first",
    sources=("huggingface/transformers#47708",),
    lacks=rows_that_leave,
)
