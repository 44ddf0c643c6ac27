"""How far cached logits are from those of the uncached forward, token by token."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

from typing import Any

import torch

from .subject import Call, Subject


class Right:
    """The uncached forward of texts [B, N].

    Attributes:
        logits: [B, N, V], each token's from a forward over the text up to it.
        spread: largest difference between those and one forward over the whole text; 0 where that
            gives the last token's logits only.
        largest: largest finite absolute logit.
        unrest: largest difference between two forwards over the same text.
        sway: how far the last logits move when the token before the last is another one.
        has_numbers: whether any logit is finite.
        nan_ids: token ids whose logit is NaN anywhere.
    """

    def __init__(self, subject: Subject, ids: Any) -> None:
        """Run it once for every length."""
        n = ids.shape[-1]
        rows = [subject.uncached(ids[:, : t + 1])[0][:, -1] for t in range(n)]
        self.logits = torch.stack(rows, 1)
        whole = subject.uncached(ids)[0]
        gaps = (
            (whole - self.logits).abs().nan_to_num(0.0).amax((0, 2))
            if whole.shape[1] == n
            else None
        )
        self.spread = 0.0 if gaps is None else float(gaps.max())
        self.unrest = _largest(whole, subject.uncached(ids)[0])
        other = ids.clone()
        other[:, -2] = ids[:, 0]
        self.sway = _largest(whole[:, -1], subject.uncached(other)[0][:, -1])
        finite = self.logits[self.logits.isfinite()].abs()
        self.has_numbers = len(finite) > 0
        self.largest = float(finite.max()) if self.has_numbers else 0.0
        self.nan_ids = self.logits.isnan().any(0).any(0).nonzero().flatten().tolist()

    def error(self, call: Call, row: int | None = None) -> dict[str, Any]:
        """Largest error of a call, of one text of the batch or all; None: not a finite number."""
        last = call.past + call.n
        first = last - call.logits.shape[1]
        right = self.logits[:, first:last]
        mine = call.logits
        if row is not None:
            right, mine = right[row : row + 1], mine[row : row + 1]
        if mine.shape != right.shape:
            return {"error": None, "shape": [list(mine.shape), list(right.shape)]}
        is_same = (mine == right) | (mine.isnan() & right.isnan())
        gap = torch.where(is_same, 0.0, (mine - right).abs())
        by_token = gap.amax((0, 2))
        token = int(by_token.nan_to_num(float("inf")).argmax())
        largest = float(by_token[token])
        is_finite = bool(gap.isfinite().all())
        return {"error": largest if is_finite else None, "token": first + token}


def _largest(a: Any, b: Any) -> float:
    """The largest difference that is a number."""
    return float((a - b).abs().nan_to_num(0.0).max())
