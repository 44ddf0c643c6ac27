"""Where two runs first differ, in the order in which a step uses things."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from core.arrays import FloatArray
from core.compare import held_of, readable_of
from core.outcome import Ok, PositionLimit, Refused
from core.record import LayerRecord, StepRecord
from core.tolerance import field_band, gap, logits_band
from core.trace import Trace, rows_as_read

_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """The first difference of two runs.

    Attributes:
        step: where.
        layer: None for what is decided once per step.
        head: None where the difference belongs to no single head.
        field: one of `core.verdict.FIELDS`; before those, "model" (of another shape), "steps"
            (one run has fewer) or "token_ids" (other tokens, or another request).
        left: what the first run has, in a few words; a number's difference is in both.
        right: what the second run has.
    """

    step: int
    layer: int | None
    head: int | None
    field: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Band:
    """How far two numbers may be apart, as a share of the largest in their tensor (at least 1).

    Attributes:
        dtype: the coarser number type of the two runs.
        inside: for what a layer computes.
        logits: for logits.
    """

    dtype: str
    inside: float
    logits: float


def band_of(a: Trace, b: Trace) -> Band:
    """The band within which the numbers of two runs count as equal."""
    one = np.ones(1)
    dtype = max(a.spec.dtype, b.spec.dtype, key=lambda name: logits_band(name, one))
    return Band(dtype, field_band(dtype, one), logits_band(dtype, one))


def first_trace_difference(a: Trace, b: Trace) -> TraceDifference | None:
    """The first difference beyond the band; None: the runs are equal."""
    if (a.model.config.scheme, _sizes(a)) != (b.model.config.scheme, _sizes(b)):
        return TraceDifference(0, None, None, "model", _model_words(a), _model_words(b))
    dtype = band_of(a, b).dtype
    n_both = min(len(a.records), len(b.records))
    for step in range(n_both):
        for difference in _StepPair(a, b, step, dtype).differences():
            return difference
    if len(a.records) == len(b.records):
        return None
    left, right = (f"{len(trace.records)} steps" for trace in (a, b))
    return TraceDifference(n_both, None, None, "steps", left, right)


def _sizes(trace: Trace) -> tuple[int, ...]:
    config = trace.model.config
    return (
        config.n_layers,
        config.n_heads,
        config.n_kv_heads,
        config.d_head,
        config.d_model,
        config.vocab_size,
    )


def _model_words(trace: Trace) -> str:
    config = trace.model.config
    return (
        f"{trace.model.name} ({config.scheme}, {config.n_layers} layers, {config.n_heads} heads "
        f"on {config.n_kv_heads}, {config.vocab_size} tokens)"
    )


class _StepPair:
    """The same step of two runs; looks at one field after the other, lazily."""

    def __init__(self, a: Trace, b: Trace, step: int, dtype: str) -> None:
        self._a, self._b = a, b
        self._step = step
        self._dtype = dtype

    def differences(self) -> Iterator[TraceDifference]:
        """The fields that differ, in order."""
        a, b = self._a.records[self._step], self._b.records[self._step]
        for (field, left), (_, right) in zip(_decided(a), _decided(b), strict=True):
            if left != right:
                yield TraceDifference(self._step, None, None, field, *_words(left, right))
        for layer, (left, right) in enumerate(zip(a.layers, b.layers, strict=True)):
            yield from self._layer(layer, left, right)
        if a.logits is not None and b.logits is not None:
            band = max(logits_band(self._dtype, x) for x in (a.logits, b.logits))
            yield from self._numbers(None, "logits", a.logits, b.logits, band=band)
        for (name, left), (_, right) in zip(_held(a), _held(b), strict=True):
            if left != right:
                words = (f"{name} {words}" for words in _words(left, right))
                yield TraceDifference(self._step, None, None, "contents", *words)

    def _layer(self, layer: int, a: LayerRecord, b: LayerRecord) -> Iterator[TraceDifference]:
        read_a = rows_as_read(self._a.records, self._step, layer)
        read_b = rows_as_read(self._b.records, self._step, layer)
        for place, field in enumerate(("keys", "values")):
            yield from self._heads(layer, field, read_a[place], read_b[place])
        used = (_heads_first(a, read_a[0]), _heads_first(b, read_b[0]))
        yield from self._heads(layer, "rotated_keys", *used)
        seen_a, seen_b = _visible(a), _visible(b)
        if seen_a != seen_b:
            yield TraceDifference(self._step, layer, None, "visible", *_words(seen_a, seen_b))
        scores = [np.where(record.plan.mask, record.scores, 0) for record in (a, b)]
        yield from self._heads(layer, "scores", *scores)
        yield from self._heads(layer, "weights", a.weights, b.weights)
        yield from self._numbers(layer, "output", a.output, b.output)
        yield from self._numbers(layer, "residual", a.residual, b.residual)

    def _heads(
        self, layer: int, field: str, a: FloatArray, b: FloatArray
    ) -> Iterator[TraceDifference]:
        """A field whose first axis is heads."""
        yield from self._numbers(layer, field, a, b, has_heads=True)

    def _numbers(
        self,
        layer: int | None,
        field: str,
        a: FloatArray,
        b: FloatArray,
        *,
        has_heads: bool = False,
        band: float | None = None,
    ) -> Iterator[TraceDifference]:
        if a.shape != b.shape:
            left, right = (f"shape {list(array.shape)}" for array in (a, b))
            yield TraceDifference(self._step, layer, None, field, left, right)
            return
        if band is None:
            band = max(field_band(self._dtype, array) for array in (a, b))
        is_off = ~(gap(a.astype(np.float64), b.astype(np.float64)) <= band)
        if is_off.any():
            place = tuple(np.argwhere(is_off)[0].tolist())
            head = place[0] if has_heads else None
            left, right = (f"{array[place]:.6g} at {list(place)}" for array in (a, b))
            yield TraceDifference(self._step, layer, head, field, left, right)


def _decided(record: StepRecord) -> Iterator[tuple[str, object]]:
    """What is decided once per step, in order."""
    yield "token_ids", (record.phase, record.token_ids)
    yield "outcome", record.outcome
    yield "length", record.reported_length
    yield "seen", record.ledger.seen
    yield "position_ids", record.position_ids
    yield "slots", tuple(record.slots.tolist())
    yield "readable", readable_of(record)


def _held(record: StepRecord) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tokens held after the step, and the position ids of the same."""
    held = held_of(record)
    yield "tokens", tuple(token for token, _ in held)
    yield "position ids", tuple(number for _, number in held)


def _visible(layer: LayerRecord) -> tuple[tuple[int, ...], ...]:
    """For each computed token, the token indices whose rows its query saw."""
    return tuple(tuple(layer.row_token[row].tolist()) for row in layer.plan.mask)


def _heads_first(layer: LayerRecord, read_keys: FloatArray) -> FloatArray:
    """Keys as used, with the heads as first axis."""
    used = layer.used_keys
    if used is None:
        return read_keys
    return used if used.ndim == 3 else used.swapaxes(0, 1)


def _words(a: object, b: object) -> tuple[str, str]:
    """Two different values in a few words; of long lists, the first item that differs."""
    said_a, said_b = _said(a), _said(b)
    if max(len(said_a), len(said_b)) <= _LONGEST_SHOWN:
        return said_a, said_b
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return f"{said_a:.{_LONGEST_SHOWN}}…", f"{said_b:.{_LONGEST_SHOWN}}…"
    left, right = cast("tuple[object, ...]", a), cast("tuple[object, ...]", b)
    for item, other in zip(left, right, strict=False):
        if item != other:
            return _words(item, other)
    return f"{len(left)} of them", f"{len(right)} of them"


def _said(value: object) -> str:
    """A value as a person reads it."""
    match value:
        case Ok():
            return "accepted"
        case Refused(needed, free):
            return f"refused: needs {needed}, {free} free"
        case PositionLimit(n_ctx):
            return f"ended: the model has {n_ctx} positions"
        case None:
            return "none"
        case tuple():
            items = (_said(item) for item in cast("tuple[object, ...]", value))
            return f"[{' '.join(items)}]"
        case _:
            return str(value)
