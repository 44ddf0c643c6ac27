"""The offset grows by the length of the call before."""

import numpy as np

from core.arrays import ABSENT, IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import second_decoded_token
from core.faults.scenarios import DECODING, ONE_DECODE


def grow_by_the_call_before(past_len: int, n_new: int, ledger: Ledger) -> IntArray:
    """Move the last offset on by the tokens of the last call but one."""
    n_before, n_last = ledger.recent
    of_tokens = ledger.position_id[ledger.token_index != ABSENT]
    if n_before == 0 or len(of_tokens) < n_last:
        return np.arange(past_len, past_len + n_new)
    offset = int(of_tokens[-n_last]) + n_before
    return np.arange(offset, offset + n_new)


FAULT = Fault(
    id="pos-stale-prompt",
    title="The offset grows by the prompt once more",
    symptom="position ids run P, 2P, 2P + 1: the second decoded token jumps by P",
    mechanism="position bookkeeping: the offset is moved by a stale length",
    tier="A",
    patch=Seams(position_ids=grow_by_the_call_before),
    shows_in=DECODING,
    promise=Promise(
        step=2,
        field="position_ids",
        first_wrong_logits=2,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=ONE_DECODE,
    why_hidden="up to the first decoded token there is no call before the last",
    repair="move the offset by the tokens just read",
    sources=("skyzh/tiny-llm#46",),
    lacks=second_decoded_token,
)
