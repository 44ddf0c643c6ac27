"""Searches the question that the window opens with.

    python -m resources.start.find_prompt

A text of ten tokens, the last seven of which are a sentence and a question: seven are the prompt,
three are forced, and the answer is free. It is predicted at step 3, whatever is broken, so that an
answer with a fault can be set beside the one without. Each text says of two people where they are,
so that the answer needs the name in the question; with one fact alone, a model that lost the
question still says the only place it knows.

What was found with the shipped model, in about ten minutes on one core: of 43,200 texts 11,166 are
answered rightly; 113 of these are answered wrongly under all four faults that act before the
answer, 2,314 under three, 2,645 under two, 6,094 under one (mask-top-left, always), none under
none. A text with a single fact ("The kite is outside. Where is the kite?", 1,872 texts in all) is
answered wrongly under mask-top-left only.

Chosen from the 113: "Mia outside. Sam inside. Where is Mia?". The answer, outside, is 1.78 above
the next logit. It is taken from token 1, not from slot 0, the only one that the top-left mask
leaves visible. With a fault the engine answers: mask-top-left "painted"; pos-restart,
mask-unwritten and store-row-zero "inside", which is where Sam is. It was preferred to texts with a
larger margin because its words are plain and three of its wrong answers read like answers.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.model.loading import LoadedModel, load_model
from core.model.uncached import uncached_logits
from core.session import Session
from core.spec import FaultUse, RunSpec
from resources.training.grammar import PEOPLE, PLACES

MODEL = "learned"
N_PROMPT, N_FORCED = 7, 3
CAPACITY = 12
ANSWER_STEP = 3
EARLY_FAULTS = ("mask-top-left", "pos-restart", "mask-unwritten", "store-row-zero")
"""Those of the six that act before the answer; the two of capacity act after it."""
N_ROWS = 256
N_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text of ten tokens, and the one word that answers it."""

    text: str
    token_ids: tuple[int, ...]
    answer_id: int


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate that is answered rightly without a fault.

    Attributes:
        candidate: the text.
        margin: by how much the answer's logit is above the next one.
        wrong: what is answered instead, by fault; faults with a right answer are left out.
    """

    candidate: Candidate
    margin: float
    wrong: dict[str, str]


def candidates(loaded: LoadedModel) -> Iterator[Candidate]:
    """Two people, each in a place, and where the first or the second one is."""
    encode = loaded.tokenizer.encode
    pairs = (itertools.permutations(PEOPLE, 2), itertools.permutations(PLACES, 2))
    for (one, two), (here, there) in itertools.product(*pairs):
        for asked, answer in ((one, here), (two, there)):
            text = f"{one} {here}. {two} {there}. Where is {asked}?"
            token_ids = encode(text)
            if len(token_ids) == N_PROMPT + N_FORCED:
                yield Candidate(text, token_ids, encode(f" {answer}")[0])


def answered_rightly(
    loaded: LoadedModel, texts: Sequence[Candidate]
) -> Iterator[tuple[Candidate, float]]:
    """Those that a forward without a cache answers rightly, each with its margin."""
    for start in range(0, len(texts), N_ROWS):
        part = texts[start : start + N_ROWS]
        token_ids = torch.tensor([candidate.token_ids for candidate in part])
        with torch.inference_mode():
            best = uncached_logits(loaded.weights, token_ids)[:, -1].topk(2)
        for row, candidate in enumerate(part):
            if best.indices[row, 0] == candidate.answer_id:
                yield candidate, float(best.values[row, 0] - best.values[row, 1])


def start_spec(token_ids: tuple[int, ...], *fault_ids: str, steps: int = ANSWER_STEP) -> RunSpec:
    """The run that is looked for: seven tokens read, three forced, greedy."""
    return RunSpec(
        model=MODEL,
        prompt_ids=token_ids[:N_PROMPT],
        steps=steps,
        capacity=CAPACITY,
        force_ids=token_ids[N_PROMPT:],
        faults=tuple(FaultUse(fault_id) for fault_id in fault_ids),
    )


def wrong_answers(loaded: LoadedModel, candidate: Candidate) -> dict[str, str]:
    """What the engine answers under each early fault, where that is wrong."""
    wrong: dict[str, str] = {}
    for fault_id in EARLY_FAULTS:
        records = Session(start_spec(candidate.token_ids, fault_id), loaded).run().records
        predicted = records[ANSWER_STEP].predicted if len(records) > ANSWER_STEP else None
        if predicted is not None and predicted != candidate.answer_id:
            wrong[fault_id] = loaded.tokenizer.token_text(predicted)
    return wrong


def search(loaded: LoadedModel) -> list[Found]:
    """All that are answered rightly: most wrong answers first, then the safest margin."""
    found = [
        Found(candidate, margin, wrong_answers(loaded, candidate))
        for candidate, margin in answered_rightly(loaded, list(candidates(loaded)))
    ]
    return sorted(found, key=lambda each: (-len(each.wrong), -each.margin))


def main() -> None:
    """Print the best ones."""
    found = search(load_model(MODEL))
    for n in range(len(EARLY_FAULTS), -1, -1):
        print(f"wrong under {n} of 4: {sum(len(each.wrong) == n for each in found)} texts")
    for each in found[:N_SHOWN]:
        wrong = ", ".join(f"{fault_id} '{text}'" for fault_id, text in each.wrong.items())
        print(f"{each.candidate.text}  margin {each.margin:.2f}; {wrong}")


if __name__ == "__main__":
    main()
