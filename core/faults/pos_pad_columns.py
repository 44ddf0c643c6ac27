"""A position is the column, padding counted."""

import numpy as np

from core.arrays import IntArray
from core.engine.seams import Seams
from core.engine.types import Ledger
from core.faults.fault import Fault, Promise
from core.faults.lacking import padding
from core.faults.scenarios import DECODING, PADDED


def column_in_every_phase(past_len: int, n_new: int, ledger: Ledger) -> IntArray:
    """Number every token of the row by its column, in the prefill as in decode."""
    first = ledger.n_pads + past_len
    return np.arange(first, first + n_new)


FAULT = Fault(
    id="pos-pad-columns",
    title="Left padding counted as positions in every phase",
    symptom="every position id is too large by the number of pads; where only distances count, "
    "logits are right",
    mechanism="row position from the column index, prefill and decode alike",
    tier="B",
    patch=Seams(position_ids=column_in_every_phase),
    shows_in=PADDED,
    promise=Promise(
        step=0,
        field="position_ids",
        first_wrong_logits=0,
        layer=None,
        verdicts=("policy", "logits"),
    ),
    hides_in=DECODING,
    why_hidden="without padding a column is a place in the text",
    repair="number the tokens of a row, not its columns",
    sources=(
        "unslothai/unsloth#3803",
        "huggingface/transformers#18104",
    ),
    lacks=padding,
)
