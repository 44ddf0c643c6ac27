"""What came of one way of reading a text."""

from dataclasses import dataclass

from core.contract.model.facts import Call
from core.contract.model.sessions import Session
from core.contract.model.subject import FellError, ModelSubject
from core.contract.subject import NotDrivableError
from core.verdict import Standing

NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a session.

    Attributes:
        session: which.
        calls: up to the first that raised.
        standings: one per call.
        refused: why calls of several tokens after others are not taken; empty: they are.
    """

    session: Session
    calls: tuple[Call, ...]
    standings: tuple[Standing, ...]
    refused: str = ""

    @property
    def first_wrong(self) -> int | None:
        """The first call that is wrong; None: none is."""
        return next((i for i, one in enumerate(self.standings) if one == "wrong"), None)

    @property
    def standing(self) -> Standing:
        """The worst of its calls."""
        found = set(self.standings)
        return "wrong" if "wrong" in found else "rounding" if "rounding" in found else "right"


def calls_of(subject: ModelSubject, session: Session, *, watch: bool = False) -> tuple[Call, ...]:
    """The calls of a session; where one hangs or ends the process, that is what it raised."""
    calls: list[Call] = []
    try:
        calls.extend(
            subject.decode(session.ids, session.chunks, watch=watch, before=session.before)
        )
    except FellError as error:
        past, at = sum(session.chunks[: len(calls)]), len(calls)
        calls.append(Call(past, session.chunks[at], raised=(NO_ANSWER, str(error))))
    except NotDrivableError as error:
        if len(session.ids) == 1:
            raise
        calls.append(Call(0, session.chunks[0], raised=("without a cache", str(error))))
    return tuple(calls)
