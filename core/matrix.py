"""What each fault does under each position scheme and policy, with many prompts.

A cell is a fault, a model and a policy. Each prompt is run twice: with the fault, which is judged
step by step, and without, under the same policy, which says what the text should have been.
"""

import gc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median_low

import torch

from core.errors import CoreError, FaultError
from core.faults.fault_files import known_with
from core.faults.guard import blaming
from core.faults.known import KnownFaults
from core.judge import Judge
from core.matrix_cell import Cell, Prompt, Task
from core.matrix_prompts import prompts_of
from core.matrix_runs import POLICIES, broken_spec, right_spec
from core.model.loading import LoadedModel, load_model
from core.record import StepRecord
from core.session import Session
from core.spec import RunSpec
from core.trace import Trace

_MOST_ROWS = 2048
"""A run that holds more is stopped: a fault can double what is held in every step."""
DEFAULT_MODELS = ("learned", "tiny-rope", "tiny-alibi")


@dataclass(frozen=True, slots=True)
class _Measured:
    """What one run with the fault gave."""

    first_wrong_step: int | None
    first_wrong_logits: int | None
    largest_error: float
    is_same_text: bool
    is_chosen: bool
    is_wrong_answer: bool | None


@dataclass(frozen=True, slots=True)
class _Right:
    """The run without the fault.

    Attributes:
        tokens: chosen at each step; None where nothing follows from it.
        answer_step: the step that predicts the answer; None: none does.
    """

    tokens: tuple[int | None, ...]
    answer_step: int | None


def tasks_of(
    faults: Sequence[str],
    models: Sequence[str],
    policies: Sequence[str],
    n_prompts: int,
    seed: int,
    files: Sequence[Path] = (),
) -> list[Task]:
    """All cells of the table, in order. Those of a model stand together.

    Raises:
        FaultError: an unknown fault, or a file of one's own that cannot be used.
        ModelError: a model that cannot be loaded.
    """
    paths = tuple(str(path) for path in files)
    known = _known(paths)
    for name in faults:
        known.find(name)
    for model in models:
        load_model(model)
    return [
        Task(fault, model, policy, n_prompts, seed, paths)
        for model in models
        for fault in faults
        for policy in policies or POLICIES
    ]


def prompts_for(task: Task) -> tuple[Prompt, ...]:
    """The prompts of a cell: all cells of a model have the same."""
    return _prompts(task.model, task.n_prompts, task.seed)


def measured(task: Task) -> Cell:
    """Measure a cell."""
    loaded = _loaded(task.model)
    scheme = loaded.config.scheme
    runs: list[_Measured] = []
    for prompt in prompts_for(task):
        try:
            runs.append(_measure(task, loaded, prompt))
        except FaultError as error:
            return Cell(*_names(task, scheme), why_not=str(error), is_broken=True)
        except CoreError as error:
            return Cell(*_names(task, scheme), why_not=str(error))
    gc.collect()  # engines refer to themselves, and their arrays would stay for long
    steps = [run.first_wrong_step for run in runs if run.first_wrong_step is not None]
    logits = [run.first_wrong_logits for run in runs if run.first_wrong_logits is not None]
    answers = [run.is_wrong_answer for run in runs if run.is_wrong_answer is not None]
    first_wrong_step = median_low(steps) if steps else None
    return Cell(
        *_names(task, scheme),
        n_runs=len(runs),
        n_shown=len(steps),
        first_wrong_step=first_wrong_step,
        first_wrong_logits=median_low(logits) if logits else None,
        largest_error=_largest([run.largest_error for run in runs]),
        n_same_text=sum(run.is_same_text for run in runs),
        n_chosen=sum(run.is_chosen for run in runs),
        n_same_chosen=sum(run.is_chosen and run.is_same_text for run in runs),
        n_questions=len(answers),
        n_wrong_answers=sum(answers),
        prompt=[run.first_wrong_step for run in runs].index(first_wrong_step),
    )


def _names(task: Task, scheme: str) -> tuple[str, str, str, str]:
    return task.fault, task.model, scheme, task.policy


def _measure(task: Task, loaded: LoadedModel, prompt: Prompt) -> _Measured:
    known = _known(task.files)
    right = _right_run(right_spec(task, prompt, known), prompt)
    session = Session(broken_spec(task, prompt, known), loaded, known=known)
    with blaming(session.own):
        trace = _run_within_bounds(session)
        verdicts = Judge(trace, loaded).update()
    errors = [verdict.logits.max_abs_error for verdict in verdicts if verdict.logits]
    wrong = [verdict.step for verdict in verdicts if verdict.is_wrong]
    wrong_logits = [
        verdict.step
        for verdict in verdicts
        if verdict.logits is not None and verdict.logits.standing == "wrong"
    ]
    tokens = _tokens(trace.records)
    at = right.answer_step
    is_wrong_answer = None
    if at is not None:
        is_wrong_answer = at >= len(tokens) or tokens[at] != right.tokens[at]
    return _Measured(
        first_wrong_step=min(wrong, default=None),
        first_wrong_logits=min(wrong_logits, default=None),
        largest_error=_largest(errors),
        is_same_text=tokens == right.tokens,
        is_chosen=any(_chooses(trace.records[step]) for step in wrong_logits),
        is_wrong_answer=is_wrong_answer,
    )


def _chooses(record: StepRecord) -> bool:
    """Whether the engine's own choice becomes a token of the text."""
    return record.next_token is not None and not record.is_forced


def _run_within_bounds(session: Session) -> Trace:
    with torch.inference_mode():
        while (record := session.advance()) is not None:
            if len(record.ledger.slot) > _MOST_ROWS:
                break
    return session.trace


@lru_cache(maxsize=4096)
def _right_run(spec: RunSpec, prompt: Prompt) -> _Right:
    records = Session(spec, _loaded(spec.model)).run().records
    last = len(prompt.token_ids) + len(prompt.rest) - 1
    answering = [
        record.step
        for record in records
        if prompt.rest and record.is_computed and last in record.token_index[-1:]
    ]
    is_one_text = spec.n_sequences == 1
    return _Right(_tokens(records), answering[-1] if answering and is_one_text else None)


def _tokens(records: Sequence[StepRecord]) -> tuple[int | None, ...]:
    return tuple(record.next_token for record in records)


def _largest(errors: Sequence[float]) -> float:
    """The largest; NaN where one is none."""
    return max(errors, key=lambda error: (math.isnan(error), error), default=0.0)


@lru_cache(maxsize=8)
def _known(files: tuple[str, ...]) -> KnownFaults:
    return known_with([Path(file) for file in files])


@lru_cache(maxsize=8)
def _loaded(model: str) -> LoadedModel:
    torch.set_num_threads(1)
    return load_model(model)


@lru_cache(maxsize=8)
def _prompts(model: str, n: int, seed: int) -> tuple[Prompt, ...]:
    return prompts_of(_loaded(model), n, seed)
