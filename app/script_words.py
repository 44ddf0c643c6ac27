"""A list of requests, in words."""

from collections.abc import Iterable
from itertools import groupby

from core.spec import (
    Decode,
    NewPrompt,
    Prefill,
    Probe,
    Reorder,
    Request,
    Rollback,
    Verify,
)


def script_words(requests: Iterable[Request]) -> str:
    """Such as "6 × decode, roll back 3, decode"."""
    runs = ((request, len(list(same))) for request, same in groupby(requests))
    return ", ".join(_counted(_words(request), n) for request, n in runs)


def _counted(words: str, n: int) -> str:
    return words if n == 1 else f"{n} × {words}"


def _words(request: Request) -> str:
    match request:
        case Decode():
            return "decode"
        case Rollback(n):
            return f"roll back {n}"
        case Probe(n_keys, n_values):
            return f"probe with {n_keys} keys and {n_values} values"
        case Prefill(token_ids):
            return f"prefill of {len(token_ids)} tokens"
        case Reorder(parents):
            return f"reorder to {', '.join(map(str, parents))}"
        case Verify(token_ids, n_accept):
            return f"verify {len(token_ids)} drafts, keep {n_accept}"
        case NewPrompt(token_ids, reuse_prefix):
            words = f"new prompt of {len(token_ids)} tokens" if token_ids else "the prompt again"
            return f"{words}, on the rows of what it shares" if reuse_prefix else words
