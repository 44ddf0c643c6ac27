"""Numbers beside the code, written as the code writes them, each with what was expected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.arrays import ABSENT, BoolArray, known

Kind = Literal["argument", "answer", "effect"]
Numbers = Sequence[int | None]
_MOST_LISTED = 12
_HEAD = 3


@dataclass(frozen=True, slots=True)
class SeamValue:
    """A value beside the code.

    Attributes:
        kind: given to the seam, answered by it, or what came of the answer.
        name: its name in the code, or in the record.
        text: the value.
        full: the value without abbreviation.
        expected: what the oracles expect; None: they say nothing of it, or have not yet.
        is_wrong: whether it is not what is expected.
    """

    kind: Kind
    name: str
    text: str
    full: str
    expected: str | None = None
    is_wrong: bool = False


def number(kind: Kind, name: str, amount: int, expected: int | None = None) -> SeamValue:
    """A single number."""
    right = None if expected is None else str(expected)
    return SeamValue(kind, name, str(amount), str(amount), right, expected not in (None, amount))


def listed(kind: Kind, name: str, numbers: Numbers, expected: Numbers | None = None) -> SeamValue:
    """Several numbers, None for nothing; of two that look alike the first that differs."""
    full = list_text(numbers, most=None)
    if expected is None:
        return SeamValue(kind, name, list_text(numbers), full)
    is_wrong = tuple(numbers) != tuple(expected)
    text, right = list_text(numbers), list_text(expected)
    if is_wrong and text == right:  # they differ in what is left out
        text, right = _first_that_differs(numbers, expected)
    return SeamValue(kind, name, text, full, right, is_wrong)


def mask_row(place: int, used: BoolArray, right: BoolArray | None) -> SeamValue:
    """One row of a mask, 1 where it lets through."""
    name = f"mask[{place}]"
    bits = used.astype(np.int64).tolist()
    return listed("answer", name, bits, None if right is None else right.astype(np.int64).tolist())


def tokens_in(numbers: np.ndarray) -> list[int | None]:
    """The numbers of an array, None for ABSENT."""
    return [known(number) for number in numbers.tolist()]


def list_text(numbers: Numbers, most: int | None = _MOST_LISTED) -> str:
    """As a list; of a long one its beginning and its end."""
    shown = [_one(number) for number in numbers]
    if most is not None and len(shown) > most:
        shown = [*shown[:_HEAD], "…", *shown[-_HEAD:]]
    return f"[{', '.join(shown)}]"


def _first_that_differs(numbers: Numbers, expected: Numbers) -> tuple[str, str]:
    pairs = enumerate(zip(numbers, expected, strict=False))
    ends_first = min(len(numbers), len(expected))
    place = next((i for i, (number, other) in pairs if number != other), ends_first)
    shown = (_one(each[place]) if place < len(each) else "nothing" for each in (numbers, expected))
    text, right = (f"[{place}] = {number}" for number in shown)
    return text, right


def _one(number: int | None) -> str:
    return "–" if number in (None, ABSENT) else str(number)
