"""Every append is written at row 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import DECODING, ONE_PREFILL

if TYPE_CHECKING:
    from torch import Tensor

    from core.engine.rows import LayerRows


def write_from_row_zero(
    rows: LayerRows, write_rows: IntArray, keys: Tensor, values: Tensor
) -> None:
    """Write the new rows at the start of the buffer, wherever they belong."""
    rows.write(np.arange(len(write_rows)), keys, values)


FAULT = Fault(
    id="store-row-zero",
    title="Every append is written at row 0",
    symptom="slot 0 holds the newest token, token 0 is gone, later slots stay empty",
    mechanism="cursor ignored: a hard-coded index",
    tier="A",
    patch=Seams(store=write_from_row_zero),
    shows_in=DECODING,
    promise=Promise(
        step=1, field="keys", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="the first append belongs at row 0",
    repair="write each row to its own place",
    sources=("tenstorrent/tt-metal#44827",),
    lacks=earlier_tokens,
)
