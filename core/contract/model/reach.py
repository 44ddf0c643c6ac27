"""How much of a text a model can read: its forward without a cache, and its cache."""

from collections.abc import Callable, Sequence

from core.contract.model.facts import About, Call
from core.contract.model.sessions import N_PROMPT, Wish, text_of
from core.contract.model.subject import ModelSubject
from core.contract.subject import NotDrivableError


def text_within_reach(subject: ModelSubject, wish: Wish) -> tuple[list[int], tuple[str, ...]]:
    """The text that is read, and a note where it has fewer steps than were asked for.

    Raises:
        NotDrivableError: there is no room for a step.
    """
    text = text_of(subject.about, wish)
    n, why = subject.reach([text])
    if n < len(text) and subject.reach([[0] * len(text)])[0] > n:
        raise NotDrivableError(_unknown_token(subject.about, wish, text[n], why))
    if n < 2:
        raise NotDrivableError(f"a forward of {n + 1} tokens {why}")
    wanted = (len(wish.prompt) or min(N_PROMPT, len(text) - 1)) + wish.n_steps
    reason = f"a forward of more than {n} tokens {why}"
    if n == len(text):
        reason = f"the model reads {n} tokens"
    return _cut(wish, text, n, wanted, reason)


def _unknown_token(about: About, wish: Wish, token: int, why: str) -> str:
    """Of a token id on which a forward fails that reads as many others."""
    knows, said = about.vocabulary, wish.vocabulary
    if said is None:
        return (
            f"{about.model} says that it knows {knows} token ids, and token id {token} {why}; "
            "give --vocab N"
        )
    if knows is None or knows >= said:
        return f"--vocab says {said} token ids, and token id {token} {why}; give a smaller number"
    return (
        f"--vocab says {said} token ids, and {about.model} says that it knows {knows}: token id "
        f"{token} {why}; give --vocab {knows}"
    )


def text_within_cache(
    wish: Wish, text: list[int], first: Call, last_of: Callable[[Sequence[int]], Call]
) -> tuple[list[int], tuple[str, ...]] | None:
    """The text up to where the cache refuses more; None: the refusals are of another kind.

    It is full where single tokens, and a prefill almost as long, are refused at the same token.

    Args:
        wish: what was asked for.
        text: what was read.
        first: the call that was refused.
        last_of: the last call of a reading in chunks.

    Raises:
        NotDrivableError: there is no room for a step.
    """
    other = last_of([1] * len(text))
    limit = other.past
    if not other.is_refused or other.raised is None or not 3 <= limit < first.end:
        return None
    near = last_of([limit - 1, 1, 1])
    if not near.is_refused or near.past != limit:
        return None
    wanted = (len(wish.prompt) or min(N_PROMPT, len(text) - 1)) + wish.n_steps
    reason = f"a cached call beyond {limit} tokens is refused ({': '.join(other.raised)})"
    return _cut(wish, text, limit, wanted, reason)


def _cut(
    wish: Wish, text: list[int], n: int, wanted: int, reason: str
) -> tuple[list[int], tuple[str, ...]]:
    n_prompt = len(wish.prompt) or min(N_PROMPT, n - 1)
    if n <= n_prompt:
        raise NotDrivableError(
            f"a prompt of {n_prompt} tokens leaves no room to decode: {reason}; give fewer "
            "--prompt-ids"
        )
    if n >= wanted:
        return text, ()
    n_steps = wish.n_steps
    steps = "step" if n_steps == 1 else "steps"
    return text[:n], (f"{n - n_prompt} of {n_steps} {steps} decoded: {reason}",)
