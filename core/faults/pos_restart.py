"""Position ids start again at 0."""

import numpy as np

from core.arrays import IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import DECODING, ONE_PREFILL


def positions_restart(past_len: int, n_new: int, ledger: Ledger) -> IntArray:
    """Number the new tokens as if nothing came before them."""
    return np.arange(n_new)


FAULT = Fault(
    id="pos-restart",
    title="Position ids start again at 0",
    symptom="every decoded token is placed at position 0, and its stored key stays wrong",
    mechanism="position bookkeeping: the past offset is missing",
    tier="A",
    patch=Seams(position_ids=positions_restart),
    shows_in=DECODING,
    promise=Promise(
        step=1, field="position_ids", first_wrong_logits=1, verdicts=("policy", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="in the prefill nothing came before, so counting from 0 is right",
    repair="count on from past_len",
    sources=("huggingface/transformers#15751", "ml-explore/mlx-lm#93"),
    lacks=earlier_tokens,
)
