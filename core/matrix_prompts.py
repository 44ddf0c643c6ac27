"""The prompts of the matrix: stories that end in a question, or random tokens."""

import random
from dataclasses import dataclass

from core.model.loading import LoadedModel
from resources.training.grammar import PUNCTUATION, QUESTION_TYPES, as_text
from resources.training.world import question_case

N_RANDOM = 7
_N_THINGS = (1, 2, 2, 3)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to be read.

    Attributes:
        token_ids: the prompt.
        rest: what is forced after it, so that the next token is the answer to a question; empty:
            the engine chooses every token.
        answer: the word that is right in the story; empty where nothing is asked.
    """

    token_ids: tuple[int, ...]
    rest: tuple[int, ...] = ()
    answer: str = ""


def prompts_of(loaded: LoadedModel, n: int, seed: int) -> tuple[Prompt, ...]:
    """`n` prompts: stories for a model that was trained on them, else random tokens."""
    make = _story if loaded.path is not None else _random
    return tuple(make(loaded, f"matrix/{seed}/{number}") for number in range(n))


def _random(loaded: LoadedModel, seed: str) -> Prompt:
    rng = random.Random(seed)
    return Prompt(tuple(rng.randrange(loaded.config.vocab_size) for _ in range(N_RANDOM)))


def _story(loaded: LoadedModel, seed: str) -> Prompt:
    """A story up to the first word of its question; the other words of the question are forced."""
    rng = random.Random(seed)
    kind, n_things = rng.choice(QUESTION_TYPES), rng.choice(_N_THINGS)
    story = question_case(seed, kind, n_things, distance=rng.randint(4, 16))
    question = story.questions[-1]
    words = story.words[: question.answer_at]
    start = max(i for i, word in enumerate(words[:-1]) if word in PUNCTUATION) + 1
    token_ids = loaded.tokenizer.encode(as_text(words))
    n_before = len(loaded.tokenizer.encode(as_text(words[: start + 1])))
    return Prompt(token_ids[:n_before], token_ids[n_before:], question.answer)
