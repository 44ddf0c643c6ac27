"""Where two traces first differ, at least one of them from elsewhere: tokens, then logits."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.arrays import as_ids
from core.errors import TraceError
from core.foreign.trace import ForeignTrace
from core.record import StepRecord
from core.tolerance import gap, wrong_floor
from core.trace import Trace
from core.trace_compare import TraceDifference

_PLAIN = ("prefill", "decode")


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a comparison.

    Attributes:
        difference: the first; its step is a call of the first trace. None: there is none.
        n_compared: texts after which both have logits, and these were compared.
        dtype: the coarser number type of the two.
        band: how far two logits may be apart, as a share of the largest (at least 1): what
            rounding in that type does.
    """

    difference: TraceDifference | None
    n_compared: int
    dtype: str
    band: float


def as_foreign(trace: Trace) -> ForeignTrace:
    """What a run of our own is as tokens and logits: its steps that computed are the calls.

    Raises:
        TraceError: it has steps that are no reading of further tokens, or none that computed.
    """
    records = [record for record in trace.records if record.logits is not None]
    for record in trace.records:
        if record.phase not in _PLAIN or record.n_padding:
            what = "has padding" if record.n_padding else f"is a {record.phase}"
            raise TraceError(
                f"step {record.step} {what}; a trace from elsewhere knows only calls that read on, "
                "so the two cannot be compared"
            )
    if not records:
        raise TraceError("no step computed logits, so there is nothing to compare")
    return ForeignTrace(
        engine="kvscope",
        dtype=trace.spec.number_kind,
        token_ids=as_ids([token for record in records for token in record.token_ids]),
        n_tokens=as_ids([len(record.token_ids) for record in records]),
        logits=np.stack([_logits(record) for record in records]),
    )


def compare_foreign(a: ForeignTrace, b: ForeignTrace) -> Compared:
    """The first difference, call after call; a prompt may have been read in other chunks."""
    one = np.ones(1)
    dtype = max(a.dtype, b.dtype, key=lambda name: wrong_floor(name, one))
    compared: list[int] = []
    difference = next(_differences(a, b, dtype, compared), None)
    return Compared(difference, len(compared), dtype, wrong_floor(dtype, one))


def _differences(
    a: ForeignTrace, b: ForeignTrace, dtype: str, compared: list[int]
) -> Iterator[TraceDifference]:
    """In order; `compared` gets the lengths of the texts after which logits were compared."""
    widths = [x.logits.shape[1] for x in (a, b)]
    if widths[0] != widths[1]:
        yield _difference(0, "model", *(f"{width} token ids" for width in widths))
        return
    calls_of_b = {end: call for call, end in enumerate(b.ends)}
    text_a, text_b = a.token_ids.tolist(), b.token_ids.tolist()
    start = 0
    for call, end in enumerate(a.ends):
        for token in range(start, min(end, len(text_b))):
            if text_a[token] != text_b[token]:
                sides = (f"token {token} is {text[token]}" for text in (text_a, text_b))
                yield _difference(call, "token_ids", *sides)
        start = end
        if end in calls_of_b:
            compared.append(end)
            yield from _of_logits(a, b, (call, calls_of_b[end]), dtype)
    if len(text_a) != len(text_b):
        call = min(int(np.searchsorted(a.ends, len(text_b), side="right")), a.n_calls)
        yield _difference(call, "steps", *(f"{len(text)} tokens" for text in (text_a, text_b)))


def _of_logits(
    a: ForeignTrace, b: ForeignTrace, calls: tuple[int, int], dtype: str
) -> Iterator[TraceDifference]:
    left, right = a.logits[calls[0]], b.logits[calls[1]]
    band = max(wrong_floor(dtype, x) for x in (left, right))
    off = gap(left.astype(np.float64), right.astype(np.float64))
    if (off <= band).all():
        return
    place = int(np.nan_to_num(off, nan=np.inf).argmax())
    other = f" of its call {calls[1]}" if calls[0] != calls[1] else ""
    yield _difference(
        calls[0],
        "logits",
        f"{left[place]:.6g} for token id {place}, the largest difference",
        f"{right[place]:.6g}{other}",
    )


def _difference(call: int, field: str, left: str, right: str) -> TraceDifference:
    return TraceDifference(call, None, None, field, left, right)


def _logits(record: StepRecord) -> np.ndarray:
    assert record.logits is not None  # noqa: S101  (only such steps are taken)
    return record.logits
