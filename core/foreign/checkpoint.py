"""A trace from elsewhere judged by a checkpoint folder, without a cache."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.arrays import frozen
from core.contract.model.reference import reference_logits
from core.errors import ModelError
from core.foreign.trace import ForeignTrace


def judged_by(trace: ForeignTrace, folder: Path) -> tuple[ForeignTrace, str]:
    """The trace with the checkpoint's logits for its text as reference, and who computed them.

    Raises:
        ModelError: the folder cannot be read, or is that of another model.
    """
    logits, who = reference_logits(folder, trace.token_ids.tolist())
    widths = logits.shape[1], trace.logits.shape[1]
    if widths[0] != widths[1]:
        raise ModelError(
            f"{folder}: has {widths[0]} logits a token, the trace {widths[1]}; give the folder of "
            "the model that the trace is of"
        )
    rows = frozen(logits[np.array(trace.ends) - 1])
    return replace(trace, reference=rows, spread=None, unjudged=None), who
