"""A fault of one's own: a file with one wrong function, on one seam, is enough."""

import dataclasses
import difflib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.engine.seams import CORRECT, Seams
from core.errors import FaultError
from core.faults.fault import Scenario
from core.faults.scenarios import DECODING

SEAM_NAMES: tuple[str, ...] = tuple(field.name for field in dataclasses.fields(Seams))
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class OwnFault:
    """A wrong replacement of exactly one seam. It promises nothing: the verdicts say what it does.

    Attributes:
        id: its name: small letters and digits, with hyphens between them.
        title: one line, in the field's words.
        seam: the decision that it takes wrongly, by its name in `Seams`.
        function: takes it; called as the seam's right function is.
        symptom: what a person sees, in one line; empty: nothing is said.
        shows_in: the run that is loaded to show it.
    """

    id: str
    title: str
    seam: str
    function: Callable[..., Any]
    symptom: str = ""
    shows_in: Scenario = DECODING

    def __post_init__(self) -> None:
        """Raise FaultError where a value cannot be used."""
        check_id(self.id)
        for name in ("title", "symptom"):
            value: object = getattr(self, name)
            if not isinstance(value, str):
                raise FaultError(f"fault {self.id!r}: {name} is {value!r}; it must be a text")
        if not self.title.strip():
            raise FaultError(f"fault {self.id!r} has no title; say in one line what is wrong")
        if not isinstance(self.shows_in, Scenario):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's file is not checked
            raise FaultError(f"fault {self.id!r}: shows_in is no Scenario, but {self.shows_in!r}")
        check_function(self.id, self.seam, self.function)

    @property
    def patch(self) -> Seams:
        """The correct table with one function replaced."""
        return dataclasses.replace(CORRECT, **{self.seam: self.function})


def check_id(fault_id: object) -> None:
    """Raise FaultError unless it can be the id of a fault."""
    if not isinstance(fault_id, str) or not _ID.fullmatch(fault_id):
        raise FaultError(
            f"id {fault_id!r} cannot be used; choose small letters and digits with hyphens between "
            "them, such as my-fault"
        )


def check_function(fault_id: str, seam: object, function: object) -> None:
    """Raise FaultError unless the engine can call `function` where it asks `seam`."""
    if not isinstance(seam, str) or seam not in SEAM_NAMES:
        near = difflib.get_close_matches(str(seam), SEAM_NAMES, n=1)
        what = f"did you mean {near[0]}?" if near else f"there are {', '.join(SEAM_NAMES)}"
        raise FaultError(f"fault {fault_id!r}: seam {seam!r} is not known; {what}")
    if not callable(function):
        raise FaultError(f"fault {fault_id!r}: function is {function!r}; it must be a function")
    given = inspect.signature(getattr(CORRECT, seam)).parameters
    try:
        taken = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C tell nothing of their parameters
        return
    try:
        taken.bind(*given)
    except TypeError:
        raise FaultError(
            f"fault {fault_id!r}: {getattr(function, '__name__', 'its function')} takes "
            f"{_listed(taken.parameters)}, but the seam {seam} gives {_listed(given)}"
        ) from None


def _listed(parameters: Any) -> str:  # noqa: ANN401 - a mapping whose values are not looked at
    names = tuple(parameters)
    return f"{len(names)} ({', '.join(names)})" if names else "no parameters"
