"""One rejected draft too few is taken back."""

from core.engine.seams import Seams, crop
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rejected_drafts
from core.faults.scenarios import DRAFTS, NO_DRAFTS


def crop_one_less(ledger: Ledger, n: int) -> Ledger:
    """Take all but one of the rows back."""
    return crop(ledger, n - 1)


FAULT = Fault(
    id="spec-short",
    title="One rejected row too few is removed",
    symptom="fill is one row too high; the row of a rejected draft is read",
    mechanism="fence-post in the truncate",
    tier="B",
    patch=Seams(crop=crop_one_less),
    shows_in=DRAFTS,
    promise=Promise(step=2, field="length", first_wrong_logits=3, layer=None, verdicts=("policy",)),
    hides_in=NO_DRAFTS,
    why_hidden="nothing is ever taken back",
    repair="take back as many rows as drafts were rejected",
    sources=("openvinotoolkit/openvino.genai#4190",),
    lacks=rejected_drafts,
)
