"""Classes that take rows of one size alone, which is not that of the small models."""

from dataclasses import replace

from core.contract.calls import Sizes
from core.contract.plan import Plan, rows_of
from core.contract.subject import Subject

OTHER = 5
"""Components of rows that are neither those of the rules nor those of a model."""


def only_size(subject: Subject, plan: Plan, sizes: Sizes) -> str:
    """Why a model's rows cannot be fed, in words; empty: they can, or the class is to blame.

    A class whose constructor is told d has to take it. Of one that is not told, a new cache is
    given one row of each size: it takes one size alone where it refuses all but the rules' own.
    """
    own = plan.sizes(sizes.capacity)
    is_told = not {"d_k", "d_v"}.isdisjoint(plan.surface.roles)
    if is_told or (own.d_k, own.d_v) == (sizes.d_k, sizes.d_v):
        return ""
    others = (replace(own, d_k=d, d_v=d) for d in (sizes.d_k, OTHER))
    if not all(_refuses(subject, one) for one in others) or _refuses(subject, own):
        return ""
    return f"the class takes rows of d = {own.d_k} only, the models have {sizes.d_k}"


def _refuses(subject: Subject, sizes: Sizes) -> bool:
    return subject.run(sizes, [rows_of(sizes, [0])])[-1].was_refused
