"""Nothing ever leaves.

The report's cache also tells the length min(m, W) for m rows held. No one seam does both here:
reads take the slots that are counted and new rows the others, so that a row stays while it is
counted, and the length told is another seam's. So the length is the first thing wrong.
"""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rows_that_leave
from core.faults.scenarios import WIDE_WINDOW, WINDOW


def nothing_leaves(ledger: Ledger, n_short: int, sinks: int) -> Ledger:
    """Keep every row."""
    return ledger


FAULT = Fault(
    id="evict-never",
    title="Rows are never dropped",
    symptom="length and columns grow past the window; the mask hides them, so the text stays right",
    mechanism="eviction missing: the window is only a mask",
    tier="B",
    patch=Seams(evict=nothing_leaves),
    shows_in=WINDOW,
    promise=Promise(step=2, field="length", first_wrong_logits=None, verdicts=("policy",)),
    hides_in=WIDE_WINDOW,
    why_hidden="nothing has to leave",
    repair="drop the oldest rows when there are more than W",
    sources=("rajveer43/VeloxQuant-MLX#274",),
    lacks=rows_that_leave,
)
