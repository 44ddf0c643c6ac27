"""One row too many is let in."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import full_cache
from core.faults.scenarios import FILLING, ROOMY


def full_one_late(ledger: Ledger, n_new: int) -> int:
    """Count the cache as overflowing only once held + new passes the capacity by more than one."""
    return max(0, ledger.length + n_new - ledger.capacity - 1)


FAULT = Fault(
    id="cap-late",
    title="One row too many is let in (> C + 1 instead of > C)",
    symptom="a row is taken that has no slot: the newest token cannot even see itself",
    mechanism="fence-post",
    tier="A",
    patch=Seams(overflow=full_one_late),
    shows_in=FILLING,
    promise=Promise(
        step=6,
        field="outcome",
        first_wrong_logits=6,
        layer=None,
        verdicts=("policy", "mechanism", "logits"),
    ),
    hides_in=ROOMY,
    why_hidden="the cache never fills",
    repair="refuse when held + new > capacity",
    sources=("neuralmagic/deepsparse#1447",),
    lacks=full_cache,
)
