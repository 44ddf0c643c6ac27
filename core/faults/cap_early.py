"""The last slot cannot be used."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import full_cache
from core.faults.scenarios import FILLING, ROOMY


def full_one_early(ledger: Ledger, n_new: int) -> int:
    """Count the cache as overflowing as soon as held + new reaches the capacity."""
    return max(0, ledger.length + n_new - ledger.capacity + 1)


FAULT = Fault(
    id="cap-early",
    title="The last slot cannot be used (>= instead of >)",
    symptom="the cache refuses with one slot still free",
    mechanism="fence-post (>= instead of >)",
    tier="A",
    patch=Seams(overflow=full_one_early),
    shows_in=FILLING,
    promise=Promise(step=5, field="outcome", first_wrong_logits=None, verdicts=("policy",)),
    hides_in=ROOMY,
    why_hidden="the cache never fills",
    repair="refuse when held + new > capacity",
    sources=("pytorch/executorch#5227",),
    lacks=full_cache,
)
