"""Token indices as tuples, without a new object for each number."""

from core.policy_rules import Ranges


class SharedNumbers:
    """Tuples of consecutive numbers, cut from one, so that a long run's answers stay small."""

    def __init__(self) -> None:
        self._numbers: tuple[int, ...] = ()
        self._twins: tuple[tuple[int, int], ...] = ()

    def of(self, ranges: Ranges) -> tuple[int, ...]:
        """The numbers in the ranges."""
        self._grow(ranges[1].stop)
        return self._numbers[: len(ranges[0])] + self._numbers[ranges[1].start : ranges[1].stop]

    def pairs(self, left: Ranges, right: Ranges) -> tuple[tuple[int, int], ...]:
        """Numbers of the left ranges, each with its partner of the right ones."""
        if left != right:
            return tuple(zip(self.of(left), self.of(right), strict=True))
        self._grow(left[1].stop)
        return self._twins[: len(left[0])] + self._twins[left[1].start : left[1].stop]

    def _grow(self, size: int) -> None:
        if size > len(self._numbers):
            self._numbers = tuple(range(2 * size))
            self._twins = tuple(zip(self._numbers, self._numbers, strict=True))
