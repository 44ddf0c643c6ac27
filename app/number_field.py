"""A field for a number, in which whatever is typed stays as it was typed."""

import math
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QAbstractSpinBox, QWidget

Number = int | float
_STEPS = QAbstractSpinBox.StepEnabledFlag


@dataclass(frozen=True, slots=True)
class NumberKind:
    """What a field holds.

    Attributes:
        name: how the field is called in a message.
        least: where the arrows stop; what lies below is for the engine to refuse.
        step: what an arrow adds; a whole number where the field holds whole numbers.
        word: what may stand there in place of a number; None: nothing may.
        word_is: the number that the word stands for; None: that there is none.
    """

    name: str
    least: int = 0
    step: Number = 1
    word: str | None = None
    word_is: Number | None = None

    @property
    def wanted(self) -> str:
        """What would do, in words."""
        kind = "a whole number" if isinstance(self.step, int) else "a number"
        number = f"{kind} of at least {self.least}"
        return number if self.word is None else f"{number}, or {self.word}"

    def read(self, text: str) -> Number | None:
        """The number that a text stands for.

        Raises:
            ValueError: it stands for none.
        """
        text = text.strip()
        if self.word is not None and text.lower() == self.word:
            return self.word_is
        number = int(text) if isinstance(self.step, int) else float(text)
        if not math.isfinite(number):
            raise ValueError(text)
        return number

    def words(self, number: Number | None) -> str:
        """The text that stands for a number, with all its digits."""
        if self.word is not None and number == self.word_is:
            return self.word
        return f"{number:.15g}" if isinstance(number, float) else str(number)


class NumberField(QAbstractSpinBox):
    """A line with two arrows. It corrects nothing: `problem` says what is wrong with the text."""

    changed = Signal()

    def __init__(self, kind: NumberKind, parent: QWidget | None = None) -> None:
        """Holds the least number, or the word that may stand in its place."""
        super().__init__(parent)
        self._kind = kind
        line = self.lineEdit()
        line.setText(kind.words(kind.least if kind.word is None else kind.word_is))
        line.textChanged.connect(self._tell)

    @property
    def problem(self) -> str | None:
        """Why the text stands for no number, and what would do; None: it stands for one."""
        try:
            self._kind.read(self.text())
        except ValueError:
            said = f"‘{self.text()}’" if self.text().strip() else "empty"
            return f"{self._kind.name} is {said}; give {self._kind.wanted}"
        return None

    @property
    def number(self) -> Number | None:
        """What the text stands for, above and below all limits too; None: the word, or nothing."""
        return None if self.problem is not None else self._kind.read(self.text())

    def set_number(self, number: Number | None) -> None:
        """Show a number; a text that stands for it already stays as it is."""
        if self.problem is not None or self.number != number:
            self.lineEdit().setText(self._kind.words(number))

    def stepBy(self, steps: int) -> None:  # noqa: N802  (a name of Qt)
        """Up, or down as far as there is anything below; a text that is no number stays."""
        if self.problem is not None:
            return
        kind, number = self._kind, self.number
        below = kind.least - kind.step if kind.word is not None else kind.least
        number = below if number is None else number
        larger = round(number + steps * kind.step, 12)
        is_word = kind.word is not None and larger < kind.least
        self.set_number(kind.word_is if is_word else max(kind.least, larger))
        self.selectAll()

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:  # noqa: N802  (a name of Qt)
        """Down ends at the least number, or at the word below it."""
        if self.problem is not None:
            return _STEPS.StepNone
        number, kind = self.number, self._kind
        is_word = kind.word is not None and number == kind.word_is
        is_least = is_word or (kind.word is None and number is not None and number <= kind.least)
        return _STEPS.StepUpEnabled if is_least else _STEPS.StepUpEnabled | _STEPS.StepDownEnabled

    def _tell(self) -> None:
        self.changed.emit()
