"""Rejected drafts stay."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rejected_drafts
from core.faults.scenarios import DRAFTS, NO_DRAFTS


def keep_all(ledger: Ledger, n: int) -> Ledger:
    """Take nothing back."""
    return ledger


FAULT = Fault(
    id="spec-no-rollback",
    title="Rejected drafts stay",
    symptom="fill is too high by the rejected drafts; positions run ahead from then on",
    mechanism="missing truncate",
    tier="A",
    patch=Seams(crop=keep_all),
    shows_in=DRAFTS,
    promise=Promise(step=2, field="length", first_wrong_logits=3, layer=None, verdicts=("policy",)),
    hides_in=NO_DRAFTS,
    why_hidden="nothing is ever taken back",
    repair="cut the cache back to what was there before, and the accepted drafts",
    sources=("ml-explore/mlx-lm#1109",),
    lacks=rejected_drafts,
)
