"""Python text in three voices: plain, faint for what explains, bold for keywords."""

import io
import keyword
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, repeat
from typing import Literal

Voice = Literal["plain", "faint", "bold"]
_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """Some letters of a line, in one voice."""

    text: str
    voice: Voice = "plain"


@cache
def styled_lines(source: str) -> tuple[tuple[Span, ...], ...]:
    """The lines of a Python text, read once as a whole, so that long strings stay strings.

    Where it stops being Python, the rest is plain.
    """
    lines = source.splitlines()
    voices: list[list[Voice]] = [["plain"] * len(line) for line in lines]
    for (first, start), (last, stop), voice in _voiced(source):
        for row in range(first - 1, last):
            left = start if row == first - 1 else 0
            right = stop if row == last - 1 else len(lines[row])
            voices[row][left:right] = repeat(voice, right - left)
    return tuple(_spans(line, of_line) for line, of_line in zip(lines, voices, strict=True))


def _spans(line: str, voices: list[Voice]) -> tuple[Span, ...]:
    """Letters of one voice that follow one another, together."""
    starts = [at for at in range(len(line)) if at == 0 or voices[at] != voices[at - 1]]
    places = pairwise([*starts, len(line)])
    return tuple(Span(line[start:stop], voices[start]) for start, stop in places)


def _voiced(source: str) -> Iterator[tuple[_Place, _Place, Voice]]:
    """Start, end (line from 1, letter from 0) and voice of every token that is not plain."""
    is_first = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT or (is_first and token.type == tokenize.STRING):
                yield token.start, token.end, "faint"
            elif token.type == tokenize.NAME and keyword.iskeyword(token.string):
                yield token.start, token.end, "bold"
            if token.type != tokenize.COMMENT:
                # A string that stands where a statement begins explains: it is a docstring.
                is_first = token.type in _LAYOUT and (is_first or token.type != tokenize.NL)
    except (tokenize.TokenError, SyntaxError):
        return
