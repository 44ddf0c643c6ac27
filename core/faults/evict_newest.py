"""The newest old row leaves.

Rows leave when a step is over, so the step that drops it has still read it: logits are wrong in the
next one.
"""

import numpy as np

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rows_that_leave
from core.faults.scenarios import WIDE_WINDOW, WINDOW


def newest_leaves(ledger: Ledger, n_short: int, sinks: int) -> Ledger:
    """Let the rows before the newest one go."""
    if n_short == 0:
        return ledger
    n_held = len(ledger.token_index)
    keep = np.ones(n_held, dtype=bool)
    keep[max(0, n_held - 1 - n_short) : n_held - 1] = False
    return ledger.only(keep)


FAULT = Fault(
    id="evict-newest",
    title="The newest old row leaves",
    symptom="the window never slides: tokens 0 to W - 2 stay for ever, beside the newest",
    mechanism="wrong end of the queue",
    tier="A",
    patch=Seams(evict=newest_leaves),
    shows_in=WINDOW,
    promise=Promise(step=2, field="contents", first_wrong_logits=3, verdicts=("policy",)),
    hides_in=WIDE_WINDOW,
    why_hidden="nothing has to leave",
    repair="drop the smallest token index outside the sinks",
    sources=("JaydenLyh/Reward-Forcing#5",),
    lacks=rows_that_leave,
)
