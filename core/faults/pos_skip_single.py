"""A token that comes alone gets no position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.arrays import IntArray
from core.engine.seams import Seams
from core.faults.fault import Fault, Promise
from core.faults.lacking import earlier_tokens
from core.faults.scenarios import NAME_AGAIN, ONE_PREFILL

if TYPE_CHECKING:
    from torch import Tensor

    from core.model.positions import Positions


def skip_single_tokens(scheme: Positions, x: Tensor, position_ids: IntArray) -> Tensor:
    """Add positions to a prompt only; a single token stays as it is."""
    return x if len(position_ids) == 1 else scheme.embed(x, position_ids)


FAULT = Fault(
    id="pos-skip-single",
    title="A single token gets no position",
    symptom="position ids are right, but not added: keys of decoded tokens are wrong",
    mechanism="position bookkeeping: the path for n = 1 leaves the position out",
    tier="B",
    patch=Seams(add_positions=skip_single_tokens),
    shows_in=NAME_AGAIN,
    promise=Promise(
        step=1, field="keys", first_wrong_logits=1, layer=0, verdicts=("mechanism", "logits")
    ),
    hides_in=ONE_PREFILL,
    why_hidden="a prompt of several tokens gets its positions",
    repair="add the row of the table whatever the number of tokens",
    sources=(
        "huggingface/transformers#15751",
        "ml-explore/mlx-lm#93",
    ),
    lacks=earlier_tokens,
    schemes=("learned",),
)
