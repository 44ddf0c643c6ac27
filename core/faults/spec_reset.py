"""A rollback empties the cache."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rejected_drafts
from core.faults.scenarios import DRAFTS, NO_DRAFTS


def forget_everything(ledger: Ledger, n: int) -> Ledger:
    """Set the length to 0 instead of to what it was before."""
    return Ledger(ledger.capacity)


FAULT = Fault(
    id="spec-reset",
    title="A rejected draft resets the cache",
    symptom="after drafts were rejected the length is 0 and the next token stands at position 0",
    mechanism="length set to 0 instead of to the snapshot",
    tier="B",
    patch=Seams(crop=forget_everything),
    shows_in=DRAFTS,
    promise=Promise(step=2, field="length", first_wrong_logits=3, layer=None, verdicts=("policy",)),
    hides_in=NO_DRAFTS,
    why_hidden="nothing is ever taken back",
    repair="cut back to the snapshot and the accepted drafts",
    sources=("paiml/aprender#2014",),
    lacks=rejected_drafts,
)
