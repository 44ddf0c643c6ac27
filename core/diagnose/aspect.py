"""A decision of the engine, and the wrong rules that could have made it."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

from core.diagnose.account import Call, Run

Answer = Hashable
Answers = tuple[Answer, ...] | None
"""One answer a layer, or a single one for what is decided once; None: the rule was not asked."""
Predict = Callable[[Run], Sequence[Answers]]


def always(run: Run) -> bool:
    """Every run does."""
    return True


def not_told(run: Run) -> None:
    """The wrong answers themselves say in which steps the rule acted."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A wrong rule.

    Attributes:
        preset_like: id of a fault that has it.
        predicts: for each step in focus, what it would have answered; None: as the right rule.
        is_sure: whether the answers of a run set it apart from rules that nobody wrote down; where
            they do not, it is a rival and no more.
        acted: where wrong answers outlast the rule, the first and the last step in which it acted;
            None: there are none, or it acted to the end of the run.
    """

    preset_like: str
    predicts: Predict
    is_sure: Callable[[Run], bool] = always
    acted: Callable[[Run], tuple[int, int] | None] = not_told


@dataclass(frozen=True, slots=True)
class Aspect:
    """A decision.

    Attributes:
        field: what differs first where it is wrong; see `core.verdict.FIELDS`.
        neutral: what is wrong, in words that name no cause: said where no wrong rule fits.
        is_per_layer: whether each layer decides.
        observed: what was answered in each step in focus.
        right: what the right rule answers, asked with the same.
        hypotheses: the wrong rules; where two fit equally well, the first is named.
        evidence: one wrong answer in words: of a step, in a layer (0 where there is none).
        is_last_resort: whether it leans on tensors that are off whatever went wrong before them,
            and so is heard only where every other decision was right.
    """

    field: str
    neutral: str
    is_per_layer: bool
    observed: Predict
    right: Predict
    hypotheses: tuple[Hypothesis, ...]
    evidence: Callable[[Run, Call, int], str]
    is_last_resort: bool = False


def each(answer: Callable[[Call], Answers]) -> Predict:
    """The prediction of a rule that looks at one step alone."""
    return partial(_each, answer)


def _each(answer: Callable[[Call], Answers], run: Run) -> Sequence[Answers]:
    return [answer(call) for call in run.focus]


def once(answer: Callable[[Call], Answer]) -> Predict:
    """The same for a rule that is asked once per step; None: it was not asked."""

    def answers(call: Call) -> Answers:
        given = answer(call)
        return None if given is None else (given,)

    return each(answers)


def by_layer(answer: Callable[[Call, int], Answer]) -> Predict:
    """The same for a rule that each layer of a computed step asks."""

    def answers(call: Call) -> Answers:
        if not call.record.layers:
            return None
        known: dict[tuple[int, int], Answer] = {}
        every: list[Answer] = []
        for number, layer in enumerate(call.record.layers):
            key = (id(layer.plan), id(layer.row_token))
            if key not in known:
                known[key] = answer(call, number)
            every.append(known[key])
        return tuple(every)

    return each(answers)


def by_own_layer(answer: Callable[[Call, int], Answer]) -> Predict:
    """The same where layers with one plan can differ."""

    def answers(call: Call) -> Answers:
        layers = range(len(call.record.layers))
        return tuple(answer(call, number) for number in layers) or None

    return each(answers)
