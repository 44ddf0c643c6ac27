"""The numbers of a call are remembered by its length only."""

import numpy as np

from core.arrays import ABSENT, IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import second_decoded_token
from core.faults.scenarios import ROPE_DECODING, ROPE_ONE_DECODE


def remembered_by_length(past_len: int, n_new: int, ledger: Ledger) -> IntArray:
    """Take the numbers of the last call again if it had as many tokens."""
    of_tokens = ledger.position_id[ledger.token_index != ABSENT]
    last = of_tokens[len(of_tokens) - n_new :]
    is_known = n_new == ledger.recent[1] == len(last)
    return last if is_known else np.arange(past_len, past_len + n_new)


FAULT = Fault(
    id="pos-memo",
    title="Position table remembered by length only",
    symptom="the first decoded token is right; every later one sticks at its position P",
    mechanism="incomplete memo key: the offset is left out",
    tier="A",
    patch=Seams(position_ids=remembered_by_length),
    shows_in=ROPE_DECODING,
    promise=Promise(
        step=2,
        field="position_ids",
        first_wrong_logits=2,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=ROPE_ONE_DECODE,
    why_hidden="no two calls have the same number of tokens",
    repair="make the offset a part of the key",
    sources=("lucidrains/rotary-embedding-torch#11",),
    lacks=second_decoded_token,
)
