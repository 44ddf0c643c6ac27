"""The reported length counts dropped tokens."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rows_that_leave
from core.faults.scenarios import WIDE_WINDOW, WINDOW


def count_what_left(ledger: Ledger) -> int:
    """Report the tokens seen; once they pass the window, those beyond it."""
    n_left = ledger.seen - ledger.capacity
    return n_left if n_left > 0 else ledger.seen


FAULT = Fault(
    id="gauge-lies",
    title="The reported length counts dropped tokens",
    symptom="rows and logits are right, but the cache says that it holds 1, 2, 3 … rows",
    mechanism="reported length and rows held are two things",
    tier="B",
    patch=Seams(reported_length=count_what_left),
    shows_in=WINDOW,
    promise=Promise(step=2, field="length", first_wrong_logits=None, verdicts=("policy",)),
    hides_in=WIDE_WINDOW,
    why_hidden="nothing has left yet",
    repair="report the number of rows held",
    sources=(
        "Sudharsanselvaraj/Token-Print#281",
        "rajveer43/VeloxQuant-MLX#274",
    ),
    lacks=rows_that_leave,
)
