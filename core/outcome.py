"""How a step ended. Expected endings are data, not exceptions."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Ok:
    """The step was carried out."""


@dataclass(frozen=True, slots=True)
class Refused:
    """There was no room (or, for a rollback, rows that it needs are gone); nothing was read.

    Attributes:
        needed: rows that the step asked for.
        free: rows that there were for it.
    """

    needed: int
    free: int


@dataclass(frozen=True, slots=True)
class PositionLimit:
    """A new token's position id would pass the end of the position table; nothing was read.

    Attributes:
        n_ctx: positions that the model has.
        position_id: the highest that was asked for; None: nothing was asked. Two ends at the same
            limit are equal whatever was asked for.
    """

    n_ctx: int
    position_id: int | None = field(default=None, compare=False)


Outcome = Ok | Refused | PositionLimit
OK = Ok()

EndReason = Literal["steps", "refused", "end_of_text", "position_limit", "cancelled"]
"""Why a run is over."""
