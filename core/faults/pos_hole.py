"""The past counts the current token too."""

from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import ONE_PREFILL, WITH_A_ROW_TO_SPARE


def count_the_current_token(ledger: Ledger, held: tuple[int, int, int]) -> int:
    """Count the token that is about to be read as read already."""
    n_read = ledger.seen - ledger.origin
    return n_read + 1 if n_read else 0


FAULT = Fault(
    id="pos-hole",
    title="Past count includes the current token",
    symptom="slot P is never written, yet attended; positions and fill are one too large",
    mechanism="off-by-one write cursor, consistent everywhere",
    tier="A",
    patch=Seams(past_len=count_the_current_token),
    shows_in=WITH_A_ROW_TO_SPARE,
    promise=Promise(
        step=1,
        field="length",
        first_wrong_logits=1,
        layer=None,
        verdicts=("policy", "mechanism", "logits"),
    ),
    hides_in=ONE_PREFILL,
    why_hidden="before anything was read the cursor is 0",
    repair="the cursor counts tokens already processed",
    sources=("microsoft/onnxruntime-genai#2354",),
    lacks=earlier_tokens,
)
