"""The room test assumes one row."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import too_many_at_once
from core.faults.scenarios import FILLING, ONE_ROW_TOO_MANY


def room_for_one(ledger: Ledger, n_new: int) -> int:
    """Look whether there is a free slot, however many rows come."""
    return 0 if ledger.length < ledger.capacity else n_new


FAULT = Fault(
    id="cap-one-row-test",
    title="The room test assumes one row",
    symptom="several rows are let in where only one fits; the rest has no place",
    mechanism="size not taken into account",
    tier="B",
    patch=Seams(overflow=room_for_one),
    shows_in=ONE_ROW_TOO_MANY,
    promise=Promise(step=5, field="outcome", first_wrong_logits=None, verdicts=("policy",)),
    hides_in=FILLING,
    why_hidden="rows come one at a time once the cache is nearly full",
    repair="test past + n ≤ C",
    sources=(
        "huggingface/candle#3035",
        "intel/ipex-llm#10006",
    ),
    lacks=too_many_at_once,
)
