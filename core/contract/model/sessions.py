"""What a model is given to read, and in which ways."""

from dataclasses import dataclass

import numpy as np

from core.contract.model.facts import About
from core.contract.model.subject import Ids
from core.contract.subject import NotDrivableError

N_PROMPT, N_STEPS = 5, 8
_SEED = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for.

    Attributes:
        vocabulary: token ids that the model knows; None: ask the model.
        prompt: token ids of the prompt; empty: drawn at random.
        n_steps: tokens decoded after it.
        with_numbers: whether the report is to hold the uncached logits.
    """

    vocabulary: int | None = None
    prompt: tuple[int, ...] = ()
    n_steps: int = N_STEPS
    with_numbers: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """A way to read the text.

    Attributes:
        words: what it is called.
        chunks: tokens of each call.
        ids: [B, N] texts.
        before: texts that the same model reads first; None: none.
    """

    words: str
    chunks: tuple[int, ...]
    ids: Ids
    before: Ids | None = None


def vocabulary_of(about: About, wish: Wish) -> int:
    """Token ids that the model knows.

    Raises:
        NotDrivableError: nobody says how many.
    """
    found = wish.vocabulary or about.vocabulary
    if found is None:
        raise NotDrivableError(
            f"{about.model} does not say how many token ids it knows; give --vocab N"
        )
    return found


def text_of(about: About, wish: Wish) -> list[int]:
    """The prompt and random tokens after it, no token twice where there are enough.

    Raises:
        NotDrivableError: the prompt has a token that the model does not know, or leaves no room.
    """
    vocabulary = vocabulary_of(about, wish)
    unknown = [token for token in wish.prompt if not 0 <= token < vocabulary]
    if unknown:
        raise NotDrivableError(
            f"--prompt-ids names token {unknown[0]}, and the model knows 0 to {vocabulary - 1}"
        )
    n_prompt = len(wish.prompt) or min(N_PROMPT, (about.context or N_PROMPT + 1) - 1)
    n = n_prompt + wish.n_steps
    if about.context is not None:
        n = min(n, about.context)
    if n <= n_prompt or n_prompt < 1:
        raise NotDrivableError(
            f"a prompt of {n_prompt} tokens leaves no room to decode: the model reads "
            f"{about.context}; give fewer --prompt-ids"
        )
    rng = np.random.default_rng(_SEED)
    left = [int(t) for t in rng.permutation(vocabulary) if t not in wish.prompt]
    while len(left) < n:
        left += [int(t) for t in rng.permutation(vocabulary)]
    return [*wish.prompt, *left[: n - len(wish.prompt)]]


def sessions(wish: Wish, text: list[int]) -> list[Session]:
    """The ways to read a text: the plainest first."""
    n, first = len(text), len(wish.prompt) or min(N_PROMPT, len(text) - 1)
    found = [
        Session(f"prefill of {p}, then single tokens", _chunks(n, p, 1), [text])
        for p in dict.fromkeys((first, 2, 1))
        if p < n
    ]
    found += [
        Session(f"prefill of {first}, then {c} at a time", _chunks(n, first, c), [text])
        for c in (2, 3)
        if first + c <= n
    ]
    halves = max(1, first // 2)
    if first > 1:
        chunks = (halves, first - halves, *[1] * (n - first))
        words = f"prompt in chunks of {halves} and {first - halves}, then single tokens"
        found.append(Session(words, chunks, [text]))
    back = text[::-1]
    found.append(Session("a second text on the same model", _chunks(n, first, 1), [text], [back]))
    found.append(Session("two texts in one batch", _chunks(n, first, 1), [text, back]))
    return found


def _chunks(n: int, first: int, size: int) -> tuple[int, ...]:
    """The first call, then calls of one size, the last of what is left."""
    left = n - first
    chunks = [first, *[size] * (left // size)]
    return (*chunks, left % size) if left % size else tuple(chunks)
