"""A run in a few facts, so that it can be told from others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from core.record import StepRecord
from core.spec import RunSpec
from core.verdict import StepVerdict

MOST_TOKENS = 12


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run.

    Attributes:
        number: a later run has a higher one.
        spec: what decides it.
        prompt: the beginning of its prompt.
        n_steps: steps there are.
        first_wrong: the first step with a wrong verdict; None: none is known.
        said: the first tokens that the engine chose itself, as a text.
        forced: (place among the generated tokens, text) of each token that was forced.
    """

    number: int
    spec: RunSpec
    prompt: str
    n_steps: int
    first_wrong: int | None
    said: str
    forced: tuple[tuple[int, str], ...]


def summary(
    number: int,
    spec: RunSpec,
    records: Sequence[StepRecord],
    verdicts: Mapping[int, StepVerdict],
    token_text: Callable[[int], str],
) -> RunSummary:
    """The facts of a run."""
    wrong = (step for step, verdict in verdicts.items() if verdict.is_wrong)
    chosen = (
        token_text(record.next_token)
        for record in records
        if record.next_token is not None and not record.is_forced
    )
    return RunSummary(
        number=number,
        spec=spec,
        prompt=_text(map(token_text, spec.prompt_ids), len(spec.prompt_ids)),
        n_steps=len(records),
        first_wrong=min(wrong, default=None),
        said=_text(chosen, MOST_TOKENS),
        forced=tuple(
            (place, token_text(token_id))
            for place, token_id in enumerate(spec.force_ids)
            if token_id is not None
        ),
    )


def _text(tokens: Iterator[str], n: int) -> str:
    """The first of `n` tokens as a text; dots stand for more."""
    text = "".join(islice(tokens, MOST_TOKENS)).replace("·", " ").strip()
    return f"{text}…" if n > MOST_TOKENS else text
