"""The logits of a recorded text by the model's own forward without a cache."""

import inspect
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from core.arrays import FloatArray
from core.foreign.calls import logits_of
from core.foreign.trace import ForeignTrace
from core.tolerance import largest_gap


def with_reference(
    trace: ForeignTrace, model: torch.nn.Module, device: torch.device, at: Callable[[], None]
) -> ForeignTrace:
    """The trace with its reference, or with the reason why there is none.

    The reference of a call is a forward over the text up to its end. One more, over the whole
    text, says how far apart forwards of different length are.

    Args:
        trace: of `model`.
        model: where it computed.
        device: where its token ids lie.
        at: told after each forward.
    """
    ids = torch.tensor(trace.token_ids.tolist(), device=device)[None]
    rows: list[FloatArray] = []
    for end in trace.ends:
        rows.append(_wide(_uncached(model, ids[:, :end])[-1]))
        at()
    whole = _uncached(model, ids)
    at()
    unrest, spread = largest_gap(_wide(whole[-1]), rows[-1]), None
    if len(whole) == ids.shape[1]:
        earlier = _wide(whole[[end - 1 for end in trace.ends[:-1]]])
        gaps = (largest_gap(*pair) for pair in zip(earlier, rows[:-1], strict=True))
        spread = max(gaps, default=0.0)
    judged = replace(trace, reference=np.stack(rows), spread=spread)
    why = _why_not(judged, unrest, spread or 0.0)
    return judged if why is None else replace(trace, unjudged=why)


def as_numpy(logits: torch.Tensor) -> FloatArray:
    """A copy, in float32 where numpy has no such type."""
    if logits.dtype == torch.bfloat16:
        logits = logits.float()
    return logits.detach().cpu().clone().numpy()


def _why_not(judged: ForeignTrace, unrest: float, spread: float) -> str | None:
    bands = judged.bands
    assert bands is not None  # noqa: S101  (it has a reference)
    assert judged.reference is not None  # noqa: S101
    if not np.abs(judged.reference).max():
        return "every logit without a cache is 0"
    if not unrest <= bands.wrong:
        return (
            f"two forwards without a cache over the same text differ by {unrest:.2g}; switch off "
            "what is random (model.eval())"
        )
    if not spread <= bands.wrong:
        return (
            f"forwards without a cache of two lengths give one token logits that differ by "
            f"{spread:.2g}, wrong above {bands.wrong:.2g}: something hangs on the length"
        )
    return None


def _wide(logits: torch.Tensor) -> FloatArray:
    return as_numpy(logits).astype(np.float64)


def _uncached(model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """[R, V] logits of all tokens, or of the last one."""
    takes = inspect.signature(model.forward).parameters
    more = {"use_cache": False} if "use_cache" in takes else {}
    with torch.no_grad():
        return logits_of(model(input_ids=ids, **more))
