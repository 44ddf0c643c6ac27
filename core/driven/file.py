"""A driven run judged as ours are, and as a trace file with every number."""

from dataclasses import dataclass, replace
from pathlib import Path

from core.contract.decode_fit import fitting_model
from core.contract.decode_model import SmallModel
from core.contract.plan import Plan
from core.contract.run_plan import RunPlan
from core.contract.subject import Subject
from core.driven.run import SEED, Driven, Driver
from core.driven.text import spec_of
from core.errors import CoreError
from core.judge import Judge
from core.model.config import ModelConfig
from core.model.loading import LoadedModel, load_model
from core.model.weights import random_weights
from core.trace import ModelInfo, Trace
from core.tracefile import save_trace
from core.verdict import StepVerdict


class NoStepError(CoreError):
    """Not even one step could be made."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRun:
    """A driven run with its verdicts.

    Attributes:
        driven: what happened.
        trace: the same as a trace.
        verdicts: one a step.
    """

    driven: Driven
    trace: Trace
    verdicts: tuple[StepVerdict, ...]


def judged_run(subject: Subject, plan: Plan, run: RunPlan) -> JudgedRun:
    """Drive a class, and judge every step.

    Raises:
        CoreError: its rows are of other sizes than the model's, or it gave nothing to read.
    """
    fitting, sizes = fitting_model(subject, plan, run.model)
    loaded = _loaded(run.model, fitting.config)
    model = SmallModel.of(loaded.config, loaded.weights.arrays())
    driven = Driver(subject, plan, run, model, sizes).driven()
    if not driven.records:
        raise NoStepError(driven.ended)
    spec = spec_of(plan, run, loaded.config.vocab_size)
    spec = replace(spec, model=loaded.config.name)
    trace = Trace(spec, ModelInfo(spec.model, None, loaded.config), list(driven.records))
    judge = Judge(trace, loaded)
    judge.update()
    return JudgedRun(driven, trace, tuple(judge.verdicts))


def _loaded(name: str, config: ModelConfig) -> LoadedModel:
    """The built-in model of this name, or one like it in the sizes of the class."""
    loaded = load_model(name)
    if loaded.config == config:
        return loaded
    return replace(loaded, config=config, weights=random_weights(config, SEED))


def save_run(path: Path, run: JudgedRun) -> None:
    """Write it to a file that opens without torch.

    Raises:
        TraceError: it cannot be written.
    """
    save_trace(path, run.trace, full=True, verdicts=run.verdicts)
