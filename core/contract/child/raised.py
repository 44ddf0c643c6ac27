"""What an exception of the user's code says: its kind, its line, and whether it was meant."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import dis
import sysconfig
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

CONTRACT = str(Path(__file__).resolve().parents[1])
STDLIB = sysconfig.get_paths()["stdlib"]
RAISING = ("RAISE_VARARGS", "RERAISE")
CODE_ERRORS = (
    AttributeError,
    KeyError,
    NameError,
    RecursionError,
    SystemExit,
    TypeError,
    ZeroDivisionError,
)
"""What Python raises of itself where code is wrong; no library refuses rows that fit by one."""

CONTAINER_WORDS = ("pop from", "list index", "tuple index", "string index", "deque index")
"""How an IndexError begins that is of a container of Python, not of an array that is full."""


def said(error: BaseException) -> dict[str, Any]:
    """As an answer: kind and message, the line, and whether it is a mistake of the code."""
    message = " ".join(str(error).split())[:300]
    return {
        "raised": [type(error).__name__, message],
        "where": line_of(error),
        "is_mistake": is_mistake(error),
    }


def words(error: BaseException) -> str:
    """In a sentence."""
    if isinstance(error, SystemExit):
        found = f"calls sys.exit({error.code!r})"
    else:
        message = " ".join(str(error).split())[:300]
        found = f"raised {type(error).__name__}: {message}".removesuffix(": ")
    where = line_of(error)
    return f"{found} ({where})" if where else found


def line_of(error: BaseException) -> str:
    """The innermost line of the user's files; "": there is none."""
    found = ""
    for trace in _traces(error):
        frame = trace.tb_frame
        if _is_theirs(frame):
            code = frame.f_code
            function = "" if code.co_name.startswith("<") else f", in {code.co_name}()"
            found = f"{Path(code.co_filename).name}, line {trace.tb_lineno}{function}"
    return found


def is_mistake(error: BaseException) -> bool:
    """Whether Python itself raised it over code that is wrong; else somebody wrote `raise`."""
    traces = list(_traces(error))
    if traces and _raises(traces[-1]):
        return isinstance(error, SystemExit)
    if isinstance(error, IndexError):
        return str(error).startswith(CONTAINER_WORDS)
    return isinstance(error, CODE_ERRORS)


def _traces(error: BaseException) -> list[TracebackType]:
    found = []
    trace = error.__traceback__
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _raises(trace: TracebackType) -> bool:
    """Whether the instruction at which a frame was left is a `raise`."""
    at = trace.tb_lasti
    return any(
        one.offset == at and one.opname in RAISING
        for one in dis.get_instructions(trace.tb_frame.f_code)
    )


def _is_theirs(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not file.startswith((CONTRACT, STDLIB, "<")) and "site-packages" not in file
