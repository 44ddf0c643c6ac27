"""Parts of a picture that are alike: as runs in its lines, and as rectangles."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

Flags = NDArray[np.bool_]


def runs(is_it: Flags) -> tuple[list[int], list[int], list[int]]:
    """Line, first place and end of each run of what is true in [lines, places]."""
    edged = np.zeros((len(is_it), is_it.shape[1] + 2), dtype=np.int8)
    edged[:, 1:-1] = is_it
    steps = edged[:, 1:] - edged[:, :-1]
    lines, firsts = np.nonzero(steps == 1)
    stops = np.nonzero(steps == -1)[1]
    return lines.tolist(), firsts.tolist(), stops.tolist()


def rectangles(is_it: Flags, place: QRectF) -> list[QRectF]:
    """What is true in [rows, columns], on a picture at `place`; equal runs of rows are one.

    Their edges are whole pixels: Qt fills those several times as fast.
    """
    if not is_it.any():
        return []
    wide, high = place.width() / is_it.shape[1], place.height() / is_it.shape[0]
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    found: list[QRectF] = []

    def put(first: int, stop: int, top: int, bottom: int) -> None:
        left, right = (round(place.left() + at * wide) for at in (first, stop))
        upper, lower = (round(place.top() + at * high) for at in (top, bottom))
        if left < right and upper < lower:
            found.append(QRectF(left, upper, right - left, lower - upper))

    is_other = (is_it[1:] != is_it[:-1]).any(axis=1)
    tops = [0, *(np.flatnonzero(is_other) + 1).tolist(), len(is_it)]
    for block, first, stop in zip(*runs(is_it[tops[:-1]]), strict=True):
        row, end = tops[block], tops[block + 1]  # rows that are all alike
        top, bottom = spans.get((first, stop), (row, row))
        if bottom < row:
            put(first, stop, top, bottom)
            top = row
        spans[first, stop] = (top, end)
    for (first, stop), (top, bottom) in spans.items():
        put(first, stop, top, bottom)
    return found
