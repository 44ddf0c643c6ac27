"""`kvscope lesson`: a lesson as text, to be read or handed out."""

import argparse
import difflib
import re
import sys

from app.lesson_html import lesson_page
from core.errors import LessonError
from core.faults.catalog import COMBINATIONS, FAULTS
from core.lessons import Lesson, Part, lesson_folder, load_lesson

_QUESTION = re.compile(r"^- (\*[^*]+\*)", re.MULTILINE)
_NO_NAME = "A question on a KV cache"
"""The name of a fault, of its seam, or its title would answer the question."""


def lesson(arguments: argparse.Namespace) -> int:
    """Print a lesson; the exit status.

    Raises:
        LessonError: there is none of this name, or it cannot be read.
    """
    fault_id: str | None = arguments.id
    titles = {fault.id: fault.title for fault in FAULTS}
    if fault_id is None or fault_id not in titles:
        raise LessonError(_which(fault_id, tuple(titles)))
    found = load_lesson(lesson_folder(fault_id))
    effort = f"level {found.level} of 3, {found.minutes} min"
    title, about = titles[fault_id], f"{found.id}, seam {found.seam}, {effort}"
    asked, answers = found.parts[:1], found.parts[1:]
    if arguments.without_answers:
        title, about, asked, answers = _NO_NAME, effort, _questions(found), ()
    write = lesson_page if arguments.format == "html" else _markdown
    sys.stdout.write(f"{write(title, about, asked, answers)}\n")
    return 0


def _which(fault_id: str | None, names: tuple[str, ...]) -> str:
    how = "kvscope faults lists the ids"
    example = f"kvscope lesson {names[0]}"
    if fault_id in COMBINATIONS:
        *others, last = COMBINATIONS[fault_id]
        return (
            f"{fault_id} is {', '.join(others)} and {last} at once, and each has a lesson of its "
            f"own: {', '.join(f'kvscope lesson {name}' for name in COMBINATIONS[fault_id])}"
        )
    if fault_id is None:
        return f"no lesson is named; {how}; for example: {example}"
    near = difflib.get_close_matches(fault_id, names, n=3)
    if near:
        return f"there is no lesson {fault_id!r}; did you mean {' or '.join(near)}? {how}"
    return f"there is no lesson {fault_id!r}; {how}; for example: {example}"


def _questions(found: Lesson) -> tuple[Part, ...]:
    """What asks and does not answer: the question, and those that follow up."""
    asked = "\n".join(f"- {question}" for question in _follow_ups(found))
    return Part("Question", found.part("Question")), Part("Follow-ups", asked)


def _follow_ups(found: Lesson) -> list[str]:
    joined = re.sub(r"\n {2,}", " ", found.part("Follow-ups"))
    return _QUESTION.findall(joined)


def _markdown(title: str, about: str, asked: tuple[Part, ...], answers: tuple[Part, ...]) -> str:
    texts = (f"## {part.title}\n\n{part.text}" for part in (*asked, *answers))
    return "\n\n".join([f"# {title}", about, *texts])
