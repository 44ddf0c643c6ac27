"""What a matrix consists of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to be read.

    Attributes:
        token_ids: the prompt.
        text: how it reads.
        rest: what is forced after it, so that the next token is the answer to a question; empty:
            the engine chooses every token.
        answer: the word that is right in the story; empty where nothing is asked.
    """

    token_ids: tuple[int, ...]
    text: str
    rest: tuple[int, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A cell to be measured.

    Attributes:
        fault: id.
        model: model name.
        policy: one of `core.matrix_runs.POLICIES`.
        n_prompts: how many prompts.
        seed: of the prompts.
        files: of faults of one's own, which are run to measure the cell.
    """

    fault: str
    model: str
    policy: str
    n_prompts: int
    seed: int
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """What was measured.

    Attributes:
        fault: id.
        model: model name.
        scheme: its position scheme.
        policy: the policy.
        why_not: why there is no such run, in a line; None: there is.
        is_broken: whether that is because the fault's own function cannot be used.
        n_runs: prompts that were run.
        n_shown: runs with any verdict wrong.
        first_wrong_step: the first step with any verdict wrong, the median of the runs that show
            one; None: none does.
        first_wrong_logits: likewise of wrong logits.
        largest_error: the largest logit error of all runs; "nan" where logits are not finite.
        n_same_text: runs whose tokens are all those of the right run.
        n_chosen: runs in which a token was chosen from wrong logits. Where they stand only before
            tokens that are forced, they change no text.
        n_same_chosen: those of them whose tokens are all those of the right run.
        n_questions: story questions that the right run answered, rightly or not.
        n_wrong_answers: those of them that were answered otherwise, or not at all.
        prompt: number of the first prompt whose run shows the median first wrong step; 0 where
            none is wrong.
    """

    fault: str
    model: str
    scheme: str
    policy: str
    why_not: str | None = None
    is_broken: bool = False
    n_runs: int = 0
    n_shown: int = 0
    first_wrong_step: int | None = None
    first_wrong_logits: int | None = None
    largest_error: float = 0.0
    n_same_text: int = 0
    n_chosen: int = 0
    n_same_chosen: int = 0
    n_questions: int = 0
    n_wrong_answers: int = 0
    prompt: int = 0

    @property
    def n_tried(self) -> int:
        """Runs that put the text to the test: a token was chosen from wrong logits, or differs."""
        return self.n_same_chosen + self.n_other_text

    @property
    def n_other_text(self) -> int:
        """Runs in which some token is another one than in the right run, or is missing."""
        return self.n_runs - self.n_same_text
