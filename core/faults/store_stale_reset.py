"""A reset keeps the position counter."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import second_prompt
from core.faults.scenarios import DECODING, SAME_PROMPT_AGAIN


def forget_rows_only(ledger: Ledger) -> Ledger:
    """Drop the rows and let the positions count on."""
    return Ledger(ledger.capacity, origin=ledger.origin - ledger.seen)


FAULT = Fault(
    id="store-stale-reset",
    title="Reset forgets part of the state",
    symptom="the second text starts at the position where the first one ended",
    mechanism="several fields, one cleared",
    tier="B",
    patch=Seams(reset=forget_rows_only),
    shows_in=SAME_PROMPT_AGAIN,
    promise=Promise(
        step=3,
        field="position_ids",
        first_wrong_logits=3,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=DECODING,
    why_hidden="the cache is never reset",
    repair="one way of making an empty cache, for new and for reset",
    sources=(
        "rasbt/LLMs-from-scratch#925",
        "time-series-foundation-models/lag-llama#81",
    ),
    lacks=second_prompt,
)
