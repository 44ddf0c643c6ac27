"""Measure a trained model on unseen stories: answers by type, and grammar when it tells freely.

python -m resources.training.evaluate [FOLDER] [--stories N] [--tellings N]
"""

import argparse
import collections
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.model.loading import LoadedModel, load_folder
from core.model.uncached import uncached_logits
from resources import resource_path
from resources.training.grammar import PEOPLE, QUESTION_TYPES, is_grammatical, split_sentences
from resources.training.tokenizer import WordIds, build_tokenizer
from resources.training.world import MAX_THINGS, Question, Story, tell_story

N_ROWS = 16
LONGEST_WORDS = 240
OPENING_VERBS = ("put", "left", "gave", "painted", "has", "sang", "was")
DISTANCES = {"1-9": 10, "10-29": 30, "30-69": 70, "70-119": 120, "120+": LONGEST_WORDS}


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, and whether the model's most probable next token was its answer."""

    question: Question
    is_right: bool

    @property
    def kind(self) -> str:
        """The question's type; those whose statement named the answer first stand apart."""
        return self.question.kind + (", named first" if self.question.is_answer_first else "")


@dataclass(frozen=True, slots=True)
class Telling:
    """Sentences that the model said by itself, and those that the world's grammar lacks.

    `n_repeated` counts sentences that had been said before in the same story, word for word.
    """

    n_stories: int
    n_ended: int
    n_sentences: int
    n_repeated: int
    wrong: tuple[str, ...]

    @property
    def n_grammatical(self) -> int:
        """Sentences that are not wrong."""
        return self.n_sentences - len(self.wrong)


def answers_of(model: LoadedModel, stories: Sequence[Story]) -> list[Answer]:
    """Answer every question of the stories, each read up to its question mark."""
    word_ids = WordIds(build_tokenizer())
    answers: list[Answer] = []
    for start in range(0, len(stories), N_ROWS):
        part = stories[start : start + N_ROWS]
        rows = [word_ids.encode(story.words) for story in part]
        guesses = _guesses(model, rows, word_ids.end_of_text)
        answers += [
            Answer(question, guesses[row][question.answer_at - 1] == rows[row][question.answer_at])
            for row, story in enumerate(part)
            for question in story.questions
        ]
    return answers


@torch.inference_mode()
def _guesses(model: LoadedModel, rows: Sequence[list[int]], end_of_text: int) -> list[list[int]]:
    width = max(len(row) for row in rows)
    token_ids = torch.tensor([row + [end_of_text] * (width - len(row)) for row in rows])
    return uncached_logits(model.weights, token_ids).argmax(-1).tolist()


def unseen_stories(n_stories: int, n_things: int) -> list[Story]:
    """Stories of up to 240 words; no seed of the training begins as theirs do."""
    n_words = min(LONGEST_WORDS, 40 + 20 * n_things)
    return [
        tell_story(f"evaluate/{n_things}/{number}", n_things, n_words)
        for number in range(n_stories)
    ]


def tell(model: LoadedModel, n_stories: int, temperature: float, seed: int) -> Telling:
    """Let the model tell stories after two words, to its end of text, and check each sentence.

    Temperature 0 takes the most probable token every time.
    """
    rng = random.Random(f"tell/{seed}")
    generator = torch.Generator().manual_seed(seed)
    tokenizer = build_tokenizer()
    end_of_text = WordIds(tokenizer).end_of_text
    sentences: list[tuple[str, ...]] = []
    n_ended = n_repeated = 0
    for start in range(0, n_stories, N_ROWS):
        openings = [_opening(rng) for _ in range(min(N_ROWS, n_stories - start))]
        begun = torch.tensor([tokenizer.encode(opening).ids for opening in openings])
        for row in _continued(model, begun, temperature, generator, end_of_text).tolist():
            is_ended = end_of_text in row
            n_ended += is_ended
            said = row[: row.index(end_of_text)] if is_ended else row
            told = _sentences(tokenizer.decode(said), is_ended=is_ended)
            n_repeated += len(told) - len(set(told))
            sentences += told
    wrong = tuple(" ".join(sentence) for sentence in sentences if not is_grammatical(sentence))
    return Telling(n_stories, n_ended, len(sentences), n_repeated, wrong)


def _opening(rng: random.Random) -> str:
    return f"{rng.choice(PEOPLE)} {rng.choice(OPENING_VERBS)}"


@torch.inference_mode()
def _continued(
    model: LoadedModel,
    token_ids: Tensor,
    temperature: float,
    generator: torch.Generator,
    end_of_text: int,
) -> Tensor:
    """Go on [B, T] until every row has ended or the context is full; ended rows are filled up."""
    is_over = torch.zeros(len(token_ids), dtype=torch.bool)
    while token_ids.shape[1] < model.config.n_ctx and not bool(is_over.all()):
        logits = uncached_logits(model.weights, token_ids)[:, -1]
        following = _chosen(logits, temperature, generator)
        following[is_over] = end_of_text
        is_over |= following == end_of_text
        token_ids = torch.cat((token_ids, following[:, None]), dim=1)
    return token_ids


def _chosen(logits: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    if temperature == 0.0:
        return logits.argmax(-1)
    return torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)[:, 0]


def _sentences(text: str, *, is_ended: bool) -> tuple[tuple[str, ...], ...]:
    """The sentences of a text; one that the end of the context cut off is left out."""
    sentences = split_sentences(tuple(text.replace(".", " .").replace("?", " ?").split()))
    is_cut = not is_ended and bool(sentences) and sentences[-1][-1] != "."
    return sentences[:-1] if is_cut else sentences


def table(answers: Sequence[Answer], column: Callable[[Answer], str], columns: list[str]) -> str:
    """Markdown: a line per question type, right answers in % (and their number) per column."""
    hits: dict[tuple[str, str], list[bool]] = collections.defaultdict(list)
    for answer in answers:
        for name in (column(answer), "all"):
            hits[answer.kind, name].append(answer.is_right)
    lines = [f"| question | {' | '.join((*columns, 'all'))} |", f"|{'---|' * (len(columns) + 2)}"]
    for kind in (*QUESTION_TYPES, "who, named first"):
        cells = (_cell(hits[kind, name]) for name in (*columns, "all"))
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(hits: Sequence[bool]) -> str:
    return f"{100 * sum(hits) / len(hits):.2f} ({len(hits)})" if hits else "-"


def _distance(answer: Answer) -> str:
    return next(name for name, end in DISTANCES.items() if answer.question.distance < end)


def report(model: LoadedModel, n_stories: int, n_tellings: int) -> str:
    """All figures as Markdown."""
    numbers = range(1, MAX_THINGS + 1)
    answers: list[Answer] = []
    for n_things in numbers:
        answers += answers_of(model, unseen_stories(n_stories, n_things))
    parts = [
        "Right answers in % (number of questions), by things mentioned so far:\n",
        table(answers, lambda answer: str(answer.question.n_things), [str(n) for n in numbers]),
        "\nBy distance in words from the answer back to its statement:\n",
        table(answers, _distance, list(DISTANCES)),
        "\nBy how often that answer had changed before (2: twice or more):\n",
        table(answers, lambda answer: str(min(2, answer.question.n_changes)), ["0", "1", "2"]),
        "\nFree telling:\n",
    ]
    parts += [_told(tell(model, n_tellings, heat, seed=1), heat) for heat in (0.0, 0.8)]
    return "\n".join(parts)


def _told(telling: Telling, temperature: float) -> str:
    share = 100 * telling.n_grammatical / max(1, telling.n_sentences)
    return (
        f"- temperature {temperature}: {share:.2f} % of {telling.n_sentences} sentences are "
        f"grammatical, {100 * telling.n_repeated / max(1, telling.n_sentences):.0f} % were said "
        f"before in the story; {telling.n_ended} of {telling.n_stories} stories came to an end"
        + "".join(f"\n  - wrong: {sentence}" for sentence in telling.wrong[:10])
    )


def main() -> None:
    """Read the command line and print the figures."""
    parser = argparse.ArgumentParser(description="Measure a model trained on the small world.")
    parser.add_argument("folder", type=Path, nargs="?", default=resource_path("models", "learned"))
    parser.add_argument("--stories", type=int, default=64, help="per number of things")
    parser.add_argument("--tellings", type=int, default=64, help="per temperature")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(report(load_folder(arguments.folder), arguments.stories, arguments.tellings))


if __name__ == "__main__":
    main()
