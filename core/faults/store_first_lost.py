"""Token 0 is counted but not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import computed_step
from core.faults.scenarios import DECODING

if TYPE_CHECKING:
    from torch import Tensor

    from core.engine.rows import LayerRows


def skip_row_zero(rows: LayerRows, write_rows: IntArray, keys: Tensor, values: Tensor) -> None:
    """Write all rows but the first of the buffer."""
    is_kept = write_rows != 0
    if is_kept.any():
        kept = is_kept.tolist()
        n_keys, n_values = keys.shape[1], values.shape[1]
        rows.write(write_rows[is_kept], keys[:, kept[:n_keys]], values[:, kept[:n_values]])


FAULT = Fault(
    id="store-first-lost",
    title="Token 0 is counted but not written",
    symptom="the score of slot 0 is exactly 0 in every row and head",
    mechanism="the path of the first call only advances the counter",
    tier="B",
    patch=Seams(store=skip_row_zero),
    shows_in=DECODING,
    promise=Promise(
        step=0, field="keys", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=None,
    why_hidden="nothing is computed at all",
    repair="one path for every append",
    sources=("TrenTorch/TrenTorch#192",),
    lacks=computed_step,
)
