"""A refused append leaves the length changed."""

from core.engine.seams import Seams
from core.engine.types import Append, Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import refusal
from core.faults.scenarios import REFUSED_THEN_ROLLED_BACK, ROOMY
from core.outcome import OK, Outcome, Refused


def count_then_check(ledger: Ledger, append: Append) -> tuple[Ledger, Outcome]:
    """Move the row counter, then look whether there is room."""
    counted = ledger.count(append.n_keys, 0)
    if append.n_lacking > 0 or append.n_keys != append.n_values:
        needed = max(append.n_keys, append.n_values)
        return counted, Refused(needed, ledger.capacity - ledger.length)
    return counted.count(0, append.n_tokens), OK


FAULT = Fault(
    id="cap-counter-first",
    title="The length moves before the check",
    symptom="a refused append leaves the length one above the capacity",
    mechanism="counter moved before the check: no strong exception safety",
    tier="A",
    patch=Seams(admit=count_then_check),
    shows_in=REFUSED_THEN_ROLLED_BACK,
    promise=Promise(step=6, field="length", first_wrong_logits=8, verdicts=("policy",)),
    hides_in=ROOMY,
    why_hidden="nothing is ever refused",
    repair="check first, then count",
    sources=("ggml-org/llama.cpp#12695", "inference-sim/inference-sim#200"),
    lacks=refusal,
)
