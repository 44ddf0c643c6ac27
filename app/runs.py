"""The runs of this sitting: the old ones are kept when another begins."""

from app.held_run import HeldRun
from core.readouts.run_summary import RunSummary, summary

MOST_RUNS = 24
MOST_BYTES = 256 * 2**20
"""About so much memory; beyond either, the oldest ones are let go."""


class RunShelf:
    """Keeps runs that are not looked at."""

    def __init__(self) -> None:
        """Empty."""
        self._runs: dict[int, tuple[HeldRun, RunSummary, int]] = {}

    @property
    def summaries(self) -> tuple[RunSummary, ...]:
        """The runs in a few facts, the oldest first."""
        return tuple(facts for _, (_, facts, _) in sorted(self._runs.items()))

    def keep(self, held: HeldRun) -> None:
        """Put a run away; where they are too many or too large, the oldest are forgotten."""
        number, token_text = held.started.run_id, held.started.token_text
        facts = summary(number, held.spec, held.records, held.verdicts, token_text)
        self._runs[number] = held, facts, held.n_bytes
        while len(self._runs) > MOST_RUNS or self._n_bytes() > MOST_BYTES:
            del self._runs[min(self._runs)]

    def take(self, number: int) -> HeldRun | None:
        """Take a run out; None: it is not here."""
        found = self._runs.pop(number, None)
        return None if found is None else found[0]

    def _n_bytes(self) -> int:
        return sum(n_bytes for _, _, n_bytes in self._runs.values())
