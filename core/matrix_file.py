"""Finished cells in a file, one JSON a line, so that a measurement can be taken up again."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

from core.errors import TraceError
from core.matrix import Cell, Task

SCHEMA = 1


def line_of(cell: Cell) -> str:
    """A cell as JSON; numbers that are not finite are the strings "nan" and "inf"."""
    values = {"kind": "cell", **asdict(cell)}
    if not math.isfinite(cell.largest_error):
        values["largest_error"] = str(cell.largest_error)
    return json.dumps(values, allow_nan=False)


def start_file(path: Path, tasks: Sequence[Task]) -> list[Cell]:
    """The cells that a file has already; it is begun where it is not there.

    A line that was cut off by an interruption is taken out.

    Raises:
        TraceError: it is no such file, or it was made with other prompts.
    """
    head = _head(tasks)
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read ({error})") from error
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    cells = _cells(path, lines, head)
    try:
        path.write_text("".join(lines) or f"{json.dumps(head)}\n", encoding="utf-8")
    except OSError as error:
        raise TraceError(f"{path}: cannot be written ({error})") from error
    return cells


def _head(tasks: Sequence[Task]) -> dict[str, object]:
    first = tasks[0]
    return {"kind": "matrix", "schema": SCHEMA, "prompts": first.n_prompts, "seed": first.seed}


def _cells(path: Path, lines: Sequence[str], head: dict[str, object]) -> list[Cell]:
    if not lines:
        return []
    values = [_object(path, number, line) for number, line in enumerate(lines, 1)]
    if values[0].get("kind") != "matrix":
        raise TraceError(f"{path}: is no file of a matrix; give --resume another name")
    for name, wanted in head.items():
        if values[0].get(name) != wanted:
            raise TraceError(
                f"{path}: was made with {name} {values[0].get(name)!r}, not {wanted!r}; give the "
                "same options, or --resume another name"
            )
    return [_cell(path, number, value) for number, value in enumerate(values[1:], 2)]


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value: object = json.loads(line)
    except ValueError as error:
        raise TraceError(f"{path}: line {number} is no JSON ({error})") from error
    if not isinstance(value, dict):
        raise TraceError(f"{path}: line {number} is no JSON object")
    return cast("dict[str, Any]", value)


def _cell(path: Path, number: int, value: dict[str, Any]) -> Cell:
    names = {part.name for part in fields(Cell)}
    if value.pop("kind", None) != "cell" or set(value) != names:
        raise TraceError(f"{path}: line {number} is no cell of a matrix")
    value["largest_error"] = float(value["largest_error"])
    return Cell(**value)
