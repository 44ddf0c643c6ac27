"""The window is one token short."""

from core.arrays import BoolArray, IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import full_window
from core.faults.scenarios import WIDE_WINDOW, WINDOW


def reach_one_less(query: IntArray, key: IntArray, recent: int, sinks: int) -> BoolArray:
    """Leave the query itself out of the count, and take it off the window."""
    return (key <= query) & ((key > query - recent + 1) | (key < sinks))


FAULT = Fault(
    id="evict-one-short",
    title="Window of W - 1",
    symptom="a query reads W - 1 tokens, although a row of the last one is there",
    mechanism="fence-post",
    tier="A",
    patch=Seams(in_window=reach_one_less),
    shows_in=WINDOW,
    promise=Promise(step=1, field="readable", first_wrong_logits=1, verdicts=("policy", "logits")),
    hides_in=WIDE_WINDOW,
    why_hidden="the text is shorter than the window",
    repair="the visible set is p - W + 1 to p",
    sources=(
        "clankur/einygpt#2",
        "ml-explore/mlx-examples#1093",
    ),
    lacks=full_window,
)
