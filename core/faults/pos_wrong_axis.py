"""The past is read from the heads axis."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import DECODING, ONE_PREFILL


def number_of_heads(ledger: Ledger, held: tuple[int, int, int]) -> int:
    """Take the first axis of the keys held for the time axis."""
    n_heads, n_rows, _ = held
    return n_heads if n_rows else 0


FAULT = Fault(
    id="pos-wrong-axis",
    title="Past length read from the heads axis",
    symptom="every decoded token has the position id H, the number of key heads",
    mechanism="shape-axis mix-up",
    tier="A",
    patch=Seams(past_len=number_of_heads),
    shows_in=DECODING,
    promise=Promise(
        step=1,
        field="position_ids",
        first_wrong_logits=1,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=ONE_PREFILL,
    why_hidden="with an empty cache the past is 0 on either axis",
    repair="count the tokens read; rows stand on the time axis, heads on another",
    sources=(
        "dmlc/gluon-nlp#1015",
        "fla-org/flash-linear-attention#126",
    ),
    lacks=earlier_tokens,
)
