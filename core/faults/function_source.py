"""The text of a function as it stands in its file. No seam is imported here."""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.spec import FaultFile

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function as it stands in its file.

    Attributes:
        name: its own name.
        text: its lines.
        file: its file, from the program's folder on; a foreign file by its name.
        line: number of its first line there.
    """

    name: str
    text: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class OwnCode:
    """What is shown of a fault that stands in a file of one's own.

    Attributes:
        id: of the fault.
        title: of the fault.
        seam: the decision that it takes wrongly.
        file: where it stands.
        source: its function, as the file had it when it was loaded.
    """

    id: str
    title: str
    seam: str
    file: FaultFile
    source: FunctionSource


@cache
def source_of(function: Callable[..., Any]) -> FunctionSource:
    """A function's text; where its file is not there, a line that says so."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        lines, line = inspect.getsourcelines(function)
        file = Path(inspect.getsourcefile(function) or "")
    except (OSError, TypeError):
        return FunctionSource(name, f"# the source of {name} is not there to be read", "", 0)
    shown = file.relative_to(_ROOT) if file.is_relative_to(_ROOT) else Path(file.name)
    return FunctionSource(name, textwrap.dedent("".join(lines)).rstrip(), shown.as_posix(), line)
