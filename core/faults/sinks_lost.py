"""The sinks leave like any other row.

Rows leave when a step is over, so the step that drops a sink has still read it: logits are wrong in
the next one.
"""

import numpy as np

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import rows_that_leave
from core.faults.scenarios import SINKS, WIDE_SINKS


def oldest_leaves(ledger: Ledger, n_short: int, sinks: int) -> Ledger:
    """Let the oldest rows go, protected or not."""
    return ledger.only(np.arange(len(ledger.slot)) >= n_short) if n_short else ledger


FAULT = Fault(
    id="sinks-lost",
    title="The sinks are evicted like any other row",
    symptom="the columns of the first tokens vanish once the window is full",
    mechanism="protected range not honoured after the wrap",
    tier="B",
    patch=Seams(evict=oldest_leaves),
    shows_in=SINKS,
    promise=Promise(step=2, field="contents", first_wrong_logits=3, verdicts=("policy",)),
    hides_in=WIDE_SINKS,
    why_hidden="nothing has to leave",
    repair="evict from index S on",
    sources=(
        "vllm-project/vllm#1304",
        "JaydenLyh/Reward-Forcing#5",
    ),
    lacks=rows_that_leave,
)
