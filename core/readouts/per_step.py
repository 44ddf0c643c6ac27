"""What a readout shows of each step by itself, made once and kept while the run grows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from operator import is_
from typing import TYPE_CHECKING, TypeVar, cast

from core.record import StepRecord
from core.verdict import StepVerdict

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

T = TypeVar("T")
Make = Callable[[StepRecord, StepVerdict | None], T]


@dataclass(slots=True)
class Kept:
    """What was made of the first steps of a run; one for each maker."""

    records: list[StepRecord] = field(default_factory=list[StepRecord])
    verdicts: list[StepVerdict | None] = field(default_factory=list[StepVerdict | None])
    made: list[Hashable] = field(default_factory=list[Hashable])
    shown: tuple[Hashable, ...] = ()
    seen: tuple[object, object] = (None, None)


def once(view: RunView, make: Callable[[RunView], T], *of: object) -> T:
    """What `make` says of a view: made anew only where what it is made of is another object.

    Args:
        view: the run; what was made last is kept in its history.
        make: a function of nothing but `of`, which are parts of the view or made from them.
        of: values that are replaced when they change, never changed.
    """
    known = view.history.made_once.get(make)
    if known is None or len(known[0]) != len(of) or not all(map(is_, known[0], of)):
        known = view.history.made_once[make] = (of, make(view))
    return cast("T", known[1])


def per_step(view: RunView, make: Make[T]) -> tuple[T, ...]:
    """What `make` says of each step of a view, in order: the same object while nothing changes.

    Args:
        view: the run; what was made is kept in its history.
        make: a function of the record and the verdict alone.
    """
    kept = view.history.kept.setdefault(make, Kept())
    if kept.seen[0] is view.records and kept.seen[1] is view.verdicts:
        return cast("tuple[T, ...]", kept.shown)
    is_same = len(kept.shown) == len(view.records)
    find = view.verdicts.get
    for step, record in enumerate(view.records):
        verdict = find(record.step)
        if step == len(kept.made):
            kept.records.append(record)
            kept.verdicts.append(verdict)
            kept.made.append(cast("Hashable", make(record, verdict)))
            is_same = False
        elif kept.verdicts[step] is not verdict or kept.records[step] is not record:
            kept.records[step], kept.verdicts[step] = record, verdict
            kept.made[step] = cast("Hashable", make(record, verdict))
            is_same = False
    kept.seen = (view.records, view.verdicts)
    if not is_same:
        kept.shown = tuple(kept.made[: len(view.records)])
    return cast("tuple[T, ...]", kept.shown)
