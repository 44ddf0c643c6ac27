"""What a law is: cases, and how each of them is checked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.battery.bench import Bench, Found
from core.battery.case import Case


@dataclass(frozen=True, slots=True)
class Law:
    """One law of a property.

    Attributes:
        id: its name.
        property: the property that it belongs to.
        sentence: what it says.
        cases: from a plain case (a prompt, then tokens one by one) to those of the law.
        check: what must agree in a case.
    """

    id: str
    property: str
    sentence: str
    cases: Callable[[Case], Iterable[Case]]
    check: Callable[[Case, Bench], Found]
