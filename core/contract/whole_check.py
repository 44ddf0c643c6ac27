"""All that is asked of a class: every rule, and where that is worth it, the model test."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.contract.check import Verdict, check
from core.contract.decode import ModelTest, is_worth_asking, model_test
from core.contract.plan import MOST_OWN, Plan
from core.contract.subject import Subject


@dataclass(frozen=True, slots=True)
class ClassCheck:
    """What came of it.

    Attributes:
        plan: what is known of the class.
        verdicts: one a rule that was asked.
        decoded: the model test; None: it was not worth asking, or not all rules were asked.
    """

    plan: Plan
    verdicts: tuple[Verdict, ...]
    decoded: ModelTest | None

    @property
    def is_broken(self) -> bool:
        """Whether a rule fails."""
        return any(verdict.state == "fail" for verdict in self.verdicts)

    @property
    def is_wrong(self) -> bool:
        """Whether a rule fails, or a model decodes otherwise with this class."""
        return self.is_broken or (self.decoded is not None and self.decoded.finding is not None)


def class_check(
    subject: Subject,
    plan: Plan,
    only: Iterable[int] = (),
    *,
    at: Callable[[int], None] | None = None,
    told: Callable[[Verdict], None] | None = None,
    decodes: Callable[[], None] | None = None,
) -> ClassCheck:
    """Ask the rules, or those named, then let the models decode.

    Args:
        subject: the class.
        plan: what is known of it.
        only: numbers of the rules to ask; empty: all.
        at: told the number of each rule before it is asked.
        told: told what came of each rule, as far as that is known then.
        decodes: told before the models decode, if they do.
    """
    only = tuple(only)
    verdicts = tuple(check(subject, plan, only, at, told))
    decoded = None
    if not only and is_worth_asking(verdicts):
        if decodes is not None:
            decodes()
        decoded = model_test(subject, plan)
    return ClassCheck(plan, verdicts, decoded)


def plan_words(name: str, plan: Plan) -> str:
    """What a class is taken for, in a line."""
    full = {"refuse": "refuses", "window": "lets the oldest go", "unbounded": "grows"}[plan.policy]
    end = f"when full it {full}"
    if plan.own_capacity is not None:
        end += f" ({plan.own_capacity} rows, found by trying)"
    elif plan.has_no_known_end:
        end = f"it took {MOST_OWN} rows, and no end was met"
    surface = plan.surface
    axes = ", ".join(surface.layout)
    return f"{name}: {surface.words}, {surface.library} [{axes}]; {end}"
