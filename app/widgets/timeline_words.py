"""A step of the timeline in words: the lines of its tip, and the cells of its table."""

from collections.abc import Callable, Iterator

from core.readouts.timeline import TimelinePoint


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _open(point: TimelinePoint, otherwise: str) -> str:
    return "pending" if point.is_pending else otherwise


TABLE_COLUMNS: dict[str, Callable[[TimelinePoint], str]] = {
    "phase": lambda point: point.phase.replace("_", " "),
    "outcome": lambda point: point.outcome,
    "length": lambda point: "" if point.length is None else str(point.length),
    "policy": lambda point: point.policy or _open(point, "not judged"),
    "mechanism": lambda point: point.mechanism or _open(point, "not judged"),
    "logits": lambda point: point.logits or _open(point, "none"),
    "largest error": lambda point: (
        _number(point.max_abs_error) if point.is_finite else "not finite"
    ),
    "right up to": lambda point: _number(point.band),
    "wrong above": lambda point: _number(point.wrong_above),
    "first difference": lambda point: point.difference or "",
}


def tip_of(point: TimelinePoint, capacity: int | None) -> Iterator[str]:
    """Its numbers in full, line by line."""
    yield f"step {point.step} · {point.phase.replace('_', ' ')} · {point.outcome}"
    if point.length is not None:
        yield f"cache length {point.length}" + ("" if capacity is None else f" of {capacity}")
    if point.is_pending:
        yield "verdict pending"
        return
    if point.policy is not None:
        yield f"policy {point.policy} · mechanism {point.mechanism}"
    if point.logits is not None:
        yield f"logits {point.logits}"
        yield f"largest error {point.max_abs_error!r}" if point.is_finite else "not finite"
        yield f"right up to {point.band!r}, wrong above {point.wrong_above!r}"
    if point.difference is not None:
        yield f"first difference: {point.difference}"
