"""Lessons: what a fault teaches, as text in parts, and the links in it that drive the window.

A lesson is a folder `resources/lessons/<fault id>`: `lesson.md` (a TOML head between lines of
`+++`, then one `## ` heading per part) and the code that it shows, `before.py` and `after.py`.

Three kinds of code block are compared with what the code and the program really give
(`tests/core/test_lessons.py`): `values` of the code, `record` for entries of a step, and `sees`,
one in each "What you see": what queries see and are blind to, the shapes of a step, and why.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import LessonError
from resources import resource_path

PART_TITLES = (
    "Question",
    "Short answer",
    "Full answer",
    "Why it is common",
    "In the wild",
    "What you see",
    "Where it hides",
    "In the generation loop",
    "Answers that sound right and are not",
    "Follow-ups",
)
CODE_FILES = ("before.py", "after.py")
SCHEME = "show:"
LINK = re.compile(r"\]\((show:[^)]*)\)")
SOURCE = re.compile(r"\b[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*#\d+\b")
"""A public report: owner/repository#number."""
_HEAD = re.compile(r"\+\+\+\n(.*?)\n\+\+\+\n(.*)", re.DOTALL)
_CODE_LINE = re.compile(r"\[(\w+\.py)\]\(\1\)")
_RULE = re.compile(r"^> Rule: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Show:
    """What a link asks the window to show. None: leave it as it is.

    Attributes:
        step: step to go to.
        dock: panel to bring to the front.
        slot: slot to choose.
        token_index: token to choose.
        layer: layer to look at.
        head: head to look at.
        faults: where there are any, load the scenario that shows the first, with these on; the
            empty tuple: the same run without a fault.
        is_played: whether to play from there.
    """

    step: int | None = None
    dock: str | None = None
    slot: int | None = None
    token_index: int | None = None
    layer: int | None = None
    head: int | None = None
    faults: tuple[str, ...] | None = None
    is_played: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a lesson: its title, and its text as Markdown."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a fault teaches.

    Attributes:
        id: of the fault.
        level: 1 for one line that explains it, 2 for what needs the loop, 3 for what needs memory.
        minutes: to read it with its answers.
        seam: the decision that the fault takes wrongly.
        parts: in the order of `PART_TITLES`; the first one asks, the others answer.
    """

    id: str
    level: int
    minutes: int
    seam: str
    parts: tuple[Part, ...]

    @property
    def rule(self) -> str:
        """The rule that the fault breaks, in one sentence to quote."""
        return _RULE.findall(self.part("Full answer"))[0]

    def part(self, title: str) -> str:
        """The text of the part with this title."""
        return self.parts[PART_TITLES.index(title)].text


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of a seam, as its correct function states it.

    Attributes:
        seam: its name.
        sentence: the rule in one sentence.
        text: what else is said of it, as Markdown; may be empty.
        faults: ids of the faults that break it.
    """

    seam: str
    sentence: str
    text: str
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A fault that can be on.

    Attributes:
        fault: its id.
        title: what it is, in one line.
        seam: the decision that it takes wrongly.
        lesson: None: there is none.
        trouble: why there is one that cannot be read; None: there is no such.
    """

    fault: str
    title: str
    seam: str
    lesson: Lesson | None
    trouble: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """All that can be taught.

    Attributes:
        topics: by the name of a fault, or of a combination: the faults that it stands for.
        rules: one for each seam, in the order in which the engine asks.
    """

    topics: Mapping[str, tuple[Topic, ...]]
    rules: tuple[Rule, ...]


def lesson_folder(fault_id: str) -> Path:
    """Where the lesson of a fault is, if it has one."""
    return resource_path("lessons", fault_id)


def load_lesson(folder: Path) -> Lesson:
    """The lesson in a folder.

    Raises:
        LessonError: a file or a part is missing, or cannot be understood.
    """
    try:
        text = (folder / "lesson.md").read_text("utf-8")
        code = {name: (folder / name).read_text("utf-8") for name in CODE_FILES}
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(f"lesson {folder.name!r} cannot be read: {error}") from error
    return parse_lesson(folder.name, text, code)


def parse_lesson(name: str, text: str, code: Mapping[str, str]) -> Lesson:
    """The lesson in a text. A line that only links to a code file shows that file.

    Args:
        name: of the fault that it should be about.
        text: of `lesson.md`.
        code: text of each code file, by its name.

    Raises:
        LessonError: the head or a part is missing, twice there or out of order, or a link is wrong.
    """
    found = _HEAD.fullmatch(text)
    if found is None:
        raise LessonError(f"lesson {name!r} has no head between two lines of +++")
    (id_, level, minutes, seam), body = _head(name, found[1]), found[2]
    parts = tuple(_parts(name, body, code))
    titles = tuple(part.title for part in parts)
    if titles != PART_TITLES:
        raise LessonError(f"lesson {name!r} has the parts {titles}; they must be {PART_TITLES}")
    for link in LINK.findall(body):
        parse_show(link)
    lesson = Lesson(id_, level, minutes, seam, parts)
    if len(_RULE.findall(lesson.part("Full answer"))) != 1:
        raise LessonError(f"lesson {name!r} must have one line '> Rule: …' in its full answer")
    return lesson


def parse_show(link: str) -> Show:
    """What a link such as `show:step=1;dock=mask;slot=7` asks for.

    Keys: step, slot, token, layer, head (numbers), dock, fault (ids with commas between them, or
    none), play (1).

    Raises:
        LessonError: not such a link, or a key or number that is not known.
    """
    if not link.startswith(SCHEME):
        raise LessonError(f"link {link!r} does not start with {SCHEME!r}")
    pairs = [pair.partition("=") for pair in link.removeprefix(SCHEME).split(";")]
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise LessonError(f"link {link!r} has a key twice")
    known: dict[str, object] = {}
    for key, _, value in pairs:
        field, read = _SHOW_KEYS.get(key, (None, None))
        answer = None if read is None else read(value)
        if field is None or answer is None:
            raise LessonError(f"link {link!r}: {key}={value} is not known")
        known[field] = answer
    return Show(**known)  # pyright: ignore[reportArgumentType] - readers give what their fields hold


def _number(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdecimal() else None


def _name(value: str) -> str | None:
    return value or None


def _names(value: str) -> tuple[str, ...] | None:
    if value == "none":
        return ()
    names = tuple(value.split(","))
    return names if all(names) else None


def _yes(value: str) -> bool | None:
    return True if value == "1" else None


_SHOW_KEYS = {
    "step": ("step", _number),
    "dock": ("dock", _name),
    "slot": ("slot", _number),
    "token": ("token_index", _number),
    "layer": ("layer", _number),
    "head": ("head", _number),
    "fault": ("faults", _names),
    "play": ("is_played", _yes),
}
_HEAD_TYPES = {"id": str, "level": int, "minutes": int, "seam": str}


def _head(name: str, text: str) -> tuple[str, int, int, str]:
    import tomllib  # here, since links are followed and made without reading a lesson

    try:
        head = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"the head of lesson {name!r} cannot be read: {error}") from error
    if {key: type(value) for key, value in head.items()} != _HEAD_TYPES:
        raise LessonError(f"the head of lesson {name!r} must have just {', '.join(_HEAD_TYPES)}")
    if head["id"] != name or not 1 <= head["level"] <= 3 or head["minutes"] < 1:
        raise LessonError(f"the head of lesson {name!r}: wrong id, level (1 to 3) or minutes")
    return head["id"], head["level"], head["minutes"], head["seam"]


def _parts(name: str, body: str, code: Mapping[str, str]) -> Iterator[Part]:
    title, lines, is_code = "", list[str](), False
    for line in body.splitlines():
        is_code ^= line.startswith("```")
        if line.startswith("## ") and not is_code:
            if title:
                yield Part(title, "\n".join(lines).strip())
            title, lines = line.removeprefix("## ").strip(), []
        elif found := _CODE_LINE.fullmatch(line):
            lines += _shown(name, found[1], code)
        else:
            lines.append(line)
    if title:
        yield Part(title, "\n".join(lines).strip())


def _shown(name: str, file: str, code: Mapping[str, str]) -> tuple[str, ...]:
    if file not in code:
        raise LessonError(f"lesson {name!r} shows {file!r}; it can show {', '.join(code)}")
    lines = re.sub(r"\n{3,}", "\n\n", code[file].strip())
    return (f"`{file}`", "", "```python", lines, "```")
