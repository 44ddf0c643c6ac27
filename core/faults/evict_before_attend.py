"""Rows leave before the chunk has used them."""

from core.arrays import IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import long_chunk
from core.faults.scenarios import NARROW_CHUNKS, WINDOW


def trim_then_read(ledger: Ledger) -> IntArray:
    """Read the last rows only, as many as the window has."""
    return ledger.counted_slots[-ledger.capacity :]


FAULT = Fault(
    id="evict-before-attend",
    title="Rows leave before the chunk has used them",
    symptom="the first tokens of a chunk lose their oldest keys; the last one loses none",
    mechanism="order of evict and attend for n > 1",
    tier="A",
    patch=Seams(kv_view=trim_then_read),
    shows_in=NARROW_CHUNKS,
    promise=Promise(
        step=1, field="keys", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=WINDOW,
    why_hidden="a single token needs no more rows than the window has",
    repair="attend over W + n - 1 rows, then trim",
    sources=("rasbt/LLMs-from-scratch#1008",),
    lacks=long_chunk,
)
