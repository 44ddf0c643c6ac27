"""Which part of the slots is looked at, and in which order: one for all views of a window."""

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal


@dataclass(frozen=True, slots=True)
class SlotPart:
    """What a person chose to see of the slots.

    Attributes:
        is_by_slot: whether they stand by slot; else by token.
        shows_all: whether all are shown, however narrow that makes them.
        first: the first column shown; None: wherever the newest slot is in sight.
        chosen: the slot that was looked at when `first` was chosen; None: none.
    """

    is_by_slot: bool = True
    shows_all: bool = False
    first: int | None = None
    chosen: int | None = None


class SlotScroll(QObject):
    """Holds the part, and tells when another one is chosen."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        """By slot, at the newest one."""
        super().__init__(parent)
        self._part = SlotPart()

    @property
    def part(self) -> SlotPart:
        """What is chosen."""
        return self._part

    def order_by_slot(self) -> None:
        """Slots from left to right."""
        self._take(replace(self._part, is_by_slot=True, first=None))

    def order_by_token(self) -> None:
        """Tokens from left to right."""
        self._take(replace(self._part, is_by_slot=False, first=None))

    def show_all(self) -> None:
        """Every slot, as narrow as it must be."""
        self._take(replace(self._part, shows_all=True, first=None))

    def show_part(self) -> None:
        """As many slots as have room for their numbers."""
        self._take(replace(self._part, shows_all=False, first=None))

    def go_to(self, first: int, chosen: int | None) -> None:
        """Show the slots from this column on, until another slot is looked at."""
        self._take(replace(self._part, first=first, chosen=chosen))

    def _take(self, part: SlotPart) -> None:
        if part != self._part:
            self._part = part
            self.changed.emit()
