"""New rows are written to a copy."""

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


def write_to_a_copy(rows: LayerRows, write_rows: IntArray, keys: Tensor, values: Tensor) -> None:
    """Bring the buffer into another order, which copies it, and write there."""
    copied = rows.kv.permute(2, 0, 1, 3).clone()
    type(rows)(copied).write(write_rows, keys, values)


FAULT = Fault(
    id="store-write-lost",
    title="Written to a copy",
    symptom="every row reads zero: all weights are exactly 1/m, and attention gives nothing",
    mechanism="reshape or slice of a non-contiguous buffer: the write goes to a temporary",
    tier="A",
    patch=Seams(store=write_to_a_copy),
    shows_in=DECODING,
    promise=Promise(
        step=0, field="keys", first_wrong_logits=0, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=None,
    why_hidden="nothing is computed at all",
    repair="write through a view, and check that it shares the buffer's memory",
    sources=(
        "vllm-project/vllm-ascend#15127",
        "deepspeedai/DeepSpeed#2489",
        "flagos-ai/vllm-plugin-FL#353",
        "InfiniTensor/InfiniLM#553",
    ),
    lacks=computed_step,
)
