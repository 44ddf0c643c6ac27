"""Columns as wide as their tokens: only those that somebody looks at are measured."""

import math
from collections.abc import Callable, Iterable

from PySide6.QtGui import QFontMetricsF

from app.theme import Theme

_PAD_PX, _LEAST_PX, _MOST_PX = 8, 18, 120
Place = tuple[int, float, float]
"""Column, left edge, width."""


class TokenColumns:
    """Where the columns of a text stand.

    Attributes:
        n_columns: how many there are.
    """

    def __init__(self, theme: Theme) -> None:
        """Without a text."""
        self._metrics = QFontMetricsF(theme.mono())
        self._pad, self._least, self._most = map(theme.px, (_PAD_PX, _LEAST_PX, _MOST_PX))
        self._text_px: dict[str, float] = {}
        self._widths: dict[int, float] = {}
        self._texts: Callable[[int], Iterable[str]] = lambda column: ()
        self.n_columns = 0

    def take(self, n_columns: int, texts: Callable[[int], Iterable[str]]) -> None:
        """Take another text: how many columns, and all that stands in each."""
        self.n_columns, self._texts, self._widths = n_columns, texts, {}

    def width_of(self, column: int) -> float:
        """Wide enough for its texts and its number."""
        if column not in self._widths:
            texts = [str(column), *self._texts(column)]
            # Whole pixels: each column is drawn as a picture of its own.
            needed = math.ceil(max(map(self.advance, texts)) + self._pad)
            self._widths[column] = min(self._most, max(self._least, needed))
        return self._widths[column]

    def advance(self, text: str) -> float:
        """Width of a text."""
        if text not in self._text_px:
            self._text_px[text] = self._metrics.horizontalAdvance(text)
        return self._text_px[text]

    def first_before(self, last: int, room_px: float) -> int:
        """The first column in sight where `last` is the last one."""
        free = room_px
        for column in range(last, -1, -1):
            free -= self.width_of(column)
            if free < 0:
                return min(column + 1, last)
        return 0

    def shown(self, first: int, left_px: float, right_px: float) -> list[Place]:
        """What is in sight between two edges, from a column on."""
        places: list[Place] = []
        left = left_px
        for column in range(first, self.n_columns):
            width = self.width_of(column)
            if left + width > right_px:
                break
            places.append((column, left, width))
            left += width
        return places
