"""The mask of a chunk hides the chunks before it."""

from core.arrays import ABSENT, BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import later_chunk
from core.faults.scenarios import CHUNKED, DECODING


def own_chunk_only(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    """Let the tokens of a chunk see the rows of their own call; a single token sees all."""
    visible = readable & (key <= query[:, None])
    if len(query) > 1:
        return visible & (key >= query[0])
    return visible | (key == ABSENT)


FAULT = Fault(
    id="mask-own-chunk",
    title="The mask of a prefill chunk hides the past",
    symptom="later chunks of a prompt start blind; decoding looks right and works on spoiled rows",
    mechanism="causal alignment: the square mask of a chunk has no columns for the past",
    tier="B",
    patch=Seams(causal_mask=own_chunk_only),
    shows_in=CHUNKED,
    promise=Promise(
        step=1, field="visible", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=DECODING,
    why_hidden="the whole prompt is one chunk",
    repair="glue as many open columns to the left as there are past rows",
    sources=("kekzl/imp#117",),
    lacks=later_chunk,
)
