"""Two functions line by line: what is the same, and what a fault changed.

Names and docstrings always differ, so only what runs counts as changed: the parameters and the
body.
"""

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Literal

Part = Literal["head", "doc", "body"]
Side = Literal["faulty", "correct"]


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A line of one function or of both, beside each other.

    Attributes:
        part: the head with its parameters, the docstring, or the body.
        faulty: place of the line in the faulty function; None: it has none here.
        correct: place of the line in the correct function; None: it has none here.
        is_changed: whether what runs differs here.
    """

    part: Part
    faulty: int | None
    correct: int | None
    is_changed: bool


@dataclass(frozen=True, slots=True)
class UnifiedLine:
    """A line of the two functions below each other.

    Attributes:
        side: whose line it is; a line that both have is the faulty function's.
        place: its place in that function.
        part: see `CodeRow`.
        is_changed: see `CodeRow`.
        is_shared: whether both functions have it.
    """

    side: Side
    place: int
    part: Part
    is_changed: bool
    is_shared: bool


def diff_rows(faulty: str, correct: str) -> tuple[CodeRow, ...]:
    """The lines of both functions in order, equal ones beside each other."""
    wrong, right = _Parts.of(faulty), _Parts.of(correct)
    is_head_changed = wrong.signature() != right.signature()
    return (
        *_beside("head", wrong.head, right.head, is_changed=is_head_changed),
        *_beside("doc", wrong.doc, right.doc, is_changed=False),
        *_body_rows(wrong, right),
    )


def plain_rows(correct: str) -> tuple[CodeRow, ...]:
    """The lines of a single function."""
    parts = _Parts.of(correct)
    named: tuple[tuple[Part, range], ...] = (
        ("head", parts.head),
        ("doc", parts.doc),
        ("body", parts.body),
    )
    return tuple(
        CodeRow(part, None, place, is_changed=False) for part, places in named for place in places
    )


def unified(rows: Sequence[CodeRow]) -> tuple[UnifiedLine, ...]:
    """The same below each other: of a run of rows the faulty lines first, then the correct ones."""
    lines: list[UnifiedLine] = []
    for (part, is_changed), run in groupby(rows, key=lambda row: (row.part, row.is_changed)):
        together = list(run)
        if not is_changed and part != "doc" and together[0].faulty is not None:
            lines += _lines(together, "faulty", is_shared=True)
        else:
            lines += _lines(together, "faulty", is_shared=False)
            lines += _lines(together, "correct", is_shared=False)
    return tuple(lines)


def _lines(rows: Sequence[CodeRow], side: Side, *, is_shared: bool) -> Iterator[UnifiedLine]:
    for row in rows:
        place = row.faulty if side == "faulty" else row.correct
        if place is not None:
            yield UnifiedLine(side, place, row.part, row.is_changed, is_shared)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Where head, docstring and body of a function stand in its lines."""

    lines: tuple[str, ...]
    head: range
    doc: range
    body: range

    @classmethod
    def of(cls, text: str) -> "_Parts":
        lines = tuple(text.splitlines())
        try:
            (function,) = ast.parse(text).body
        except (SyntaxError, ValueError):  # a part of a statement, such as a lambda
            function = None
        if not isinstance(function, ast.FunctionDef):
            return cls(lines, range(0), range(0), range(len(lines)))
        first = function.body[0]
        has_doc = ast.get_docstring(function, clean=False) is not None
        head_end = first.lineno - 1
        doc_end = (first.end_lineno or first.lineno) if has_doc else head_end
        return cls(lines, range(head_end), range(head_end, doc_end), range(doc_end, len(lines)))

    def signature(self) -> str:
        """The head without its name and line breaks."""
        head = " ".join(self.lines[place].strip() for place in self.head)
        return re.sub(r"\s+", "", re.sub(r"def \w+", "def", head, count=1)).replace(",)", ")")


def _beside(part: Part, faulty: range, correct: range, *, is_changed: bool) -> Iterator[CodeRow]:
    for wrong, right in zip_longest(faulty, correct):
        yield CodeRow(part, wrong, right, is_changed)


def _body_rows(wrong: _Parts, right: _Parts) -> Iterator[CodeRow]:
    matcher = difflib.SequenceMatcher(
        None,
        [wrong.lines[place] for place in wrong.body],
        [right.lines[place] for place in right.body],
        autojunk=False,
    )
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        yield from _beside("body", wrong.body[i1:i2], right.body[j1:j2], is_changed=tag != "equal")
