"""Python text in three voices: plain, faint for what explains, bold for keywords."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Voice = Literal["plain", "faint", "bold"]


@dataclass(frozen=True, slots=True)
class Span:
    """Some letters of a line, in one voice."""

    text: str
    voice: Voice = "plain"


@cache
def styled_lines(source: str) -> tuple[tuple[Span, ...], ...]:
    """The lines of a Python text, read once as a whole, so that long strings stay strings."""
    voice_of = _voices()
    lines: list[list[Span]] = [[]]
    for kind, text in _tokens(source):
        voice = voice_of(kind)
        for i, part in enumerate(text.split("\n")):
            if i:
                lines.append([])
            if part:
                lines[-1].append(Span(part, voice))
    return tuple(tuple(line) for line in lines[: len(source.splitlines())])


def _tokens(source: str) -> list[tuple[Any, str]]:
    # Here, so that the first window need not wait for it.
    from pygments.lexers.python import PythonLexer

    return list(PythonLexer(stripnl=False).get_tokens(source))


def _voices() -> Callable[[Any], Voice]:
    from pygments.token import Comment, Keyword, Operator, String

    def voice_of(kind: Any) -> Voice:  # noqa: ANN401  (a token type of Pygments)
        if kind in Comment or kind in String.Doc:
            return "faint"
        return "bold" if kind in Keyword or kind in Operator.Word else "plain"

    return voice_of
