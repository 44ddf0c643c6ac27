"""All that was read is appended to what was held."""

from dataclasses import replace

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import ONE_PREFILL, ROOMY


def append_the_joined(before: Ledger, after: Ledger) -> Ledger:
    """Append old and new rows together to the old ones."""
    joined = before.with_rows(after.slot, after.token_index, after.position_id, after.token_id)
    return replace(
        after,
        length=before.length + after.length,
        slot=joined.slot,
        token_index=joined.token_index,
        position_id=joined.position_id,
        token_id=joined.token_id,
    )


FAULT = Fault(
    id="store-double-append",
    title="The joined result is appended to the past",
    symptom="rows double at every decoded token: (P + 1) · 2^(s - 1) are read at step s",
    mechanism="confusing “new” with “all”",
    tier="B",
    patch=Seams(join=append_the_joined),
    shows_in=ROOMY,
    promise=Promise(step=1, field="length", first_wrong_logits=2, verdicts=("policy",)),
    hides_in=ONE_PREFILL,
    why_hidden="at first there is nothing to be joined with",
    repair="append only the new rows",
    sources=("fla-org/flash-linear-attention#91",),
    lacks=earlier_tokens,
)
