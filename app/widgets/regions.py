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
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    blocks: list[tuple[int, int, int, int]] = []
    is_other = (is_it[1:] != is_it[:-1]).any(axis=1)
    tops = [0, *(np.flatnonzero(is_other) + 1).tolist(), len(is_it)]
    for block, first, stop in zip(*runs(is_it[tops[:-1]]), strict=True):
        row, end = tops[block], tops[block + 1]  # rows that are all alike
        top, bottom = spans.get((first, stop), (row, row))
        if bottom < row:
            blocks.append((first, stop, top, bottom))
            top = row
        spans[first, stop] = (top, end)
    blocks += [(*columns, *rows) for columns, rows in spans.items()]
    wide, high = place.width() / is_it.shape[1], place.height() / is_it.shape[0]
    edges = np.rint(
        np.array(blocks) * (wide, wide, high, high)
        + (place.left(), place.left(), place.top(), place.top())
    )
    return [
        QRectF(left, upper, right - left, lower - upper)
        for left, right, upper, lower in edges.tolist()
        if left < right and upper < lower
    ]
