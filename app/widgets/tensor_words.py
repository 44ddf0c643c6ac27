"""Numbers of a tensor in words: short in cells, in full where the mouse rests."""

from typing import Any

from core.readouts.tensor_sheet import TensorSheet


def short(value: Any) -> str:  # noqa: ANN401  (a number of any type)
    """Four significant digits."""
    return f"{float(value):.4g}".replace("-", "−")


def entry_words(sheet: TensorSheet, row: int, column: int) -> str:
    """An entry with its number, and what its row and column stand for, one line each."""
    lines = [f"{sheet.name(row, column)} = {sheet.exact(row, column)}"]
    lines += [axis.label(place) for axis, place in ((sheet.rows, row), (sheet.columns, column))]
    return "\n".join(lines)


def statistics(sheet: TensorSheet) -> str:
    """Least and largest number, and how many are not finite; of a mask, what it lets through."""
    if sheet.kind == "mask":
        return f"{int(sheet.values.sum())} of {sheet.values.size} seen"
    if sheet.least is None or sheet.most is None:
        numbers = "no finite number"
    else:
        numbers = f"min {short(sheet.least)}, max {short(sheet.most)}"
    return f"{numbers}, {sheet.n_not_finite} NaN or infinite" if sheet.n_not_finite else numbers
