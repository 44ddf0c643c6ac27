"""The position is the number of rows kept.

Rows leave when a step is over: W rows are held before the token at W, which is right, and before
all later ones. A cache that makes room first is wrong one token earlier.
"""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import step_after_rows_left
from core.faults.scenarios import WIDE_WINDOW, WINDOW


def rows_held(ledger: Ledger, held: tuple[int, int, int]) -> int:
    """Count the rows that are held, not the tokens that were read."""
    return held[1]


FAULT = Fault(
    id="pos-retained-rows",
    title="After eviction, position = rows kept",
    symptom="position ids freeze when the window is full; all later keys share one phase",
    mechanism="confusing rows stored with tokens seen",
    tier="A",
    patch=Seams(past_len=rows_held),
    shows_in=WINDOW,
    promise=Promise(
        step=3,
        field="position_ids",
        first_wrong_logits=3,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=WIDE_WINDOW,
    why_hidden="while nothing has left, rows held are tokens seen",
    repair="keep a counter of tokens seen beside the rows",
    sources=("rajveer43/VeloxQuant-MLX#389",),
    lacks=step_after_rows_left,
)
