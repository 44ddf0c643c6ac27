"""Classes that take rows of some sizes alone, which are not those of the small models."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.contract.calls import Sizes
from core.contract.plan import Plan, rows_of
from core.contract.subject import Subject

OTHER_D, OTHER_HEADS, OTHER_LAYERS = 5, 3, 3
"""Sizes that are neither those of the rules nor those of a model."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """A size that a class may take one value of.

    Attributes:
        own, asked: the rules' number, and the model's.
        other: a third one.
        names: fields of `Sizes`.
    """

    own: int
    asked: int
    other: int
    names: tuple[str, ...]

    def of(self, sizes: Sizes, number: int) -> Sizes:
        """Sizes with this number."""
        changed: dict[str, int] = dict.fromkeys(self.names, number)
        return replace(sizes, **changed)


def sizes_taken(subject: Subject, plan: Plan, sizes: Sizes) -> Sizes:
    """The sizes of a model, with the class's own where it takes no others."""
    for axis in _only(subject, plan, sizes):
        sizes = axis.of(sizes, axis.own)
    return sizes


def _only(subject: Subject, plan: Plan, sizes: Sizes) -> Iterator[_Axis]:
    """The axes on which a class takes the rules' own number alone.

    A class whose constructor is told a number has to take it. Of one that is not told, or not
    surely, as behind an adapter, a new cache is given a row for each layer, in the model's sizes
    and in others: it takes one number alone where it refuses all but the rules' own.
    """
    own = plan.sizes(sizes.capacity)
    for axis in _axes(plan, own, sizes):
        is_told = not plan.surface.is_adapted and not plan.surface.roles.isdisjoint(axis.names)
        if is_told or axis.own == axis.asked:
            continue
        others = (axis.of(own, number) for number in (axis.asked, axis.other))
        if all(_refuses(subject, one) for one in others) and not _refuses(subject, own):
            yield axis


def _axes(plan: Plan, own: Sizes, sizes: Sizes) -> Iterator[_Axis]:
    if own.d_k == own.d_v:
        yield _Axis(own.d_k, sizes.d_k, OTHER_D, ("d_k", "d_v"))
    if plan.has_heads:
        yield _Axis(own.n_heads, sizes.n_heads, OTHER_HEADS, ("n_heads",))
    if plan.surface.takes_layer:
        yield _Axis(own.n_layers, sizes.n_layers, OTHER_LAYERS, ("n_layers",))


def _refuses(subject: Subject, sizes: Sizes) -> bool:
    calls = [rows_of(sizes, [0], layer) for layer in range(sizes.n_layers)]
    return any(answer.was_refused for answer in subject.run(sizes, calls))
