"""What rounding alone does to a text: the errors of a forward without a cache, tensor by tensor.

The forward is torch's, in the engine's own number type, over the passage that the reference read;
its distance from the reference is what any correct computation of that text may be off by. A model
may amplify rounding from layer to layer, so each layer has its own figures.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from core.arrays import FloatArray
from core.model.uncached import LayerValues, LooseKeys, uncached_logits
from core.model.weights import Weights
from core.reference import Passage, ReferenceRun
from core.tolerance import FieldNoise, gap

ROWS = ("keys", "values", "residual")

_SHAKEN_BY = {torch.float64: 4.0, torch.float32: 4.0, torch.float16: 2.0, torch.bfloat16: 2.0}
"""Spacings by which what goes into a layer is moved. A layer rounds some ten times, each time by
half a spacing at most; beyond that, sums are rounded at every term, but for products of 16-bit
numbers, which are summed in a wider type and rounded once."""


@dataclass(frozen=True, slots=True, eq=False)
class PassageNoise:
    """Largest errors of each row of a passage of N tokens. Infinite: it is not finite there.

    Attributes:
        first_row: the row of the first of the logits.
        logits: [T].
        layers: `ROWS`, each [L, N]; 0 where the reference kept none.
    """

    first_row: int
    logits: FloatArray
    layers: FieldNoise


@dataclass(frozen=True, slots=True, eq=False)
class Forward:
    """A forward without a cache.

    Attributes:
        weights: the model, in the engine's number type.
        is_narrowed: whether keys and values are rounded to 8 bits.
        n_shaken: how many more forwards there are in which what goes into each layer is moved at
            random by up to a few spacings of the number type: what one forward does not show by
            chance, because it rounded the other way, several do.
    """

    weights: Weights
    is_narrowed: bool
    n_shaken: int = 0

    def noise(self, passage: Passage, run: ReferenceRun) -> PassageNoise:
        """The errors of a passage, of which `run` is the reference's account."""
        n_tokens = len(passage.token_ids)
        found = {name: np.zeros((len(run.values), n_tokens)) for name in ROWS}

        def see(layer: int, made: LayerValues) -> None:
            found["keys"][layer] = _errors(made.keys, run.stored_keys[layer], (0, 1, 3))
            found["values"][layer] = _errors(made.values, run.values[layer], (0, 1, 3))
            if run.residuals:
                right = run.residuals[layer]
                start = n_tokens - len(right)
                found["residual"][layer, start:] = _errors(made.residual[:, start:], right, (0, 2))

        logits = self._logits(passage, see)[:, run.first_row :]
        return PassageNoise(run.first_row, _errors(logits, run.logits, (0, 2)), found)

    def noise_of_detail(self, passage: Passage, run: ReferenceRun) -> FieldNoise:
        """[L, T] likewise, of the rows of a detailed run, what it has beside keys and values."""
        first = run.first_row
        names = ("scores", "weights", "output", "residual")
        found = {name: np.zeros((len(run.layers), len(run.logits))) for name in names}
        is_unseen = torch.tensor(~passage.readable[first:])

        def see(layer: int, made: LayerValues) -> None:
            right = run.layers[layer]
            for name, mine, theirs in (
                ("scores", made.scores, right.scores),
                ("weights", made.weights, right.weights),
            ):
                used = mine[:, :, first:].masked_fill(is_unseen, 0.0)
                wanted = np.where(passage.readable[first:], theirs, 0.0)
                found[name][layer] = _errors(used, wanted, (0, 1, 3))
            found["output"][layer] = _errors(made.output[:, first:], right.output, (0, 2))
            found["residual"][layer] = _errors(made.residual[:, first:], right.residual, (0, 2))

        self._logits(passage, see)
        return found

    def _logits(self, passage: Passage, see: Callable[[int, LayerValues], None]) -> torch.Tensor:
        """[1 + n_shaken, N, V]."""
        loose = [
            LooseKeys(torch.tensor(rows.keys), torch.tensor(rows.values), rows.first_reader)
            for rows in passage.loose
        ]
        with torch.inference_mode():
            return uncached_logits(
                self.weights,
                torch.tensor(passage.token_ids).expand(1 + self.n_shaken, -1),
                passage.position_ids,
                passage.key_position_ids,
                passage.readable,
                is_narrowed=self.is_narrowed,
                loose=loose,
                see=see,
                shake=_shaken if self.n_shaken else None,
            )


def _shaken(layer: int, x: torch.Tensor) -> torch.Tensor:
    """[B, T, d_model] all but the first text moved at random, in a row whatever comes after it."""
    n_texts, n_tokens, width = x.shape
    drawn = np.random.default_rng(layer).random((n_tokens, n_texts - 1, width), dtype=np.float32)
    spacings = _SHAKEN_BY[x.dtype] * torch.finfo(x.dtype).eps
    by = torch.tensor(2 * drawn - 1).transpose(0, 1) * spacings
    wide = torch.promote_types(x.dtype, torch.float32)
    moved = (x[1:].to(wide) * (1 + by.to(wide))).to(x.dtype)
    return torch.cat((x[:1], moved))


def _errors(mine: torch.Tensor, right: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """The largest over `axes`; infinite where `mine` is not finite and `right` is."""
    errors = gap(mine.to(torch.float64).numpy(), right).max(axis=axes)
    return np.where(np.isnan(errors), np.inf, errors)
