"""Runs of the reference over the passages of a run, each as seldom as it can be."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.noise import Forward, PassageNoise
from core.reference import LooseRows, Passage, Reference, ReferenceRun
from core.tolerance import FieldNoise

_DETAIL_ROWS = 64


class Forwards:
    """The runs that one round of judging needs: one per passage, from the first row asked for.

    Passages are known by number; `wanted` names those that will be asked for, with a row.
    """

    def __init__(
        self,
        reference: Reference,
        passage: Callable[[int], Passage],
        wanted: Iterable[tuple[int, int]],
        known: "Forwards | None" = None,
        residuals_from: Mapping[int, int] | None = None,
    ) -> None:
        """Run nothing yet.

        Args:
            reference: the model.
            passage: number to passage.
            wanted: pairs of passage number and row.
            known: runs to be used again where a passage is the same.
            residuals_from: by number, the first row whose residuals are kept.
        """
        self._residuals_from = residuals_from or {}
        self._reference = reference
        self._first_row: dict[int, int] = {}
        for number, row in wanted:
            self._first_row[number] = min(row, self._first_row.get(number, row))
        self._passages = {number: passage(number) for number in self._first_row}
        self._runs: dict[int, ReferenceRun] = {}
        self._same: dict[int, int | None] = {}
        self._noises: dict[tuple[int, int], PassageNoise] = {}
        self._details: dict[int, tuple[int, int, ReferenceRun]] = {}
        self._detail_noises: dict[tuple[int, int], tuple[ReferenceRun, FieldNoise]] = {}
        self._known = known

    def passage(self, number: int) -> Passage:
        """The passage."""
        return self._passages[number]

    def run(self, number: int) -> ReferenceRun:
        """The run over a passage."""
        if number not in self._runs:
            known = self._known_as(number)
            self._runs[number] = (
                known[0].run(known[1])
                if known
                else self._reference.forward(
                    self._passages[number],
                    first_row=self._first_row[number],
                    residuals_from=self._residuals_from.get(number),
                )
            )
        return self._runs[number]

    def _known_as(self, number: int) -> "tuple[Forwards, int] | None":
        """Forwards that have a run over the same passage, and its number there."""
        if self._known is None:
            return None
        if number not in self._same:
            passage, first_row = self._passages[number], self._first_row[number]
            self._same[number] = self._known.same_as(passage, first_row)
        same = self._same[number]
        return None if same is None else (self._known, same)

    def logits(self, number: int, row: int) -> FloatArray:
        """[V] the right logits of a row."""
        run = self.run(number)
        return run.logits[row - run.first_row]

    def same_as(self, passage: Passage, first_row: int) -> int | None:
        """The number of an equal passage whose run covers `first_row`, if there is one."""
        for number, mine in self._passages.items():
            if self._first_row[number] <= first_row and _are_equal(mine, passage):
                return number
        return None

    def detail(self, number: int, first: int, last: int) -> ReferenceRun:
        """A detailed run that covers rows `first` to `last`, and some after them for next time."""
        if number in self._details:
            start, stop, run = self._details[number]
            if start <= first and last < stop:
                return run
        passage = self._passages[number]
        stop = min(len(passage.token_ids), max(last + 1, first + _DETAIL_ROWS))
        run = self._reference.forward(_cut(passage, stop), first_row=first, detail=True)
        self._details[number] = (first, stop, run)
        return run

    def noise(self, number: int, forward: Forward) -> PassageNoise:
        """The errors of a forward in the engine's number type over a passage."""
        key = number, forward.n_shaken
        if key not in self._noises:
            known = self._known_as(number)
            self._noises[key] = (
                known[0].noise(known[1], forward)
                if known
                else forward.noise(self._passages[number], self.run(number))
            )
        return self._noises[key]

    def noise_of_detail(self, number: int, first: int, last: int, forward: Forward) -> FieldNoise:
        """[L] likewise of rows `first` to `last`, of what a detailed run has beside rows."""
        run, key = self.detail(number, first, last), (number, forward.n_shaken)
        known = self._detail_noises.get(key)
        if known is None or known[0] is not run:
            passage = _cut(self._passages[number], run.first_row + len(run.logits))
            known = self._detail_noises[key] = run, forward.noise_of_detail(passage, run)
        rows = slice(first - run.first_row, last + 1 - run.first_row)
        return {name: errors[:, rows].max(axis=1) for name, errors in known[1].items()}


def _are_equal(a: Passage, b: Passage) -> bool:
    """Whether two passages ask for the same forward."""
    if (a.key_position_ids is None) != (b.key_position_ids is None):
        return False
    return (
        np.array_equal(a.token_ids, b.token_ids)
        and np.array_equal(a.position_ids, b.position_ids)
        and np.array_equal(a.readable, b.readable)
        and _are_equal_where(a.readable, a.key_position_ids, b.key_position_ids)
        and len(a.loose) == len(b.loose)
        and all(map(_are_equal_rows, a.loose, b.loose))
    )


def _are_equal_where(readable: BoolArray, a: IntArray | None, b: IntArray | None) -> bool:
    return a is None or b is None or bool((a == b)[readable].all())


def _are_equal_rows(a: LooseRows, b: LooseRows) -> bool:
    return (
        a.first_reader == b.first_reader
        and np.array_equal(a.keys, b.keys)
        and np.array_equal(a.values, b.values)
    )


def _cut(passage: Passage, n_rows: int) -> Passage:
    """The first rows of a passage."""
    if n_rows == len(passage.token_ids):
        return passage
    keys = passage.key_position_ids
    return Passage(
        passage.token_ids[:n_rows],
        passage.position_ids[:n_rows],
        None if keys is None else keys[:n_rows, :n_rows],
        passage.readable[:n_rows, :n_rows],
        passage.loose,
    )
