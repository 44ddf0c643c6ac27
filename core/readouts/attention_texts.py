"""Which steps computed the tokens of a text, without a walk over the run for each step looked at.

Every step adds one link to the chain of the text that it read; texts that were the same once share
the links of then.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.readouts.attention_image import Take
from core.readouts.history import computed_tokens
from core.record import StepRecord


@dataclass(frozen=True, slots=True, eq=False)
class _Link:
    """Tokens from `start` on that a step computed, after those that steps before it computed."""

    take: Take
    start: int
    before: "_Link | None"


class TextTakes:
    """Finds the newest queries of the text of any step of one run."""

    def __init__(self) -> None:
        """Of no step yet."""
        self._ends: list[_Link | None] = []
        self._open: dict[int, _Link | None] = {}

    def of(
        self, records: Sequence[StepRecord], step: int, n_read: int, most_rows: int
    ) -> tuple[Take, ...]:
        """The newest queries of a text of `n_read` tokens up to `step`, in token order.

        Of several sequences those of the one that the step was of, and before a reorder its
        parent's. A step that read its text from the first token on has nothing before it.

        Args:
            records: of the one run; more of them than before, or fewer.
            step: a place in `records`.
            n_read: how many tokens the text has.
            most_rows: as many queries at most.
        """
        for record in records[len(self._ends) : step + 1]:
            self._add(record)
        takes: list[Take] = []
        link, lowest, n_left = self._ends[step], n_read, most_rows
        while link is not None and n_left > 0 and lowest > 0:
            take, start = link.take, link.start
            stop = take.stop if take.stop <= lowest - start else lowest - start
            if stop > 0:
                # Of a step whose last tokens were taken back, the first ones still are the text's.
                first = stop - n_left if stop > n_left else 0
                is_whole = first == take.first and stop == take.stop
                takes.append(take if is_whole else Take(take.record, first, stop))
                n_left -= stop - first
                lowest = start
            link = link.before
        return tuple(reversed(takes))

    def _add(self, record: StepRecord) -> None:
        if record.parents:
            self._open = {i: self._open.get(parent) for i, parent in enumerate(record.parents)}
        else:
            before = None if record.phase == "new_prompt" else self._open.get(record.request)
            self._open[record.request] = _linked(record, before)
        self._ends.append(self._open.get(record.request))


def _linked(record: StepRecord, before: _Link | None) -> _Link | None:
    """The chain of a text after a step that read some of it."""
    tokens = computed_tokens(record)
    if not tokens:
        return before
    while before is not None and before.start >= tokens.start:
        before = before.before
    is_first = tokens.start == 0
    return _Link(Take(record, 0, len(tokens)), tokens.start, None if is_first else before)
