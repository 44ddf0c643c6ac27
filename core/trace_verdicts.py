"""Verdicts as JSON values and columns of numbers, and back."""

from typing import Any, cast

from core.arrays import as_ids
from core.errors import TraceError
from core.policy_oracle import Expected
from core.trace_columns import ColumnReader, ColumnWriter
from core.trace_json import fields_from_json, to_json
from core.verdict import LogitsVerdict, StepVerdict


def write_verdict(verdict: StepVerdict, columns: ColumnWriter) -> dict[str, Any]:
    """The verdict's JSON object; sets of tokens and the reference's logits go to the columns."""
    expected, logits = verdict.expected, verdict.logits
    for token_indices in expected.readable:
        columns.put("expected.readable", as_ids(token_indices), (len(token_indices),))
    live = as_ids(expected.live).reshape(-1, 2)
    columns.put("expected.live", live, (len(expected.live), 2))
    if logits is not None:
        columns.put("reference", logits.reference, (len(logits.reference),))
    return {
        **to_json(verdict, ("step", "expected", "logits")),
        "expected": {
            **to_json(expected, ("readable", "live")),
            "n_readable": [len(token_indices) for token_indices in expected.readable],
            "n_live": len(expected.live),
        },
        "logits": None
        if logits is None
        else {**to_json(logits, ("reference",)), "n_logits": len(logits.reference)},
    }


def read_verdict(step: int, value: object, columns: ColumnReader) -> StepVerdict:
    """The verdict that `write_verdict` took apart.

    Raises:
        TraceError: the value is no verdict, or the columns do not hold what it says.
    """
    where = f"verdict {step}"
    given = _object(value)
    expected = _read_expected(given.pop("expected", None), where, columns)
    logits = given.pop("logits", None)
    return StepVerdict(
        step=step,
        expected=expected,
        logits=None if logits is None else _read_logits(logits, where, columns),
        **fields_from_json(StepVerdict, given, where, ("step", "expected", "logits")),
    )


def _read_expected(value: object, where: str, columns: ColumnReader) -> Expected:
    given = _object(value)
    sizes = given.pop("n_readable", None)
    n_readable = cast("list[object]", sizes) if isinstance(sizes, list) else [None]
    readable = tuple(
        tuple(columns.integers("expected.readable", (_size(n, where),)).tolist())
        for n in n_readable
    )
    n_live = _size(given.pop("n_live", None), where)
    live = columns.integers("expected.live", (n_live, 2)).tolist()
    return Expected(
        readable=readable,
        live=tuple((token_index, position_id) for token_index, position_id in live),
        **fields_from_json(Expected, given, f"{where}: expected", ("readable", "live")),
    )


def _read_logits(value: object, where: str, columns: ColumnReader) -> LogitsVerdict:
    given = _object(value)
    reference = columns.floats("reference", (_size(given.pop("n_logits", None), where),))
    fields = fields_from_json(LogitsVerdict, given, f"{where}: logits", ("reference",))
    return LogitsVerdict(reference=reference, **fields)


def _object(value: object) -> dict[str, object]:
    return dict(cast("dict[str, object]", value)) if isinstance(value, dict) else {}


def _size(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TraceError(f"{where} says {value!r:.40} where a size belongs")
    return value
