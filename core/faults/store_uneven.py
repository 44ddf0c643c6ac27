"""Keys and values of different length are accepted."""

from core.engine.seams import Seams
from core.engine.types import Append, Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import uneven_append
from core.faults.scenarios import ROOMY, UNEVEN_PROBE
from core.outcome import OK, Outcome, Refused


def admit_uneven(ledger: Ledger, append: Append) -> tuple[Ledger, Outcome]:
    """Look for room only, and count the keys."""
    if append.n_lacking > 0:
        return ledger, Refused(append.n_keys, ledger.capacity - ledger.length)
    return ledger.count(append.n_keys, append.n_tokens), OK


FAULT = Fault(
    id="store-uneven",
    title="Keys and values of different length are accepted",
    symptom="an append of 2 keys and 1 value is let in; the second value row is never written",
    mechanism="missing check",
    tier="A",
    patch=Seams(admit=admit_uneven),
    shows_in=UNEVEN_PROBE,
    promise=Promise(step=2, field="outcome", first_wrong_logits=3, verdicts=("policy",)),
    hides_in=ROOMY,
    why_hidden="every append of a decoder has as many keys as values",
    repair="refuse an append whose keys and values differ in number",
    sources=(),
    lacks=uneven_append,
)
