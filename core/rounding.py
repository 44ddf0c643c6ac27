"""How far off each tensor of a step may be before that is called a difference.

Up to its band, which comes from the number type alone, or up to `NOISE_FACTOR` times the error of
a forward without a cache, the largest over the run so far. One forward is one throw of the dice:
where a step is off by more, several that are shaken decide before it is called a difference.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import BoolArray, FloatArray
from core.noise import ROWS, PassageNoise
from core.tolerance import NOISE_FACTOR, FieldNoise, beyond

N_SHAKEN = 8
_HOPELESS = 2.0**20
"""An error of so many times what is allowed is not looked at more closely."""


@dataclass(frozen=True, slots=True, eq=False)
class Stand:
    """A passage that a step stands in, as far as it has been read by then.

    Attributes:
        noise: of the passage.
        first: the first row that the step computed.
        last: the last.
        row: the row of its logits.
    """

    noise: PassageNoise
    first: int
    last: int
    row: int


class Rounding:
    """What rounding may do at each step of a run.

    Attributes:
        noise: by step, the largest errors up to it: of `core.noise.ROWS` [L], of logits [1].
        look_closer: gives a step's stands with shaken forwards; None: it is too late for that.
    """

    def __init__(self, n_layers: int) -> None:
        """Nothing is measured yet."""
        self.noise: list[FieldNoise] = []
        self.look_closer: Callable[[int], Sequence[Stand]] | None = None
        self._so_far = {**{name: np.zeros(n_layers) for name in ROWS}, "logits": np.zeros(1)}
        self._closer: dict[int, FieldNoise] = {}

    def follow(self, stands: Sequence[Stand]) -> None:
        """Take in the next step."""
        self._so_far = {
            name: np.maximum(noise, _finite(name, stands)) for name, noise in self._so_far.items()
        }
        self.noise.append(_with_overflow(self._so_far, stands))

    def was_close(self, step: int) -> bool:
        """Whether the step has been looked at more closely."""
        return step in self._closer

    def at(self, step: int) -> FieldNoise:
        """The noise of a step, as closely as it was looked at."""
        return self._closer.get(step, self.noise[step])

    def limits(
        self, step: int, name: str, layer: int, bands: FloatArray, off_by: FloatArray
    ) -> FloatArray:
        """[n] errors up to which each counts as equal.

        Args:
            step: the step.
            name: the tensor.
            layer: the layer; 0 of logits.
            bands: [n] by the number type alone.
            off_by: [n] the errors, which decide how closely it is looked.
        """
        allowed = np.maximum(bands, NOISE_FACTOR * self.at(step)[name][layer])
        if (off_by <= allowed).all() or (off_by > _HOPELESS * allowed).any():
            return allowed
        if step not in self._closer and self.look_closer is not None:
            stands = self.look_closer(step)
            noise = self.noise[step]
            wider = {key: np.maximum(of, _finite(key, stands)) for key, of in noise.items()}
            self._closer[step] = _with_overflow(wider, stands)
        return np.maximum(allowed, NOISE_FACTOR * self.at(step)[name][layer])

    def exceeded(
        self,
        rows_of: Sequence[tuple[int, int]],
        name: str,
        layer: int,
        bands: FloatArray,
        off_by: FloatArray,
    ) -> BoolArray:
        """[n] whether each row is off by more; `rows_of` gives (step, how many rows) in order."""
        noise = np.array([self.at(step)[name][layer] for step, _ in rows_of])
        usual = NOISE_FACTOR * np.repeat(noise, [n for _, n in rows_of])
        if (off_by <= np.maximum(bands, usual)).all():
            return np.zeros(len(off_by), dtype=np.bool_)
        found: list[BoolArray] = []
        stop = 0
        for step, n in rows_of:
            mine = slice(stop, stop + n)
            stop += n
            limits = self.limits(step, name, layer, bands[mine], off_by[mine])
            found.append(beyond(off_by[mine], limits))
        return np.concatenate(found)


def _finite(name: str, stands: Sequence[Stand]) -> FloatArray:
    """[L], or [1] of logits: the largest error up to the stands that is finite; 0: none."""
    found = np.zeros(1)
    for stand in stands:
        errors = _errors(name, stand)
        largest = errors.max(axis=1, initial=0.0)
        if np.isinf(largest).any():
            largest = np.where(np.isinf(errors), 0.0, errors).max(axis=1, initial=0.0)
        found = np.maximum(found, largest)
    return found


def _with_overflow(noise: FieldNoise, stands: Sequence[Stand]) -> FieldNoise:
    """Infinite where the number type overflows in the step itself: nothing can be said there.

    That is not kept for later steps, of which all can be said.
    """
    found = dict(noise)
    for stand in stands:
        for name in noise:
            errors = _errors(name, stand)
            own = errors if name == "logits" else errors[:, stand.first :]
            if np.isinf(own).any():
                found[name] = np.where(np.isinf(own).any(axis=1), np.inf, found[name])
    return found


def _errors(name: str, stand: Stand) -> FloatArray:
    """[L, rows so far], or [1, 1] of logits."""
    if name == "logits":
        at = stand.row - stand.noise.first_row
        return stand.noise.logits[None, at : at + 1]
    return stand.noise.layers[name][:, : stand.last + 1]
