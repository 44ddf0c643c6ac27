"""What can be taught: the lessons of the catalog's faults, and the rules of the seams."""

import dataclasses
import inspect
import re
from functools import cache

from core.engine.seams import CORRECT, Seams
from core.errors import LessonError
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.fault import Fault
from core.lessons import Rule, Shelf, Topic, lesson_folder, load_lesson

_SHAPE = re.compile(r"^\[[^]]*\] ")
_SECTION = re.compile(r"^(Args|Returns|Raises):", re.MULTILINE)


@cache
def shelf() -> Shelf:
    """All lessons and rules; they are read once, when first asked for.

    A lesson that cannot be understood is told in its topic, and the others are there.
    """
    topics = {fault.id: (_topic(fault),) for fault in FAULTS}
    named = {
        name: tuple(topics[member][0] for member in members)
        for name, members in COMBINATIONS.items()
    }
    return Shelf({**topics, **named}, tuple(_rule(field.name) for field in _seams()))


def _seams() -> tuple[dataclasses.Field[object], ...]:
    return dataclasses.fields(Seams)


def _topic(fault: Fault) -> Topic:
    folder = lesson_folder(fault.id)
    lesson, trouble = None, None
    if folder.is_dir():
        try:
            lesson = load_lesson(folder)
        except LessonError as error:
            trouble = str(error)
    return Topic(fault.id, fault.title, fault.seam, lesson, trouble)


def _rule(seam: str) -> Rule:
    """The rule as the correct function's docstring says it, without what its arguments are."""
    said = inspect.getdoc(getattr(CORRECT, seam)) or ""
    words = _SECTION.split(said)[0]
    sentence, _, rest = words.partition("\n\n")
    paragraphs = [_markdown(paragraph) for paragraph in rest.strip("\n").split("\n\n") if paragraph]
    return Rule(
        seam=seam,
        sentence=_capital(_SHAPE.sub("", " ".join(sentence.split()))),
        text="\n\n".join(paragraphs),
        faults=tuple(fault.id for fault in FAULTS if fault.seam == seam),
    )


def _markdown(paragraph: str) -> str:
    """A drawing, which is indented, stays as it is."""
    return f"```\n{paragraph}\n```" if paragraph.startswith(" ") else paragraph


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
