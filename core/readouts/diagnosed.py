"""The mechanism behind what is wrong, found once for all looks at a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.record import StepRecord
from core.verdict import StepVerdict

if TYPE_CHECKING:
    from core.diagnose.finding import Diagnosis

WINDOW_REACH = 12
"""Steps after the first wrong one that are looked at while somebody waits for a picture."""


class Diagnosed:
    """Keeps the last answer; it is sought again only where it could be another one."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self._asked: tuple[object, ...] = ()
        self._found: tuple[Diagnosis, ...] = ()

    def of(
        self, records: Sequence[StepRecord], verdicts: Mapping[int, StepVerdict], wrong: int
    ) -> tuple[Diagnosis, ...]:
        """What is to be said of a run whose first wrong step is `wrong`."""
        stop = min(len(records), wrong + WINDOW_REACH + 1)
        # Those before the wrong one count too: what they lack, the diagnosis may not say.
        n_judged = sum(map(verdicts.__contains__, range(stop)))
        goes_on = len(records) > stop
        asked = (id(records[wrong]), id(verdicts[wrong]), stop, n_judged, goes_on)
        if asked != self._asked:
            # Here, so that a window which shows a run that is right opens without it.
            from core.diagnose.diagnose import diagnose

            found = diagnose(records[: stop + goes_on], verdicts, WINDOW_REACH)
            self._asked, self._found = asked, found
        return self._found
