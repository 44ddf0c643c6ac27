"""The prompts of the matrix: stories that end in a question, or random tokens."""

import random

from core.matrix_cell import Prompt
from core.model.loading import LoadedModel
from resources.training.grammar import PUNCTUATION, QUESTION_TYPES, as_text
from resources.training.world import question_case

N_RANDOM = 7
_N_THINGS = (1, 2, 2, 3)


def prompts_of(loaded: LoadedModel, n: int, seed: int) -> tuple[Prompt, ...]:
    """`n` prompts: stories for a model that was trained on them, else random tokens."""
    make = _story if loaded.path is not None else _random
    return tuple(make(loaded, f"matrix/{seed}/{number}") for number in range(n))


def _random(loaded: LoadedModel, seed: str) -> Prompt:
    rng = random.Random(seed)
    token_ids = tuple(rng.randrange(loaded.config.vocab_size) for _ in range(N_RANDOM))
    return Prompt(token_ids, loaded.tokenizer.decode(token_ids))


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
    read = token_ids[:n_before]
    return Prompt(read, loaded.tokenizer.decode(read), token_ids[n_before:], question.answer)
