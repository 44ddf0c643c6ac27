"""What is told to a person in one line."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A way out that a notice offers."""

    label: str
    take: Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class Notice:
    """One line for the person, shown until the next one or until it is closed.

    Attributes:
        text: the line.
        details: the program's own account, for a report; None: the choice was at fault.
        offer: a way out.
        second_offer: another one.
        is_passing: whether it speaks of the steps there are, so that one more, or another run,
            makes it void.
        place: field of the form beside which it stands as well; None: it is about none.
    """

    text: str
    details: str | None = None
    offer: Offer | None = None
    second_offer: Offer | None = None
    is_passing: bool = False
    place: str | None = None
