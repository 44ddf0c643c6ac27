"""Refusals that are an error of the class's own code rather than a check."""

from core.contract.calls import Append
from core.contract.rule import Break, Heard

ERRORS = ("NameError", "UnboundLocalError", "AttributeError")
"""What a misspelled name raises."""

TYPO = "typo"
"""Aspect of what is told of such a refusal."""


def is_typo(found: Break | None) -> bool:
    """Whether that is what is told."""
    return found is not None and found.aspect == TYPO


def typo(heard: Heard) -> Break | None:
    """An append that was rightly refused, by an error that a misspelled name raises."""
    for at, call, answer, expected in heard.steps():
        if not isinstance(call, Append) or not expected.refused or answer.error is None:
            continue
        if answer.error[0] in ERRORS:
            return Break(at, TYPO, "an error that says why", ": ".join(answer.error))
    return None
