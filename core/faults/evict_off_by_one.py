"""The window reaches one token too far."""

from core.arrays import BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import rows_that_leave
from core.faults.scenarios import WIDE_WINDOW, WINDOW


def reach_one_further(query: IntArray, key: IntArray, recent: int, sinks: int) -> BoolArray:
    """Let a query read the `recent` tokens before it, and itself."""
    return (key <= query) & ((key >= query - recent) | (key < sinks))


FAULT = Fault(
    id="evict-off-by-one",
    title="Window of W + 1",
    symptom="a query reads W + 1 tokens: the one that is about to leave is still seen",
    mechanism="fence-post",
    tier="A",
    patch=Seams(in_window=reach_one_further),
    shows_in=WINDOW,
    promise=Promise(step=2, field="readable", first_wrong_logits=2, verdicts=("policy", "logits")),
    hides_in=WIDE_WINDOW,
    why_hidden="the text is shorter than the window",
    repair="the visible set is p - W + 1 to p",
    sources=(
        "clankur/einygpt#2",
        "ml-explore/mlx-examples#1093",
    ),
    lacks=rows_that_leave,
)
