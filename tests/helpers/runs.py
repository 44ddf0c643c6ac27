"""Runs of the tiny models, and what the judge says of them."""

from dataclasses import dataclass, replace
from functools import cache

from core.judge import Judge
from core.model.loading import LoadedModel, load_model
from core.session import Session
from core.spec import RunSpec
from core.trace import Trace
from core.verdict import StepVerdict

SCHEMES = ("learned", "rope", "alibi")
RELATIVE_SCHEMES = ("rope", "alibi")
SEVEN_IDS = (84, 104, 101, 32, 107, 105, 116)


@cache
def tiny(scheme: str) -> LoadedModel:
    """The built-in random model of a position scheme, made once."""
    return load_model(f"tiny-{scheme}")


def with_config(scheme: str, **changes: object) -> LoadedModel:
    """The tiny model with a changed configuration; its weights must still fit."""
    loaded = tiny(scheme)
    config = replace(loaded.config, **changes)
    return replace(loaded, config=config, weights=replace(loaded.weights, config=config))


def spec_for(scheme: str, **settings: object) -> RunSpec:
    """A spec for a tiny model: seven prompt tokens in float64 unless told otherwise."""
    return RunSpec(f"tiny-{scheme}", **{"prompt_ids": SEVEN_IDS, "dtype": "float64", **settings})


def run(spec: RunSpec, loaded: LoadedModel | None = None) -> Trace:
    """The trace of a whole run."""
    return Session(spec, loaded or tiny(spec.model.removeprefix("tiny-"))).run()


@dataclass(frozen=True, slots=True)
class Judged:
    """A run with its verdicts, which stand for themselves in a failing test."""

    trace: Trace
    verdicts: list[StepVerdict]

    @property
    def policy(self) -> list[str]:
        """The policy verdict of each step."""
        return [verdict.policy for verdict in self.verdicts]

    @property
    def mechanism(self) -> list[str]:
        """The mechanism verdict of each step."""
        return [verdict.mechanism for verdict in self.verdicts]

    @property
    def logits(self) -> list[str | None]:
        """The standing of the logits at each step; None: nothing was computed."""
        return [v.logits.standing if v.logits else None for v in self.verdicts]

    @property
    def wrong_steps(self) -> list[int]:
        """Steps with any verdict wrong."""
        return [verdict.step for verdict in self.verdicts if verdict.is_wrong]

    @property
    def wrong_logits(self) -> list[int]:
        """Steps with wrong logits."""
        return [step for step, standing in enumerate(self.logits) if standing == "wrong"]

    @property
    def largest_error(self) -> float:
        """The largest logit error of all steps."""
        return max((v.logits.max_abs_error for v in self.verdicts if v.logits), default=0.0)


def judged(spec: RunSpec, loaded: LoadedModel | None = None) -> Judged:
    """A whole run and all its verdicts."""
    loaded = loaded or tiny(spec.model.removeprefix("tiny-"))
    trace = run(spec, loaded)
    return Judged(trace, Judge(trace, loaded).update())


def judge_again(trace: Trace, loaded: LoadedModel) -> Judged:
    """The verdicts of records as they stand, changed ones included."""
    return Judged(trace, Judge(trace, loaded).update())
