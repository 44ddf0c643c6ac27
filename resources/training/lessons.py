"""Batches to learn from: stories of the world, and lines of random words said twice."""

import random
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from resources.training.grammar import PUNCTUATION, split_sentences, world_words
from resources.training.tokenizer import BYTE_TOKEN_IDS, WordIds
from resources.training.world import MAX_THINGS, Question, Story, tell_story

SHORTEST_AT_FIRST = 24
SHORTEST = 80
LONGEST = 254
IGNORED = -100
MOST_NOISE = 12
HABITS = (0.0, 0.8)


@dataclass(frozen=True, slots=True)
class Batch:
    """`inputs` and `targets` [B, T] (-100 where nothing is learnt), and the questions by row."""

    inputs: Tensor
    targets: Tensor
    questions: tuple[tuple[Question, ...], ...]


def max_words_for(n_things: int) -> int:
    """The longest story, in words, that a lesson with so many things may have."""
    return (
        min(LONGEST, 64 + (LONGEST - 64) * (n_things - 2) // (MAX_THINGS - 2))
        if n_things > 1
        else 48
    )


def make_batch(
    seed: str, n_tokens: int, n_things: int, random_share: float, word_ids: WordIds
) -> Batch:
    """Make a batch of about `n_tokens` tokens; stories have up to `n_things` things.

    Half of the batches are as hard as allowed, the others have fewer things and fewer words; once
    all things are in, stories are no longer very short, so that the model tells at length. One
    story in ten starts late and one in twenty-five after some bytes that mean nothing, so that the
    model goes on with whatever a person types.
    """
    rng = random.Random(seed)
    is_hardest = rng.random() < 0.5
    n_most = n_things if is_hardest else rng.randint(1, n_things)
    shortest = SHORTEST if n_things == MAX_THINGS else SHORTEST_AT_FIRST
    longest = max(shortest, max_words_for(n_most))
    width = longest if is_hardest else rng.randint(shortest, longest)
    rows: list[_Row] = []
    for number in range(max(1, n_tokens // width)):
        if rng.random() < random_share:
            make_words = rng.choice((repeated_words, recalled_words))
            rows.append(_Row(word_ids.encode(make_words(rng, width)), (), 0))
            continue
        n_words = rng.randint(max(shortest, width * 3 // 4), width)
        story = tell_story(f"{seed}/{number}", n_most, n_words, rng.choice(HABITS))
        draw = rng.random()
        if draw < 0.1:
            story = _started_late(rng, story)
        noise = _noise(rng) if draw > 0.96 and n_words < LONGEST - MOST_NOISE else []
        rows.append(_story_row(noise, story, word_ids))
    return _padded(rows)


@dataclass(frozen=True, slots=True)
class _Row:
    """Token ids of a row, its questions, and how many tokens at its start mean nothing."""

    token_ids: list[int]
    questions: tuple[Question, ...]
    n_ignored: int


def _story_row(noise: list[int], story: Story, word_ids: WordIds) -> _Row:
    words = word_ids.encode(story.words, is_start=not noise)
    questions = tuple(
        replace(asked, answer_at=asked.answer_at + len(noise)) for asked in story.questions
    )
    return _Row([*noise, *words, word_ids.end_of_text], questions, len(noise))


def _noise(rng: random.Random) -> list[int]:
    return [rng.choice(BYTE_TOKEN_IDS) for _ in range(rng.randint(1, MOST_NOISE))]


def repeated_words(rng: random.Random, width: int) -> tuple[str, ...]:
    """Lines of random words, each said twice: to learn what came after a word the last time."""
    words = (*world_words(), *PUNCTUATION)
    row: list[str] = []
    while len(row) < width:
        line = [*rng.choices(words, k=rng.randint(4, 24)), "."]
        row += line + line
    return tuple(row[:width])


def recalled_words(rng: random.Random, width: int) -> tuple[str, ...]:
    """A line of random words, then pairs: one of them, and the word that stood three before it.

    As "Ida has the lamp" does, it asks for what came before a word.
    """
    line = rng.sample(world_words(), min(len(world_words()), width // 2))
    row = [*line, "."]
    while len(row) < width:
        place = rng.randrange(3, len(line))
        row += (line[place], line[place - 3])
    return tuple(row[:width])


def _started_late(rng: random.Random, story: Story) -> Story:
    """Cut words before the first thing, so that any word may be the first one of a text."""
    first = split_sentences(story.words)[0]
    n_cut = rng.randint(0, max(0, len(first) - 3))
    moved = tuple(replace(asked, answer_at=asked.answer_at - n_cut) for asked in story.questions)
    return Story(story.words[n_cut:], moved)


def _padded(rows: list[_Row]) -> Batch:
    width = max(len(row.token_ids) for row in rows) - 1
    inputs = torch.zeros(len(rows), width, dtype=torch.long)
    targets = torch.full((len(rows), width), IGNORED, dtype=torch.long)
    for place, row in enumerate(rows):
        n_tokens = len(row.token_ids) - 1
        inputs[place, :n_tokens] = torch.tensor(row.token_ids[:-1])
        targets[place, :n_tokens] = torch.tensor(row.token_ids[1:])
        targets[place, : max(0, row.n_ignored - 1)] = IGNORED
    return Batch(inputs, targets, tuple(row.questions for row in rows))
