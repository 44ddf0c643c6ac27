"""A measurement as a file, one JSON a line, which can be taken up again, and looked at.

The first line says how many prompts a cell has, a line for each model says which, and each other
line is a finished cell; what is not measured of it, or is 0, is left out. Data only. Imports no
torch.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import cast

from core.errors import TraceError
from core.matrix_cell import Cell, Prompt
from core.trace_json import from_json

SCHEMA = 4
_REQUIRED = {part.name for part in fields(Cell) if part.default is MISSING}
_DEFAULTS = {part.name: part.default for part in fields(Cell) if part.default is not MISSING}


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """What a file holds.

    Attributes:
        n_prompts: prompts a cell.
        seed: of the prompts.
        prompts: of each model, by name.
        cells: those that are finished, in the order of the file.
    """

    n_prompts: int
    seed: int
    prompts: Mapping[str, tuple[Prompt, ...]]
    cells: tuple[Cell, ...]

    def prompt_of(self, cell: Cell) -> Prompt:
        """The prompt with which a cell is looked at.

        Raises:
            TraceError: the file does not say it.
        """
        prompts = self.prompts.get(cell.model, ())
        if not 0 <= cell.prompt < len(prompts):
            raise TraceError(
                f"the file does not say prompt {cell.prompt} of {cell.model}, only {len(prompts)} "
                "prompts; make it anew with kvscope matrix --resume FILE"
            )
        return prompts[cell.prompt]


def line_of(cell: Cell) -> str:
    """A cell as JSON, with all its fields; numbers that are not finite are "nan" and "inf"."""
    values: dict[str, object] = {"kind": "cell", **asdict(cell)}
    if not math.isfinite(cell.largest_error):
        values["largest_error"] = str(cell.largest_error)
    return json.dumps(values, allow_nan=False)


def short_line_of(cell: Cell) -> str:
    """The same without the fields that have their default."""
    values: dict[str, object] = json.loads(line_of(cell))
    kept = {name: value for name, value in values.items() if value != _DEFAULTS.get(name, MISSING)}
    return json.dumps(kept, allow_nan=False)


def read_matrix(path: Path) -> MatrixFile:
    """What a file holds. A line that was cut off by an interruption is passed over.

    Raises:
        TraceError: it cannot be read, or is no such file.
    """
    return _parsed(path, _whole_lines(path))


def start_file(
    path: Path, n_prompts: int, seed: int, prompts: Mapping[str, tuple[Prompt, ...]]
) -> tuple[Cell, ...]:
    """The cells that a file has already; it is begun where it is not there.

    A line that was cut off by an interruption is taken out, prompts of further models are added.

    Raises:
        TraceError: it is no such file, or it was made with other prompts.
    """
    lines = _whole_lines(path) if path.exists() else []
    found = MatrixFile(n_prompts, seed, {}, ())
    if lines:
        found = _parsed(path, lines)
        _check_same(path, "prompts", found.n_prompts, n_prompts)
        _check_same(path, "seed", found.seed, seed)
    else:
        head = {"kind": "matrix", "schema": SCHEMA, "prompts": n_prompts, "seed": seed}
        lines = [f"{json.dumps(head)}\n"]
    lines += [
        _prompts_line(model, prompts[model]) for model in prompts if model not in found.prompts
    ]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise TraceError(f"{path}: cannot be written ({error})") from error
    return found.cells


def _whole_lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read ({error})") from error
    return lines[:-1] if lines and not lines[-1].endswith("\n") else lines


def _parsed(path: Path, lines: Sequence[str]) -> MatrixFile:
    values = [_object(path, number, line) for number, line in enumerate(lines, 1)]
    if not values or values[0].get("kind") != "matrix":
        raise TraceError(
            f"{path}: is no file of a matrix; give one that kvscope matrix --resume FILE wrote, or "
            "a new name"
        )
    _check_same(path, "schema", values[0].get("schema"), SCHEMA)
    prompts: dict[str, tuple[Prompt, ...]] = {}
    cells: list[Cell] = []
    for number, value in enumerate(values[1:], 2):
        if value.get("kind") == "prompts":
            prompts[str(value.get("model"))] = _prompts(value, f"{path}: line {number}")
        else:
            cells.append(_cell(value, f"{path}: line {number}"))
    n_prompts, seed = values[0].get("prompts"), values[0].get("seed")
    if not isinstance(n_prompts, int) or not isinstance(seed, int):
        raise TraceError(f"{path}: line 1 does not say how many prompts there are, and their seed")
    return MatrixFile(n_prompts, seed, prompts, tuple(cells))


def _check_same(path: Path, name: str, found: object, wanted: int) -> None:
    if found != wanted:
        raise TraceError(
            f"{path}: was made with {name} {found!r}, not {wanted!r}; give the same options, or "
            "another file name"
        )


def _object(path: Path, number: int, line: str) -> dict[str, object]:
    try:
        value: object = json.loads(line)
    except ValueError as error:
        raise TraceError(
            f"{path}: line {number} is no JSON ({error}); give a file that kvscope matrix --resume "
            "FILE wrote, or a new name"
        ) from error
    if not isinstance(value, dict):
        raise TraceError(f"{path}: line {number} is no JSON object")
    return cast("dict[str, object]", value)


def _prompts_line(model: str, prompts: Sequence[Prompt]) -> str:
    value = {"kind": "prompts", "model": model, "prompts": [asdict(prompt) for prompt in prompts]}
    return f"{json.dumps(value)}\n"


def _prompts(value: Mapping[str, object], where: str) -> tuple[Prompt, ...]:
    listed: object = value.get("prompts")
    if not isinstance(listed, list):
        raise TraceError(f"{where} has no list of prompts")
    items = cast("list[object]", listed)
    return tuple(from_json(Prompt, item, where) for item in items)


def _cell(value: Mapping[str, object], where: str) -> Cell:
    given = {name: item for name, item in value.items() if name != "kind"}
    is_cell = value.get("kind") == "cell" and given.keys() >= _REQUIRED
    if not is_cell or not given.keys() <= _REQUIRED | _DEFAULTS.keys():
        raise TraceError(f"{where} is no cell of a matrix")
    return from_json(Cell, {**_DEFAULTS, **given}, where)
