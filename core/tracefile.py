"""The file of a run, `.kvtrace`: numbers as safetensors, all else as one JSON in its metadata.

A *small* file holds the spec and a digest of each step; to see the run, it is made again
(`core.trace_rerun`). A *full* file holds every array of every step, and the verdicts; it opens
without torch and without running anything. Both are data only, and are checked when read.

    {"schema", "spec", "requests", "runs": [{"model", "end", "token_ids", "digests", "top_logits",
     "steps", "verdicts"}], "marks", "breakpoints", "notes", "versions"}

The last two of a run are null in a small file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from core.errors import ForeignTraceError, TraceError
from core.record import StepRecord
from core.spec import RunSpec
from core.trace import EndReason, ModelInfo, Trace
from core.trace_columns import ColumnReader, ColumnWriter
from core.trace_container import read_container, write_container
from core.trace_json import from_json, to_json
from core.trace_steps import read_step, write_step
from core.trace_verdicts import read_verdict, write_verdict
from core.trace_versions import Versions, versions_here
from core.verdict import StepVerdict
from resources import resource_path

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Notes:
    """What a person added to a run.

    Attributes:
        marks: steps.
        breakpoints: steps before which playing stops.
        notes: free text.
    """

    marks: tuple[int, ...] = ()
    breakpoints: tuple[int, ...] = ()
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What every file says of its run, so that a second run can be checked.

    Attributes:
        model: the model.
        end: why the run was over; None: it could go on.
        token_ids: per step, the tokens read or offered.
        digests: per step, of its record.
        top_logits: per step, the largest logit; None where nothing was computed.
    """

    model: ModelInfo
    end: EndReason | None
    token_ids: tuple[tuple[int, ...], ...]
    digests: tuple[str, ...]
    top_logits: tuple[float | None, ...]

    def __post_init__(self) -> None:
        """Raise TraceError unless the lists belong to the same steps."""
        n_steps = {len(self.token_ids), len(self.digests), len(self.top_logits)}
        if len(n_steps) != 1:
            raise TraceError(f"its lists belong to {sorted(n_steps)} steps; they must agree")


@dataclass(frozen=True, slots=True, eq=False)
class OpenedTrace:
    """A trace file.

    Attributes:
        spec: what decides the run.
        recorded: what every file says of it.
        versions: where it was made.
        notes: what a person added.
        trace: the run; None in a small file.
        verdicts: of its first steps, in order; there may be fewer than steps.
    """

    spec: RunSpec
    recorded: Recorded
    versions: Versions
    notes: Notes
    trace: Trace | None
    verdicts: tuple[StepVerdict, ...]


@dataclass(frozen=True, slots=True)
class _Document:
    """The JSON of a file, with the parts that are read later left as they are."""

    spec: dict[str, object]
    run: dict[str, object]
    steps: list[object] | None
    verdicts: list[object] | None
    versions: object
    notes: object


def save_trace(
    path: Path,
    trace: Trace,
    *,
    full: bool,
    verdicts: Sequence[StepVerdict] = (),
    notes: Notes | None = None,
    versions: Versions | None = None,
) -> None:
    """Write a run to a file, which appears whole or not at all.

    Args:
        path: the file.
        trace: the run.
        full: with all arrays and the verdicts; else with digests only.
        verdicts: of its first steps, in order.
        notes: what a person added.
        versions: where the run was made; None: here.

    Raises:
        TraceError: it cannot be written.
    """
    columns = ColumnWriter()
    config = trace.model.config
    run = {**to_json(_recorded(trace)), "steps": None, "verdicts": None}
    if full:
        run["steps"] = [write_step(record, config, columns) for record in trace.records]
        run["verdicts"] = [write_verdict(verdict, columns) for verdict in verdicts]
    spec = to_json(trace.spec)
    document = {
        "schema": SCHEMA,
        "requests": spec.pop("requests"),
        "spec": spec,
        "runs": [run],
        **to_json(notes or Notes()),
        "versions": to_json(versions or versions_here(trace.spec.device)),
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    write_container(path, text, columns.columns())


def open_trace(path: Path) -> OpenedTrace:
    """Read and check a file; nothing is run.

    Raises:
        ForeignTraceError: it is a trace of another engine (`core.foreign` reads it).
        TraceError: it is no trace, or it is damaged; one line that says what is wrong.
    """
    try:
        text, columns = read_container(path)
        return _opened(_document(text), columns)
    except ForeignTraceError as error:
        raise ForeignTraceError(f"{path}: {error}") from None
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


def top_logit(record: StepRecord) -> float | None:
    """The largest logit of a step; None where nothing was computed."""
    return None if record.logits is None else float(record.logits.max())


def _recorded(trace: Trace) -> Recorded:
    model = trace.model
    if model.path is not None:
        folder = Path(model.path).absolute()
        # One that ships with the program is known by its name, wherever it lies.
        is_shipped = folder.parent == Path(resource_path("models"))
        model = replace(model, path=None if is_shipped else str(folder))
    return Recorded(
        model=model,
        end=trace.end,
        token_ids=tuple(record.token_ids for record in trace.records),
        digests=tuple(trace.digests()),
        top_logits=tuple(top_logit(record) for record in trace.records),
    )


def _document(text: str) -> _Document:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"its description is no JSON ({error})") from error
    document = _object(value, "its description")
    schema = document.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        raise TraceError(f"its schema is {schema!r:.40}; this version of kvscope reads {SCHEMA}")
    runs = _list(document.pop("runs", None), "runs") or []
    if len(runs) != 1:
        raise TraceError(f"it holds {len(runs)} runs; it must be one")
    run = _object(runs[0], "its run")
    spec = _object(document.pop("spec", None), "its spec")
    return _Document(
        spec={**spec, "requests": document.pop("requests", None)},
        steps=_list(run.pop("steps", None), "steps"),
        verdicts=_list(run.pop("verdicts", None), "verdicts"),
        run=run,
        versions=document.pop("versions", None),
        notes=document,
    )


def _opened(document: _Document, columns: Mapping[str, np.ndarray]) -> OpenedTrace:
    spec = from_json(RunSpec, document.spec, "spec")
    recorded = from_json(Recorded, document.run, "run")
    reader = ColumnReader(columns)
    trace = None
    if document.steps is not None:
        trace = _trace(spec, recorded, document.steps, reader)
    verdicts = document.verdicts or []
    if len(verdicts) > len(recorded.digests):
        raise TraceError(f"it has {len(verdicts)} verdicts on {len(recorded.digests)} steps")
    opened = OpenedTrace(
        spec=spec,
        recorded=recorded,
        versions=from_json(Versions, document.versions, "versions"),
        notes=from_json(Notes, document.notes, "notes"),
        trace=trace,
        verdicts=tuple(read_verdict(step, value, reader) for step, value in enumerate(verdicts)),
    )
    reader.finish()
    return opened


def _trace(
    spec: RunSpec, recorded: Recorded, steps: Sequence[object], reader: ColumnReader
) -> Trace:
    config = recorded.model.config
    records = [read_step(step, value, config, reader) for step, value in enumerate(steps)]
    trace = Trace(spec, recorded.model, records, recorded.end)
    if (
        tuple(trace.digests()) != recorded.digests
        or tuple(record.token_ids for record in records) != recorded.token_ids
    ):
        raise TraceError("the digests of its steps are not those of its numbers")
    return trace


def _object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TraceError(f"{what} is {value!r:.40}, not an object")
    return dict(cast("dict[str, object]", value))


def _list(value: object, what: str) -> list[object] | None:
    if value is not None and not isinstance(value, list):
        raise TraceError(f"{what} is {value!r:.40}, not a list")
    return cast("list[object] | None", value)
