"""Many values of which few are asked for: made when they are, and kept."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast, overload

T = TypeVar("T")


class Lazily(Sequence[T], Generic[T]):
    """As a tuple of `n` values made by `make` from their places; each is made at most once."""

    __slots__ = ("_made", "_make", "_n")

    def __init__(self, n: int, make: Callable[[int], T]) -> None:
        """Makes nothing yet."""
        self._n = n
        self._make = make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        """How many there are."""
        return self._n

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...

    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        """One of them, or some."""
        if isinstance(place, slice):
            return tuple(self._at(at) for at in range(*place.indices(self._n)))
        if place in self._made:
            return self._made[place]
        at = int(place)
        if not -self._n <= at < self._n:
            raise IndexError(place)
        return self._at(at % self._n)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same values."""
        return isinstance(other, Sequence) and tuple(self) == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        """Of all values."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """As a tuple of all values."""
        return repr(tuple(self))

    def _at(self, at: int) -> T:
        if at not in self._made:
            self._made[at] = self._make(at)
        return self._made[at]
