"""What is in a call of a transformers model: token ids, positions, cache, mask and logits."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import torch

from core.arrays import ABSENT
from core.errors import TraceError

CACHE_NAMES = ("cache", "past_key_values")
"""What transformers calls a cache: the first since its version 5.24."""


class _CountsRows(Protocol):
    def get_seq_length(self) -> int | torch.Tensor: ...


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """What a call was given.

    Attributes:
        token_ids: [T] the tokens read.
        device: where they lie.
        position_ids: [T]; ABSENT where none was given, or several for one token.
        cache: None: none.
    """

    token_ids: list[int]
    device: torch.device
    position_ids: list[int]
    cache: object


def given_of(
    model: torch.nn.Module, given: tuple[object, ...], named: Mapping[str, object]
) -> Given:
    """What a call was given.

    Raises:
        TraceError: it cannot be recorded.
    """
    bound = inspect.signature(model.forward).bind_partial(*given, **named)
    arguments = {**bound.arguments, **named}
    ids = arguments.get("input_ids")
    if not isinstance(ids, torch.Tensor):
        raise TraceError("a call has no input_ids; a trace holds tokens, so give the model ids")
    if ids.ndim != 2 or len(ids) != 1:
        raise TraceError(
            f"input_ids have the shape {list(ids.shape)}; a trace holds one text: give [1, tokens]"
        )
    n_hidden = _n_hidden(arguments.get("attention_mask"))
    if n_hidden:
        raise TraceError(
            f"the attention mask hides {n_hidden} tokens (padding); a trace holds one text without"
        )
    cache = next((arguments[name] for name in CACHE_NAMES if name in arguments), None)
    positions = _positions(arguments.get("position_ids"), ids.shape[1])
    return Given(_integers(ids), ids.device, positions, cache)


def logits_of(answer: object) -> torch.Tensor:
    """[R, V] logits of all tokens of a call, or of the last one.

    Raises:
        TraceError: there are none for one text.
    """
    found: object = getattr(answer, "logits", None)
    if found is None:
        found = cast("tuple[object, ...]", answer)[0] if isinstance(answer, tuple) else answer
    if not isinstance(found, torch.Tensor) or found.ndim != 3 or len(found) != 1:
        raise TraceError(
            f"a call gives {type(found).__name__}, no logits [1, tokens, vocabulary]; record a "
            "causal language model"
        )
    return found[0].detach()


def cache_of(answer: object) -> object:
    """The cache that a call gives back; None: none."""
    found = (getattr(answer, name, None) for name in CACHE_NAMES)
    return next((one for one in found if one is not None), None)


def length_of(cache: object) -> int:
    """What a cache says of its length; ABSENT: nothing."""
    if not hasattr(cache, "get_seq_length"):
        return ABSENT
    return int(cast("_CountsRows", cache).get_seq_length())


def _positions(found: object, n: int) -> list[int]:
    if not isinstance(found, torch.Tensor) or found.numel() != n:
        return [ABSENT] * n
    return _integers(found)


def _integers(tensor: torch.Tensor) -> list[int]:
    return cast("list[int]", tensor.flatten().tolist())  # pyright: ignore[reportUnknownMemberType]


def _n_hidden(mask: object) -> int:
    """Tokens that a mask hides from all later ones.

    Of a mask [.., T, S] the queries are the last of the tokens, so its first call alone tells: a
    window hides old tokens from late queries only.
    """
    if not isinstance(mask, torch.Tensor):
        return 0
    if mask.ndim == 2:
        return int((mask == 0).sum())
    n = mask.shape[-2]
    seen = mask[0, 0] if mask.dtype == torch.bool else mask[0, 0] > torch.finfo(mask.dtype).min / 2
    below = seen[1:, : n - 1].diagonal()
    return int((~below).sum())
