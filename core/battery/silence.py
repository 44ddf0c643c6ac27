"""Why a law says nothing of a case, and what would do."""

from dataclasses import dataclass

from core.battery.case import Case


@dataclass(frozen=True, slots=True)
class Silent:
    """A law says nothing of a case.

    Attributes:
        why: what the case has, and what would do.
    """

    why: str


def silent(*reasons: tuple[bool, str]) -> Silent | None:
    """The first reason that holds; None: none does, so the law says something."""
    return next((Silent(why) for holds, why in reasons if holds), None)


def not_refuse(case: Case) -> tuple[bool, str]:
    """A law that speaks of the policy refuse alone."""
    return case.policy != "refuse", f"policy={case.policy}; give policy=refuse"


def in_chunks(case: Case) -> tuple[bool, str]:
    """A law whose prompt is read at once."""
    return case.chunk > 0, f"chunk={case.chunk}; leave chunk= out"


def too_long(case: Case, n: int) -> tuple[bool, str]:
    """A law that needs room for `n` tokens."""
    why = f"{n} tokens must fit, and capacity={case.capacity}; give capacity={n} or more"
    return n > case.capacity, why


def refused(case: Case, n: int) -> tuple[bool, str]:
    """A law that needs `n` tokens to be let in; only the policy refuse turns any away."""
    is_over, why = too_long(case, n)
    return case.policy == "refuse" and is_over, why
