"""What there is to learn now: the lessons of the faults that are on, else the rules of a cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.lessons import Rule, Shelf, Topic

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class LessonReadout:
    """Lessons, or rules.

    Attributes:
        topics: the faults that are on, in the order of the spec; empty: none.
        rules: one for each topic: the rule of its seam; without a topic, all that there are.
        sentence: the same in words.
    """

    topics: tuple[Topic, ...]
    rules: tuple[Rule, ...]
    sentence: str


def lesson_readout(view: RunView, shelf: Shelf) -> LessonReadout:
    """What there is to learn of a run; a fault that is not on the shelf is passed over.

    A fault of one's own has no lesson, but breaks a rule.
    """
    own = {(code.id, code.file): code for code in view.own}
    found: list[Topic] = []
    for use in view.spec.faults:
        code = own.get((use.id, use.file)) if use.file is not None else None
        if code is not None:
            found.append(Topic(code.id, code.title, code.seam, None))
        elif use.file is None:
            found += shelf.topics.get(use.id, ())
    topics = tuple(dict.fromkeys(found))
    if not topics:
        return LessonReadout((), shelf.rules, "the rules of a cache")
    by_seam = {rule.seam: rule for rule in shelf.rules}
    names = "; ".join(topic.title for topic in topics)
    return LessonReadout(topics, tuple(by_seam[t.seam] for t in topics), f"lesson: {names}")
