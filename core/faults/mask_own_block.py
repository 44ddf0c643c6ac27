"""The mask covers the new block and hides the past."""

from core.arrays import BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import DECODING, ONE_PREFILL


def own_block_only(query: IntArray, key: IntArray, readable: BoolArray) -> BoolArray:
    """Let a query see the rows of its own call only."""
    return readable & (key <= query[:, None]) & (key >= query[0])


FAULT = Fault(
    id="mask-own-block",
    title="The square mask hides the past",
    symptom="each decoded token sees itself only: weight exactly 1.0 on the newest slot",
    mechanism="causal alignment: the mirror image of a mask from row 0",
    tier="A",
    patch=Seams(causal_mask=own_block_only),
    shows_in=DECODING,
    promise=Promise(
        step=1, field="visible", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="in the first call there is no past to hide",
    repair="glue as many open columns to the left as there are past rows",
    sources=(
        "kekzl/imp#117",
        "meta-llama/llama#900",
    ),
    lacks=earlier_tokens,
)
