"""Lines of code as they are shown: with a sign, a mark, and broken where the room ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from app.widgets.python_style import Span, styled_lines
from core.readouts.code import CodeSection
from core.readouts.code_diff import CodeRow, Part, Side, UnifiedLine, unified

Mark = Literal["none", "wrong", "right"]
Folds = Literal["nothing", "docs", "unchanged", "name"]
"""Nothing; docstrings but for their first lines; all but the name and what differs; that too."""
SIGNS: dict[Side, str] = {"faulty": "−", "correct": "+"}
MARKS: dict[Side, Mark] = {"faulty": "wrong", "correct": "right"}
FOLD = " …"
FOLDED_CODE = "    …"
FOLDED_DOCS = '    """ … """'
_HANG, _SHORT_HANG = 4, 2
_BREAK_AFTER = " ,(["


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of letters.

    Attributes:
        spans: its letters.
        sign: whose line it is, where the functions differ; empty: of both.
        mark: "wrong" for changed lines of the faulty function, "right" for those of the other.
        goes_on: whether it goes on with the line before, which had no room for all.
    """

    spans: tuple[Span, ...]
    sign: str = ""
    mark: Mark = "none"
    goes_on: bool = False

    @property
    def text(self) -> str:
        """Its letters without their voices."""
        return "".join(span.text for span in self.spans)


def below_each_other(
    section: CodeSection, n_columns: int, *, folds: Folds
) -> tuple[ShownLine, ...]:
    """Both functions in one column, under the names of their files."""
    is_short = folds in ("unchanged", "name") and section.faulty is not None
    titles = [] if is_short else [_title(section, side) for side in ("faulty", "correct")]
    lines = [line for line in titles if line is not None]
    if section.faulty is None:
        lines = [replace(line, sign="") for line in lines]
    code = unified(section.rows)
    for (part, is_changed), run in groupby(code, key=lambda line: (line.part, line.is_changed)):
        together = [_unified_line(section, line) for line in run]
        if is_short and not is_changed:
            has_name = folds == "unchanged"
            lines += _shortened(together, part, n_columns) if has_name or part == "body" else []
        else:
            lines += _folded(together) if part == "doc" and folds != "nothing" else together
    if section.faulty is None:
        lines = [replace(line, sign="") for line in lines]
    hang = _SHORT_HANG if is_short else _HANG
    return tuple(part for line in lines for part in broken(line, n_columns, hang))


def beside_each_other(
    section: CodeSection, n_columns: int, *, folds: Folds
) -> tuple[tuple[ShownLine, ...], tuple[ShownLine, ...]]:
    """The faulty and the correct function as two columns of as many lines."""
    sides: tuple[list[ShownLine], list[ShownLine]] = ([], [])
    rows = [(_title(section, "faulty"), _title(section, "correct"))]
    for part, run in groupby(section.rows, key=lambda row: row.part):
        together = list(run)
        if part == "doc" and folds != "nothing":
            rows += _folded_pairs(section, together)
        else:
            rows += [_pair(section, row) for row in together]
    for pair in rows:
        parts = [[] if line is None else list(broken(line, n_columns)) for line in pair]
        n_lines = max(map(len, parts))
        for side, given in zip(sides, parts, strict=True):
            side += [*given, *[ShownLine(())] * (n_lines - len(given))]
    return tuple(sides[0]), tuple(sides[1])


def broken(line: ShownLine, n_columns: int, hang: int = _HANG) -> Iterator[ShownLine]:
    """The line in parts that are no longer than asked; later parts stand further in."""
    text = line.text
    indent = len(text) - len(text.lstrip()) + hang
    n_columns = max(n_columns, _HANG * 4)
    if indent > n_columns // 2:
        indent = hang
    start, room = 0, n_columns
    while True:
        stop = _break_at(text, start, room)
        spans = _cut(line.spans, start, stop)
        if start:
            spans = (Span(" " * indent), *spans)
        yield replace(line, spans=spans, goes_on=start > 0)
        if stop >= len(text):
            return
        start, room = stop, n_columns - indent


def _break_at(text: str, start: int, room: int) -> int:
    if len(text) - start <= room:
        return len(text)
    places = range(start + room, start + room // 2, -1)
    stop = next((place for place in places if text[place - 1] in _BREAK_AFTER), start + room)
    # A blank there stays with the part before it: what comes after begins with its own indent.
    return stop + 1 if text[stop] == " " else stop


def _cut(spans: Sequence[Span], start: int, stop: int) -> tuple[Span, ...]:
    parts: list[Span] = []
    at = 0
    for span in spans:
        part = span.text[max(0, start - at) : max(0, stop - at)]
        if part:
            parts.append(replace(span, text=part))
        at += len(span.text)
    return tuple(parts)


def _title(section: CodeSection, side: Side) -> ShownLine | None:
    """Where a function stands."""
    source = section.faulty if side == "faulty" else section.correct
    if source is None:
        return None
    place = f"{source.file}:{source.line}" if source.file else source.name
    what = "runs: " if side == "faulty" else "right: " if section.faulty else ""
    return ShownLine((Span(what + place, "faint"),), SIGNS[side])


def _line_of(section: CodeSection, side: Side, place: int) -> tuple[Span, ...]:
    source = section.faulty if side == "faulty" else section.correct
    return styled_lines(source.text)[place] if source is not None else ()


def _unified_line(section: CodeSection, line: UnifiedLine) -> ShownLine:
    return ShownLine(
        _line_of(section, line.side, line.place),
        "" if line.is_shared else SIGNS[line.side],
        MARKS[line.side] if line.is_changed else "none",
    )


def _pair(section: CodeSection, row: CodeRow) -> tuple[ShownLine | None, ShownLine | None]:
    def shown(side: Side, place: int | None) -> ShownLine | None:
        if place is None:
            return None
        sign, mark = (SIGNS[side], MARKS[side]) if row.is_changed else ("", "none")
        return ShownLine(_line_of(section, side, place), sign, mark)

    return shown("faulty", row.faulty), shown("correct", row.correct)


def _folded(lines: Sequence[ShownLine]) -> list[ShownLine]:
    """The first of several lines, with a sign that more follow; of two docstrings, the sign."""
    signs = {line.sign for line in lines}
    if len(lines) < 2:
        return list(lines)
    if len(signs) > 1:
        return [ShownLine((Span(FOLDED_DOCS, "faint"),))]
    return [replace(lines[0], spans=(*lines[0].spans, Span(FOLD, "faint")))]


def _shortened(lines: Sequence[ShownLine], part: Part, n_columns: int) -> list[ShownLine]:
    """Of lines that do not differ: the name of the function, and a sign where others stood."""
    if part == "doc":
        return []
    if sum(1 for line in lines for _ in broken(line, n_columns)) == 1:
        return list(lines)
    if part == "body":
        return [ShownLine((Span(FOLDED_CODE, "faint"),))]
    n_letters = len(lines[0].text.partition("(")[0])
    return [replace(lines[0], spans=(*_cut(lines[0].spans, 0, n_letters), Span("(…)", "faint")))]


def _folded_pairs(
    section: CodeSection, rows: Sequence[CodeRow]
) -> list[tuple[ShownLine | None, ShownLine | None]]:
    pairs = [_pair(section, row) for row in rows]
    firsts: list[ShownLine | None] = []
    for side in zip(*pairs, strict=True):
        lines = _folded([line for line in side if line is not None])
        firsts.append(lines[0] if lines else None)
    return [(firsts[0], firsts[1])]
