"""A step of the timeline in words: the lines of its tip, and the cells of its table."""

from collections.abc import Callable, Iterator

from core.readouts.timeline import TimelinePoint


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


TABLE_COLUMNS: dict[str, Callable[[TimelinePoint], str]] = {
    "phase": lambda point: point.phase.replace("_", " "),
    "outcome": lambda point: point.outcome,
    "length": lambda point: str(point.length),
    "policy": lambda point: point.policy or "pending",
    "mechanism": lambda point: point.mechanism or "pending",
    "logits": lambda point: point.logits or ("pending" if point.is_pending else "none"),
    "largest error": lambda point: (
        _number(point.max_abs_error) if point.is_finite else "not finite"
    ),
    "right up to": lambda point: _number(point.band),
    "wrong above": lambda point: _number(point.wrong_above),
    "first difference": lambda point: point.difference or "",
}


def tip_of(point: TimelinePoint, capacity: int) -> Iterator[str]:
    """Its numbers in full, line by line."""
    yield f"step {point.step} · {point.phase.replace('_', ' ')} · {point.outcome}"
    yield f"cache length {point.length} of {capacity}"
    if point.is_pending:
        yield "verdict pending"
        return
    yield f"policy {point.policy} · mechanism {point.mechanism}"
    if point.logits is not None:
        yield f"logits {point.logits}"
        yield f"largest error {point.max_abs_error!r}" if point.is_finite else "not finite"
        yield f"right up to {point.band!r}, wrong above {point.wrong_above!r}"
    if point.difference is not None:
        yield f"first difference: {point.difference}"
