"""What a person wants of a run that is not there yet."""

from dataclasses import dataclass, replace
from typing import Literal

Goal = Literal["newest", "first wrong"]


@dataclass(frozen=True, slots=True)
class Wish:
    """How far a run is to be made at once, and where to look in it.

    Attributes:
        n_records: steps to make; None: all that its draft plans.
        goal: what to look at once they are there.
        look_at: the step to stop at on the way; None: follow the newest.
    """

    n_records: int | None = 1
    goal: Goal = "newest"
    look_at: int | None = None

    def with_more(self, n: int) -> "Wish":
        """The same with `n` steps more; all that are planned stay all."""
        return replace(self, n_records=None if self.n_records is None else self.n_records + n)
