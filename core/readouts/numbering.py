"""Whether tokens are numbered by their places in the text: then both words mean the same."""

from collections.abc import Sequence

from core.readouts.history import computed_tokens
from core.record import StepRecord


class Numbering:
    """Looks at each step once, and for the first that gives other position ids."""

    def __init__(self, records: Sequence[StepRecord]) -> None:
        """Takes the records; more may be appended to them, none may change."""
        self._records = records
        self._n = 0
        self._first: int | None = None

    def is_by_token(self, step: int) -> bool:
        """Whether all tokens computed up to a step had their token index as position id."""
        while self._first is None and self._n <= step:
            if not _is_by_token(self._records[self._n]):
                self._first = self._n
            self._n += 1
        return self._first is None or step < self._first


def _is_by_token(record: StepRecord) -> bool:
    """Padding has no token index."""
    tokens = [*computed_tokens(record)][record.n_padding :]
    plans = {id(told.plan): told.plan for told in record.layers}
    return all(plan.position_ids[record.n_padding :].tolist() == tokens for plan in plans.values())
